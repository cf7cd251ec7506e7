/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prefetcher model: a miss counts as prefetched if it continues one of the last
 * few sequences of equal steps.
 */
#ifndef NP_PREFETCH_H
#define NP_PREFETCH_H

#include "way_search.h"

#include <stdbool.h>

#define NP_PREFETCH_STREAMS  16
#define NP_PREFETCH_REACH    32 /* longest step, in lines */
#define NP_PREFETCH_TRAINING 2	/* equal steps after which the next line is prefetched */

/* Of what others read, which is old by the time that they do. */
#define np_prefetch_note(word, value) __atomic_store_n(word, value, __ATOMIC_RELAXED)

struct np_prefetcher {
	uint32_t last[NP_PREFETCH_STREAMS]; /* line, its low bits */
	int32_t step[NP_PREFETCH_STREAMS];
	uint32_t equal[NP_PREFETCH_STREAMS]; /* steps so far. Others read it, used and clock */
	uint64_t used[NP_PREFETCH_STREAMS];  /* by the clock; 0: free */
	uint64_t clock;			     /* misses so far */
};

/* The sequences that end within reach of a line, a bit each. */
static inline unsigned int np_prefetch_near(const struct np_prefetcher *s, uint32_t line)
{
	unsigned int near = 0;
	const __m128i sign = _mm_set1_epi32(INT32_MIN);
	const __m128i most = _mm_set1_epi32(INT32_MIN + 2 * NP_PREFETCH_REACH);
	const __m128i from = _mm_set1_epi32((int)(line + NP_PREFETCH_REACH));

	for (unsigned int i = 0; i < NP_PREFETCH_STREAMS; i += 8) {
		const __m128i *four = (const __m128i *)(s->last + i);
		__m128i low = _mm_xor_si128(_mm_sub_epi32(from, _mm_loadu_si128(four)), sign);
		__m128i high = _mm_xor_si128(_mm_sub_epi32(from, _mm_loadu_si128(four + 1)), sign);
		__m128i far_low = _mm_cmpgt_epi32(low, most);
		__m128i far_high = _mm_cmpgt_epi32(high, most);

		near |= (~np_way_search_bits(far_low, far_high) & 0xff) << i;
	}
	return near;
}

static inline void np_prefetch_begin(struct np_prefetcher *s, uint32_t line)
{
	unsigned int oldest = 0;

	for (unsigned int i = 1; i < NP_PREFETCH_STREAMS; i++)
		if (s->used[i] < s->used[oldest])
			oldest = i;
	s->last[oldest] = line;
	s->step[oldest] = 0;
	np_prefetch_note(&s->equal[oldest], 0);
	np_prefetch_note(&s->used[oldest], s->clock);
}

/* A miss of a line; returns whether the line counts as prefetched. */
static inline bool np_prefetch_miss(struct np_prefetcher *s, uint64_t full_line)
{
	uint32_t line = (uint32_t)full_line;
	unsigned int near = np_prefetch_near(s, line), i;
	int32_t step;

	np_prefetch_note(&s->clock, s->clock + 1);
	if (!near) {
		np_prefetch_begin(s, line);
		return false;
	}
	i = __builtin_ctz(near);
	step = (int32_t)(line - s->last[i]);
	np_prefetch_note(&s->used[i], s->clock);
	if (step) {
		np_prefetch_note(&s->equal[i], step == s->step[i] ? s->equal[i] + 1 : 0);
		s->step[i] = step;
		s->last[i] = line;
	}
	return s->equal[i] >= NP_PREFETCH_TRAINING;
}

#endif
