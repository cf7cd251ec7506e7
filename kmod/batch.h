/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of a batch: neighbouring pages that are looked at together. */
#ifndef _NUMAPLACE_BATCH_H
#define _NUMAPLACE_BATCH_H

#include <linux/list.h>
#include <linux/nodemask.h>
#include <linux/types.h>

#include "stats.h"

struct mm_struct;

/**
 * struct numaplace_supply - free pages of one size on the target node
 * @folios: those that were allocated for the next chunk, by their lru
 * @n: how many
 * @node_full: there is none: this batch allocates no more of them
 * @no_reclaim: an allocation has failed: later ones take free pages, without reclaim or compaction
 * @ran_out: fewer were allocated before a chunk than it needed
 */
struct numaplace_supply {
	struct list_head folios;
	unsigned int n;
	bool node_full, no_reclaim, ran_out;
};

/**
 * struct numaplace_batch - neighbouring pages and their status
 * @mm: the address space of the pages
 * @from: nodes that they are to leave
 * @to: node that they are to go to
 * @shared: also those of files and of shared memory that other processes map
 * @files: also those of files and of shared memory
 * @split: break transparent huge pages up to move them
 * @remaining: how many pages may still be moved
 * @chunk: how many are moved at a time
 * @start: address of the first page
 * @n: number of pages
 * @small: supply of small pages
 * @huge: supply of huge pages
 * @has_huge: a huge page was found that is to be moved whole
 * @written: a page was found that is under writeback
 * @mergeable: a page was found that KSM may merge
 * @is_write_locked: the mmap_lock is held for writing
 * @counts: number of pages by status
 * @setup_ns: taken to unmap pages
 * @copy_ns: likewise, to copy them
 * @finish_ns: likewise, to map the new pages
 * @unmapped_ns: for how long a page was mapped by nobody, at most
 * @status: status of each page, an enum numaplace_page_status
 * @src: for migrate_vma
 * @dst: for migrate_vma
 */
struct numaplace_batch {
	struct mm_struct *mm;
	nodemask_t from;
	int to;
	bool shared;
	bool files;
	bool split;
	u64 remaining;
	unsigned int chunk;

	unsigned long start;
	unsigned int n;
	struct numaplace_supply small, huge;
	bool has_huge;
	bool written;
	bool mergeable, is_write_locked;
	struct numaplace_counts counts;
	u64 setup_ns, copy_ns, finish_ns;
	u64 unmapped_ns;

	u8 *status;
	unsigned long *src, *dst;
};

#endif
