/* SPDX-License-Identifier: GPL-2.0-only */
/* A set-associative cache of line numbers, the least recently used line of a set leaves first. */
#ifndef NP_CACHE_H
#define NP_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* line is the running number + 1, so that zero is an empty way. */
struct np_way {
	uint32_t line;
	uint16_t cores;		/* last level: which cores of the node may hold it, modulo 16 */
	bool writable;		/* private: no one else holds it; last level: it is modified */
};

struct np_cache {
	uint32_t sets;
	uint64_t reciprocal;	/* of sets */
	unsigned int ways;
	struct np_way *way;	/* [sets * ways], most recently used first */
};

/* line % c->sets, without a division. */
static inline uint32_t np_cache_set(const struct np_cache *c, uint32_t line)
{
	uint64_t fraction = c->reciprocal * line;

	return ((unsigned __int128)fraction * c->sets) >> 64;
}

/* Returns 0 or -ENOMEM. */
int np_cache_init(struct np_cache *c, uint64_t bytes, unsigned int ways, unsigned int line_bytes);
void np_cache_free(struct np_cache *c);

/* The way of a line, or NULL; find also makes it the most recently used. */
struct np_way *np_cache_peek(const struct np_cache *c, uint32_t line);
struct np_way *np_cache_find(struct np_cache *c, uint32_t line);

/* Enters a line that is not there; what had to leave is in *victim (line 0: nothing). */
struct np_way *np_cache_insert(struct np_cache *c, uint32_t line, struct np_way *victim);
void np_cache_clear(struct np_cache *c);
void np_cache_drop(struct np_cache *c, uint32_t line);

#endif
