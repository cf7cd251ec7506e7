// SPDX-License-Identifier: GPL-2.0-only
#include "histogram.h"

#include <math.h>

/* Below NP_HIST_SUB every value has a bucket of its own. */
static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < NP_HIST_SUB)
		return value;
	shift = 63 - __builtin_clzll(value) - NP_HIST_SUB_BITS;
	return (shift << NP_HIST_SUB_BITS) + (value >> shift);
}

static uint64_t upper_edge(unsigned int bucket)
{
	unsigned int shift = bucket >> NP_HIST_SUB_BITS;

	if (shift < 2)
		return bucket;
	shift--;
	return (((uint64_t)(bucket & (NP_HIST_SUB - 1)) + NP_HIST_SUB + 1) << shift) - 1;
}

void np_histogram_add(struct np_histogram *h, uint64_t value, uint64_t times)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count += times;
	h->bucket[bucket_of(value)] += times;
}

uint64_t np_histogram_at(const struct np_histogram *h, double share)
{
	uint64_t wanted = (uint64_t)ceil(share * h->count), seen = 0;
	unsigned int b;

	if (!h->count)
		return 0;
	for (b = 0; b < NP_HIST_BUCKETS - 1; b++) {
		seen += h->bucket[b];
		if (seen && seen >= wanted)
			break;
	}
	return upper_edge(b) < h->max ? upper_edge(b) : h->max;
}
