/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks for a value in all ways of a set at once. */
#ifndef NP_WAYS_H
#define NP_WAYS_H

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NP_MAX_WAYS 64

/* Ways are kept in fours: of what follows the last, nothing equals a value that is looked for. */
static inline unsigned int np_ways_padded(unsigned int ways)
{
	return (ways + 3) & ~3u;
}

/* The ways that hold a value, a bit each. */
static inline uint64_t np_ways_with(const uint32_t *set, unsigned int ways, uint32_t value)
{
	uint64_t mask = 0;

#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi32((int)value);

	for (unsigned int i = 0; i < ways; i += 4) {
		__m128i four = _mm_loadu_si128((const __m128i *)(set + i));
		__m128 equal = _mm_castsi128_ps(_mm_cmpeq_epi32(four, wanted));

		mask |= (uint64_t)_mm_movemask_ps(equal) << i;
	}
#else
	for (unsigned int i = 0; i < ways; i++)
		mask |= (uint64_t)(set[i] == value) << i;
#endif
	return mask;
}

#endif
