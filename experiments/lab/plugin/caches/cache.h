/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set-associative cache of lines, by their running number. Replacement is
 * NRU: a line not used since all others of its set were is evicted first.
 */
#ifndef NP_CACHE_H
#define NP_CACHE_H

#include "way_search.h"

#include <stdbool.h>
#include <stddef.h>

struct np_state {
	uint16_t cores; /* last level: which cores of the node may hold it, modulo 16 */
	bool writable;	/* private: no other cache holds it; last level: it is modified */
	bool owned;	/* last level: one of the cores may write it without a word */
};

/* Replacement state of a set, a bit per way. */
struct np_nru {
	uint64_t used; /* since all were */
	uint64_t free;
};

struct np_cache {
	uint32_t sets;		/* 0: there is none */
	unsigned int padded;	/* ways, rounded up to a multiple of eight */
	uint64_t all_ways;	/* a bit each */
	uint64_t reciprocal;	/* of sets */
	uint32_t *line;		/* [sets * padded], running number + 1; 0: empty */
	struct np_state *state; /* [sets * padded] */
	struct np_nru *nru;	/* [sets] */
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

/* The slot of a line in its set, or NP_NO_SLOT. A cache without sets has none. */
static inline size_t np_cache_find_in(const struct np_cache *c, uint32_t set, uint32_t line)
{
	size_t first = (size_t)set * c->padded;
	uint64_t found = c->sets ? np_way_search(c->line + first, c->padded, line + 1) : 0;

	return found ? first + __builtin_ctzll(found) : NP_NO_SLOT;
}

/* The slot of a line, or NP_NO_SLOT. */
static inline size_t np_cache_find(const struct np_cache *c, uint32_t line)
{
	return np_cache_find_in(c, np_cache_set(c, line), line);
}

static inline void np_nru_use(struct np_nru *ways, unsigned int way, uint64_t all)
{
	uint64_t bit = 1ull << way, used = ways->used | bit;

	ways->used = used == all ? bit : used;
}

static inline void np_cache_use(struct np_cache *c, uint32_t set, size_t slot)
{
	np_nru_use(&c->nru[set], slot - (size_t)set * c->padded, c->all_ways);
}

/*
 * The slot for a line that is not in its set. The evicted line is still in
 * c->line[] (0: none) and c->state[]; the caller overwrites both.
 */
static inline size_t np_cache_replace(struct np_cache *c, uint32_t set)
{
	struct np_nru *ways = &c->nru[set];
	uint64_t unused = ~ways->used & c->all_ways; /* none: there is one way */
	unsigned int way = __builtin_ctzll(ways->free ?: unused ?: 1);

	ways->free &= ways->free - 1;
	np_nru_use(ways, way, c->all_ways);
	return (size_t)set * c->padded + way;
}

static inline void np_cache_drop(struct np_cache *c, uint32_t set, size_t slot)
{
	c->nru[set].free |= 1ull << (slot - (size_t)set * c->padded);
	np_way_set(&c->line[slot], 0);
	c->state[slot] = (struct np_state) { 0 };
}

#endif
