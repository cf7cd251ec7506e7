/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A first-level cache: virtually indexed by the offset in the page, so a line
 * has the same set under every virtual address.
 *
 * Most instructions use the line that they used last time, or one that another has used
 * just before; these lines are looked up first, without a translation of the address.
 * Both records are void in each new epoch: when the CPU may have changed a translation,
 * and at every clock step, so that an invalidated line misses.
 */
#ifndef NP_L1_H
#define NP_L1_H

#include "way_search.h"

#include <stdbool.h>
#include <string.h>

#define NP_L1_MAX_SETS 256 /* a page of the shortest lines */
#define NP_L1_MAX_WAYS 16
#define NP_L1_SLOTS    1024 /* of instructions */
#define NP_L1_RECENT   64   /* lines, at most an eighth of the cache's: they are in it */
#define NP_PAGE_SHIFT  12

struct np_l1_set {
	uint32_t line[NP_L1_MAX_WAYS]; /* running number + 1; 0: empty */
	uint16_t writable;	       /* bit per way */
	uint16_t contended; /* the same: every use of the line is looked up (contended.h) */
	uint8_t recent;	    /* way of the last hit */
	uint8_t next;	    /* way to replace, unless recent */
} __attribute__((aligned(64)));

struct np_l1 {
	uint64_t epoch;	  /* in the upper bits; last[] of earlier epochs is void */
	uint64_t in_line; /* the bits of an address within its line */
	unsigned int ways, line_shift, set_mask, recent_mask;
	bool overlaps;		       /* loads of the CPU are on their way (outstanding.h) */
	uint64_t last[NP_L1_SLOTS];    /* key of the line, - 1 if it is not writable */
	uint64_t recent[NP_L1_RECENT]; /* by line, of any instruction */
	struct np_l1_set set[NP_L1_MAX_SETS];
};

#define NP_L1_EPOCH (1ull << 48)

static inline void np_l1_new_epoch(struct np_l1 *l1)
{
	l1->epoch += NP_L1_EPOCH;
}

/* The line of a canonical virtual address of 48 bits, in this epoch. Odd. */
static inline uint64_t np_l1_key(const struct np_l1 *l1, uint64_t vaddr)
{
	return (vaddr | l1->in_line) ^ l1->epoch;
}

static inline void np_l1_init(struct np_l1 *l1, unsigned int ways, unsigned int line_shift)
{
	unsigned int lines = ways << (NP_PAGE_SHIFT - line_shift), recent = NP_L1_RECENT;

	while (recent > 1 && recent > lines / 8)
		recent /= 2;
	memset(l1, 0, sizeof(*l1));
	l1->recent_mask = recent - 1;
	l1->ways = ways;
	l1->line_shift = line_shift;
	l1->in_line = (1u << line_shift) - 1;
	l1->set_mask = (1u << (NP_PAGE_SHIFT - line_shift)) - 1;
	l1->epoch = NP_L1_EPOCH;
}

/* The instruction that `slot` stands for uses the same line again. */
static inline bool np_l1_again(const struct np_l1 *l1, unsigned int slot, uint64_t vaddr,
			       bool store)
{
	uint64_t ahead = np_l1_key(l1, vaddr) - l1->last[slot];

	return ahead <= !store;
}

static inline uint64_t *np_l1_recent(struct np_l1 *l1, uint64_t vaddr)
{
	uint64_t line = vaddr >> l1->line_shift;

	return &l1->recent[(line ^ line >> 6) & l1->recent_mask];
}

/* Another instruction has used the line: so has this one now. */
static inline bool np_l1_shared(struct np_l1 *l1, unsigned int slot, uint64_t vaddr, bool store)
{
	uint64_t recent = *np_l1_recent(l1, vaddr);

	if (np_l1_key(l1, vaddr) - recent > !store)
		return false;
	l1->last[slot] = recent;
	return true;
}

/* The instruction used a line that is there now. */
static inline void np_l1_remember(struct np_l1 *l1, unsigned int slot, uint64_t vaddr,
				  bool writable)
{
	*np_l1_recent(l1, vaddr) = l1->last[slot] = np_l1_key(l1, vaddr) - !writable;
}

/* Way of a line, or -1. */
static inline int np_l1_find(const struct np_l1 *l1, uint32_t line)
{
	const struct np_l1_set *s = &l1->set[line & l1->set_mask];
	uint64_t found = np_way_search(s->line, l1->ways, line + 1);

	return found ? __builtin_ctzll(found) : -1;
}

/* Whether a line is there, and writable where it is stored to. */
static inline bool np_l1_hit(struct np_l1 *l1, uint32_t line, bool store, bool *writable)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];
	int way = np_l1_find(l1, line);

	if (way < 0)
		return false;
	s->recent = way;
	*writable = s->writable >> way & 1;
	return !store || *writable;
}

/* Fills in a line that was not hit: a store's may be there, unmodified; a load's is not. */
static inline void np_l1_fill(struct np_l1 *l1, uint32_t line, bool store, bool writable)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];
	int way = store ? np_l1_find(l1, line) : -1;

	if (way < 0) {
		way = s->next;
		if (way == s->recent)
			way = way + 1u < l1->ways ? way + 1 : 0;
		s->next = way + 1u < l1->ways ? way + 1 : 0;
	}
	np_way_set(&s->line[way], line + 1);
	s->recent = way;
	s->contended &= ~(1u << way);
	if (writable)
		s->writable |= 1u << way;
	else
		s->writable &= ~(1u << way);
}

/* Of a line that was hit or filled in just now. */
static inline bool np_l1_is_contended(const struct np_l1 *l1, uint32_t line)
{
	const struct np_l1_set *s = &l1->set[line & l1->set_mask];

	return s->contended >> s->recent & 1;
}

static inline void np_l1_set_contended(struct np_l1 *l1, uint32_t line, bool contended)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];

	s->contended = (s->contended & ~(1u << s->recent)) | (unsigned int)contended << s->recent;
}

static inline void np_l1_drop(struct np_l1 *l1, uint32_t line)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];
	int way = np_l1_find(l1, line);

	if (way < 0)
		return;
	np_way_set(&s->line[way], 0);
	np_l1_new_epoch(l1);
}

/* Another CPU reads the line: the next store has to ask. */
static inline void np_l1_protect(struct np_l1 *l1, uint32_t line)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];
	int way = np_l1_find(l1, line);

	if (way < 0)
		return;
	s->writable &= ~(1u << way);
	np_l1_new_epoch(l1);
}

static inline void np_l1_clear(struct np_l1 *l1)
{
	for (unsigned int set = 0; set <= l1->set_mask; set++)
		for (unsigned int way = 0; way < l1->ways; way++)
			np_way_set(&l1->set[set].line[way], 0);
	np_l1_new_epoch(l1);
}

#endif
