/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes of batches and chunks, and times of pauses and waits. Pure functions. */
#ifndef _NUMAPLACE_THROTTLE_H
#define _NUMAPLACE_THROTTLE_H

#include <linux/types.h>

/* Pages in a job's first batch, in its smallest and in its largest. */
#define NUMAPLACE_BATCH_FIRST 256U
#define NUMAPLACE_BATCH_MIN   32U
#define NUMAPLACE_BATCH_MAX   4096U

/* Pages of a batch that a thread takes at a time, at most. */
#define NUMAPLACE_CHUNK_MAX 512U

unsigned int numaplace_throttle_pages(unsigned int n, u64 ns, u32 budget_us);
unsigned int numaplace_throttle_chunk(unsigned int n, unsigned int threads, u64 page_ns,
				      u64 left_ns);
u64 numaplace_throttle_due_ns(u64 bytes, u32 rate_mib);
u64 numaplace_throttle_due(u64 due, u64 now, u64 bytes, u32 rate_mib);
unsigned int numaplace_throttle_limit(unsigned int most, u32 rate_mib);
u64 numaplace_throttle_duty_ns(u64 paused_ns, u32 duty);
u32 numaplace_throttle_wait_us(u32 pause_us, bool always, unsigned int missed);
int numaplace_throttle_check_range(u64 start, u64 end);

#endif
