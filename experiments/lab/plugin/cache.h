/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set-associative cache of lines, by their running number. A line that was
 * not used since all others of its set leaves first.
 */
#ifndef NP_CACHE_H
#define NP_CACHE_H

#include "ways.h"

#include <stdbool.h>
#include <stddef.h>

struct np_state {
	uint16_t cores;		/* last level: which cores of the node may hold it, modulo 16 */
	bool writable;		/* private: no one else holds it; last level: it is modified */
};

struct np_cache {
	uint32_t sets;		/* 0: there is none */
	unsigned int ways, padded;
	uint64_t reciprocal;	/* of sets */
	uint32_t *line;		/* [sets * padded], running number + 1; 0: empty */
	struct np_state *state;	/* [sets * padded] */
	uint64_t *used;		/* [sets], a bit per way, since all were */
};

#define NP_NO_SLOT SIZE_MAX

/* Returns 0 or -ENOMEM. */
int np_cache_init(struct np_cache *c, uint64_t bytes, unsigned int ways, unsigned int line_bytes);
void np_cache_free(struct np_cache *c);
void np_cache_clear(struct np_cache *c);

/* line % c->sets, without a division. */
static inline uint32_t np_cache_set(const struct np_cache *c, uint32_t line)
{
	uint64_t fraction = c->reciprocal * line;

	return ((unsigned __int128)fraction * c->sets) >> 64;
}

/* The slot of a line in a cache that has sets, or NP_NO_SLOT. */
static inline size_t np_cache_find(const struct np_cache *c, uint32_t line)
{
	size_t first = (size_t)np_cache_set(c, line) * c->padded;
	uint64_t found = np_ways_with(c->line + first, c->padded, line + 1);

	return found ? first + __builtin_ctzll(found) : NP_NO_SLOT;
}

static inline void np_cache_use(struct np_cache *c, uint32_t line, size_t slot)
{
	uint32_t set = np_cache_set(c, line);
	uint64_t bit = 1ull << (slot - (size_t)set * c->padded);
	uint64_t all = c->ways == 64 ? ~0ull : (1ull << c->ways) - 1;

	c->used[set] |= bit;
	if (c->used[set] == all)
		c->used[set] = bit;
}

/*
 * The slot for a line that is not there. Whoever has to leave it is still in
 * c->line[] (0: no one) and c->state[]; the caller overwrites both.
 */
static inline size_t np_cache_make_room(struct np_cache *c, uint32_t line)
{
	uint32_t set = np_cache_set(c, line);
	size_t first = (size_t)set * c->padded;
	uint64_t free = np_ways_with(c->line + first, c->ways, 0);
	unsigned int way = __builtin_ctzll(~c->used[set]);

	if (free && (unsigned int)__builtin_ctzll(free) < c->ways)
		way = __builtin_ctzll(free);
	np_cache_use(c, line, first + way);
	return first + way;
}

static inline void np_cache_drop(struct np_cache *c, size_t slot)
{
	c->line[slot] = 0;
	c->state[slot] = (struct np_state){ 0 };
}

#endif
