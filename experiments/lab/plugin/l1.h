/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A first-level cache: virtually indexed by the offset in the page, so a line
 * has the same set under every virtual address, and found by its virtual
 * address alone as long as the translation stands. That keeps the common
 * case, a hit, free of address translation.
 *
 * The virtual tags are forgotten when the CPU may have changed a translation;
 * the lines stay, and get their tag back when they are next used.
 */
#ifndef NP_L1_H
#define NP_L1_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NP_L1_MAX_SETS 256	/* a page of the shortest lines */
#define NP_L1_MAX_WAYS 16
#define NP_PAGE_SHIFT  12

struct np_l1_set {
	uint32_t tag[NP_L1_MAX_WAYS];	/* of the virtual page; 0: none */
	uint32_t line[NP_L1_MAX_WAYS];	/* running number + 1; 0: empty */
	uint16_t writable;		/* bit per way */
	uint8_t recent;			/* way of the last hit */
	uint8_t next;			/* way to replace, unless recent */
} __attribute__((aligned(64)));

struct np_l1 {
	unsigned int ways, line_shift, set_mask;
	struct np_l1_set set[NP_L1_MAX_SETS];
};

static inline uint32_t np_l1_tag(uint64_t vaddr)
{
	return (uint32_t)(((vaddr >> NP_PAGE_SHIFT) * 0x9e3779b97f4a7c15ULL) >> 32) | 1;
}

static inline void np_l1_init(struct np_l1 *l1, unsigned int ways, unsigned int line_shift)
{
	memset(l1, 0, sizeof(*l1));
	l1->ways = ways;
	l1->line_shift = line_shift;
	l1->set_mask = (1u << (NP_PAGE_SHIFT - line_shift)) - 1;
}

/* The ways that hold this in a field of a set, a bit each. Unused ways hold zero. */
static inline unsigned int np_l1_ways_with(const uint32_t *field, unsigned int ways, uint32_t value)
{
	unsigned int mask = 0;

#ifdef __SSE2__
	__m128i wanted = _mm_set1_epi32(value);

	for (unsigned int i = 0; i < ways; i += 4) {
		__m128i equal = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(field + i)), wanted);

		mask |= _mm_movemask_ps(_mm_castsi128_ps(equal)) << i;
	}
#else
	for (unsigned int i = 0; i < ways; i++)
		mask |= (field[i] == value) << i;
#endif
	return mask;
}

static inline bool np_l1_hit(struct np_l1 *l1, uint64_t vaddr, bool store)
{
	struct np_l1_set *s = &l1->set[(vaddr >> l1->line_shift) & l1->set_mask];
	uint32_t tag = np_l1_tag(vaddr);
	unsigned int way = s->recent, found;

	if (s->tag[way] != tag) {
		found = np_l1_ways_with(s->tag, l1->ways, tag);
		if (!found)
			return false;
		way = __builtin_ctz(found);
		s->recent = way;
	}
	return !store || s->writable >> way & 1;
}

/* Way of a line, or -1. */
static inline int np_l1_find(const struct np_l1 *l1, uint32_t line)
{
	const struct np_l1_set *s = &l1->set[line & l1->set_mask];

	unsigned int found = np_l1_ways_with(s->line, l1->ways, line + 1);

	return found ? __builtin_ctz(found) : -1;
}

static inline void np_l1_fill(struct np_l1 *l1, uint64_t vaddr, uint32_t line, bool writable)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];
	int way = np_l1_find(l1, line);

	if (way < 0) {
		way = s->next;
		if (way == s->recent)
			way = (way + 1) % l1->ways;
		s->next = (way + 1) % l1->ways;
	}
	s->line[way] = line + 1;
	s->tag[way] = np_l1_tag(vaddr);
	s->recent = way;
	if (writable)
		s->writable |= 1u << way;
	else
		s->writable &= ~(1u << way);
}

static inline void np_l1_drop(struct np_l1 *l1, uint32_t line)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];
	int way = np_l1_find(l1, line);

	if (way < 0)
		return;
	s->tag[way] = 0;
	s->line[way] = 0;
}

/* A line that is present under a tag that is no longer known: gives it this one. */
static inline bool np_l1_retag(struct np_l1 *l1, uint64_t vaddr, uint32_t line, bool store)
{
	struct np_l1_set *s = &l1->set[line & l1->set_mask];
	int way = np_l1_find(l1, line);

	if (way < 0)
		return false;
	s->tag[way] = np_l1_tag(vaddr);
	s->recent = way;
	return !store || s->writable >> way & 1;
}

static inline void np_l1_forget_tags(struct np_l1 *l1)
{
	for (unsigned int set = 0; set <= l1->set_mask; set++)
		memset(l1->set[set].tag, 0, sizeof(l1->set[set].tag));
}

static inline void np_l1_clear(struct np_l1 *l1)
{
	memset(l1->set, 0, sizeof(l1->set));
}

#endif
