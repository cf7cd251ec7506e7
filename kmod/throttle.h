/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes of batches and chunks. Pure functions. */
#ifndef _NUMAPLACE_THROTTLE_H
#define _NUMAPLACE_THROTTLE_H

#include <linux/types.h>

/* Pages that are looked at together, at most. */
#define NUMAPLACE_BATCH_MAX 4096U

/* Pages that are unmapped at a time: at first, at least and at most. */
#define NUMAPLACE_CHUNK_FIRST 128U
#define NUMAPLACE_CHUNK_MIN   32U
#define NUMAPLACE_CHUNK_MAX   512U

unsigned int numaplace_throttle_pages(unsigned int n, u64 ns, u32 budget_us);
int numaplace_throttle_check_range(u64 start, u64 end);

#endif
