/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves the pages of one address space, a batch at a time. */
#ifndef _NUMAPLACE_MIGRATE_H
#define _NUMAPLACE_MIGRATE_H

#include <linux/mm_types.h>
#include <linux/nodemask.h>

#include "stats.h"
#include "throttle.h"
#include "workers.h"

/* Pages in a batch, at most: what a pause may have to wait for. */
#define NUMAPLACE_BATCH_PAGES	NUMAPLACE_PACE_MAX

/**
 * struct numaplace_supply - what the target node has of pages of one size
 * @full: it has none: try no more in this batch
 * @tight: it had none before: take what is free, reclaim and compact nothing
 */
struct numaplace_supply {
	bool full, tight;
};

/**
 * struct numaplace_batch - some pages next to each other and what becomes of them
 * @mm: the address space of the pages
 * @from: nodes that they are to leave
 * @to: node that they are to go to
 * @shared: also those that other processes map
 * @split: break transparent huge pages up to move them
 * @left: how many pages may still be moved
 * @start: address of the first page
 * @n: number of pages
 * @open: how many of them are to be moved
 * @small: whether the node has room for small pages
 * @huge: whether it has room for huge ones
 * @counts: what became of them
 * @setup_ns: taken to unmap pages, all threads together
 * @copy_ns: likewise, to allocate and to copy
 * @finish_ns: likewise, to map the new pages
 * @pause_us: for which the target was stopped, 0 if it was not
 * @unpaused: threads that ran on though they were to stop
 * @fate: what becomes of each page, an enum numaplace_fate
 * @crew: the threads that move them
 */
struct numaplace_batch {
	struct mm_struct *mm;
	nodemask_t from;
	int to;
	bool shared;
	bool split;
	u64 left;

	unsigned long start;
	unsigned int n;
	unsigned int open;
	struct numaplace_supply small, huge;
	struct numaplace_counts counts;
	u64 setup_ns, copy_ns, finish_ns;
	u64 pause_us;
	unsigned int unpaused;

	u8 *fate;
	struct numaplace_crew crew;
};

int numaplace_migrate_init(struct numaplace_batch *b, unsigned int threads);
void numaplace_migrate_free(struct numaplace_batch *b);
bool numaplace_migrate_next(struct numaplace_batch *b, unsigned long *pos, unsigned long end,
			    unsigned int room);
void numaplace_migrate_batch(struct numaplace_batch *b, u64 deadline);
void numaplace_migrate_rest(struct numaplace_batch *b);

#endif
