/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of a batch: neighbouring pages that are moved together. */
#ifndef _NUMAPLACE_BATCH_H
#define _NUMAPLACE_BATCH_H

#include <linux/nodemask.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "stats.h"

struct mm_struct;
struct numaplace_worker;

/**
 * struct numaplace_workers - the threads that move a job's pages
 * @worker: state of each thread, @n of them
 * @n: number of threads, the caller included
 * @lock: guards the rest
 * @taken: pages of the batch that threads have taken
 * @page_ns: decaying maximum of a thread's time per page
 * @deadline: when the batch is to end, by ktime_get_ns(), or U64_MAX
 */
struct numaplace_workers {
	struct numaplace_worker *worker;
	unsigned int n;

	spinlock_t lock; /* guards the fields below */
	unsigned int taken;
	u64 page_ns, deadline;
};

/**
 * struct numaplace_supply - free pages of one size on the target node
 * @node_full: there is none: this batch allocates no more of them
 * @no_reclaim: an allocation has failed: later ones take free pages, without reclaim or compaction
 * @ran_out: fewer were allocated before a chunk than it needed
 */
struct numaplace_supply {
	bool node_full, no_reclaim, ran_out;
};

/**
 * struct numaplace_batch - neighbouring pages and their status
 * @mm: the address space of the pages
 * @from: nodes that they are to leave
 * @to: node that they are to go to
 * @shared: also those that other processes map
 * @split: break transparent huge pages up to move them
 * @cancelled: set when no more are to be moved
 * @remaining: how many pages may still be moved
 * @start: address of the first page
 * @n: number of pages
 * @pending: how many of them are to be moved
 * @small: supply of small pages
 * @huge: supply of huge pages
 * @has_huge: a huge page was found that is to be moved whole
 * @counts: number of pages by status
 * @setup_ns: taken to unmap pages, all threads together
 * @copy_ns: likewise, to copy them
 * @finish_ns: likewise, to map the new pages
 * @pause_us: for which the target was stopped, 0 if it was not
 * @unpaused: threads that were to stop and ran on
 * @status: status of each page, an enum numaplace_page_status
 * @workers: the threads that move them
 */
struct numaplace_batch {
	struct mm_struct *mm;
	nodemask_t from;
	int to;
	bool shared;
	bool split;
	const bool *cancelled;
	u64 remaining;

	unsigned long start;
	unsigned int n;
	unsigned int pending;
	struct numaplace_supply small, huge;
	bool has_huge;
	struct numaplace_counts counts;
	u64 setup_ns, copy_ns, finish_ns;
	u64 pause_us;
	unsigned int unpaused;

	u8 *status;
	struct numaplace_workers workers;
};

#endif
