/* SPDX-License-Identifier: GPL-2.0-only */
/* How much a job may do at a time, and when. Numbers only. */
#ifndef _NUMAPLACE_PACE_H
#define _NUMAPLACE_PACE_H

#include <linux/types.h>

/* Pages in a job's first batch, in its smallest and in its largest. */
#define NUMAPLACE_PACE_FIRST	256U
#define NUMAPLACE_PACE_MIN	32U
#define NUMAPLACE_PACE_MAX	4096U

/* Pages of a batch that a thread takes at a time, at most. */
#define NUMAPLACE_PACE_CHUNK	512U

unsigned int numaplace_pace_pages(unsigned int n, u64 ns, u32 budget_us);
unsigned int numaplace_pace_chunk(unsigned int n, unsigned int threads, u64 page_ns, u64 left_ns);
u64 numaplace_pace_due_ns(u64 bytes, u32 rate_mib);
u64 numaplace_pace_due(u64 due, u64 now, u64 bytes, u32 rate_mib);
unsigned int numaplace_pace_limit(unsigned int room, u32 rate_mib);
u64 numaplace_pace_rest_ns(u64 paused_ns, u32 duty);
u32 numaplace_pace_patience_us(u32 pause_us, bool always, unsigned int in_vain);
int numaplace_pace_check_range(u64 start, u64 end);

#endif
