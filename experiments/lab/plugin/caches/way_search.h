/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Search for a value in all ways of a set at once, and in those of a set that another thread writes to.
 * Both write a way by np_way_set().
 */
#ifndef NP_WAY_SEARCH_H
#define NP_WAY_SEARCH_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define NP_MAX_WAYS 64

/* Ways are stored in eights: those after the last hold no value that is searched for. */
static inline unsigned int np_way_search_padded(unsigned int ways)
{
	return (ways + 7) & ~7u;
}

/* One bit for each of eight words that is all ones; the others are 0. */
static inline unsigned int np_way_search_bits(__m128i low, __m128i high)
{
	__m128i bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());

	return _mm_movemask_epi8(bytes);
}

/* Which of eight ways hold a value, a bit each. */
static inline unsigned int np_way_search_eight(const uint32_t *set, uint32_t value)
{
	const __m128i wanted = _mm_set1_epi32((int)value), *four = (const __m128i *)set;

	return np_way_search_bits(_mm_cmpeq_epi32(_mm_loadu_si128(four), wanted),
				  _mm_cmpeq_epi32(_mm_loadu_si128(four + 1), wanted));
}

static inline void np_way_set(uint32_t *way, uint32_t value)
{
	__atomic_store_n(way, value, __ATOMIC_RELAXED);
}

/* Whether a way holds a value. Another thread may write to other ways meanwhile. */
static inline bool np_way_search_shared(const uint32_t *set, unsigned int ways, uint32_t value)
{
	for (unsigned int i = 0; i < ways; i++)
		if (__atomic_load_n(&set[i], __ATOMIC_ACQUIRE) == value)
			return true;
	return false;
}

/* The ways that hold a value, a bit each; at least one way, padded. */
static inline uint64_t np_way_search(const uint32_t *set, unsigned int ways, uint32_t value)
{
	uint64_t mask = np_way_search_eight(set, value);

	for (unsigned int i = 8; i < ways; i += 8)
		mask |= (uint64_t)np_way_search_eight(set + i, value) << i;
	return mask;
}

#endif
