/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Latencies in buckets whose width grows with the value: 32 to every power of
 * two, so a percentile is at most 1/32 (3.1 %) above the latency it stands for.
 */
#ifndef NP_HISTOGRAM_H
#define NP_HISTOGRAM_H

#include <stdint.h>

#define NP_HIST_SUB_BITS   5
#define NP_HIST_SUB	   (1 << NP_HIST_SUB_BITS)
#define NP_HIST_RESOLUTION (1.0 / NP_HIST_SUB)
#define NP_HIST_BUCKETS	   ((64 - NP_HIST_SUB_BITS + 1) * NP_HIST_SUB)

struct np_histogram {
	uint64_t count, min, max;
	uint64_t bucket[NP_HIST_BUCKETS];
};

void np_histogram_add(struct np_histogram *h, uint64_t value, uint64_t times);

/* The upper edge of the bucket that holds this share (0..1) of the values,
 * never above the maximum; 0 when there are none. */
uint64_t np_histogram_at(const struct np_histogram *h, double share);

#endif
