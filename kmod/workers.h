/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that share the pages of a batch, chunk by chunk. */
#ifndef _NUMAPLACE_CREW_H
#define _NUMAPLACE_CREW_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct numaplace_batch;
struct numaplace_hand;

/**
 * struct numaplace_crew - the threads that move a job's pages
 * @hand: state of each thread, @n of them
 * @n: number of threads, the caller included
 * @lock: guards the rest
 * @taken: pages of the batch that threads have taken
 * @page_ns: decaying maximum of a thread's time per page
 * @deadline: when the batch is to end, by ktime_get_ns(), or U64_MAX
 */
struct numaplace_crew {
	struct numaplace_hand *hand;
	unsigned int n;

	spinlock_t lock;
	unsigned int taken;
	u64 page_ns, deadline;
};

int numaplace_crew_start(struct numaplace_crew *crew, unsigned int threads);
void numaplace_crew_end(struct numaplace_crew *crew);
void numaplace_crew_move(struct numaplace_crew *crew, struct numaplace_batch *b, u64 deadline);
void numaplace_crew_retry(struct numaplace_crew *crew, struct numaplace_batch *b);

int numaplace_crew_init(void);
void numaplace_crew_exit(void);

#endif
