// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "batch.h"
#include "classify.h"
#include "lock_mm.h"
#include "migrate.h"
#include "throttle.h"
#include "workers.h"

/* How often a page that is busy is tried before it is left where it is. */
#define PASSES	3
#define PASS_US 500

/* Pages that a batch can have: one that would be cut ends after the huge page. */
#define MAX_PAGES (NUMAPLACE_BATCH_MAX + NUMAPLACE_HUGE_PAGES)

/**
 * numaplace_migrate_init() - get a batch's memory and its threads
 * @b: the batch, all zero but for the request
 * @threads: how many threads are to move its pages
 *
 * Return: 0 or -ENOMEM; numaplace_migrate_free() is right after either.
 */
int numaplace_migrate_init(struct numaplace_batch *b, unsigned int threads)
{
	b->status = kvmalloc(MAX_PAGES, GFP_KERNEL);
	return numaplace_workers_start(&b->workers, threads) || !b->status ? -ENOMEM : 0;
}

/**
 * numaplace_migrate_free() - release a batch's memory
 * @b: the batch
 */
void numaplace_migrate_free(struct numaplace_batch *b)
{
	kvfree(b->status);
	numaplace_workers_end(&b->workers);
}

static unsigned int count_pending(const struct numaplace_batch *b)
{
	unsigned int i, pending = 0;

	for (i = 0; i < b->n; i++)
		pending += b->status[i] == NUMAPLACE_PAGE_pending;
	return pending;
}

static void count_status(struct numaplace_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->n; i++)
		if (b->status[i] < NUMAPLACE_PAGE_STATUSES)
			b->counts.status[b->status[i]]++;
	b->counts.bytes = b->counts.status[NUMAPLACE_PAGE_moved] << PAGE_SHIFT;
}

/*
 * Ends the batch where it has as many pending pages as may be moved, before a huge page that would
 * be cut.
 */
static void keep_to_limit(struct numaplace_batch *b)
{
	unsigned long end = b->start + ((unsigned long)b->n << PAGE_SHIFT), cut = b->start;
	u64 left = b->remaining;
	unsigned int i;

	for (i = 0; i < b->n; i++, cut += PAGE_SIZE)
		if (b->status[i] == NUMAPLACE_PAGE_pending && !left--)
			break;
	if (i == b->n)
		return;
	if (!b->split && numaplace_classify_cut(b->mm, cut, end) != cut)
		cut = max(b->start, ALIGN_DOWN(cut, PMD_SIZE));
	b->n = (cut - b->start) >> PAGE_SHIFT;
}

/**
 * numaplace_migrate_next() - find the next pages of a range and their status
 * @b: the batch to fill; b->n is 0 where only holes were found
 * @pos: where to begin; set to where to go on
 * @end: where the range ends
 * @most: how many pages at most, up to NUMAPLACE_BATCH_MAX
 *
 * Counts holes that were crossed. Only pages inside mappings are asked for.
 *
 * Return: false at the end of the range, where the next page may not be moved any more, or if
 * the job was cancelled.
 */
bool numaplace_migrate_next(struct numaplace_batch *b, unsigned long *pos, unsigned long end,
			    unsigned int most)
{
	struct vm_area_struct *vma;
	unsigned long begin, cut;

	memset(&b->counts, 0, sizeof(b->counts));
	b->setup_ns = 0;
	b->copy_ns = 0;
	b->finish_ns = 0;
	b->pause_us = 0;
	b->unpaused = 0;
	b->n = 0;
	b->pending = 0;
	b->small.node_full = false;
	b->huge.node_full = false;
	b->has_huge = false;
	if (*pos >= end)
		return false;
	if (!numaplace_lock_mm(b->mm, b->cancelled, U64_MAX))
		return false;
	vma = find_vma(b->mm, *pos);
	if (!vma || vma->vm_start >= end) {
		mmap_read_unlock(b->mm);
		return false;
	}
	begin = max(*pos, vma->vm_start);
	end = min(end, vma->vm_end);
	b->start = begin;
	if (!(vma->vm_flags & VM_SPECIAL) && !is_vm_hugetlb_page(vma))
		b->start = numaplace_classify_skip(b->mm, begin, end);
	b->counts.status[NUMAPLACE_PAGE_absent] = (b->start - begin) >> PAGE_SHIFT;
	cut = b->start + ((unsigned long)most << PAGE_SHIFT);
	end = numaplace_classify_cut(b->mm, cut, end);
	b->n = (end - b->start) >> PAGE_SHIFT;
	memset(b->status, NUMAPLACE_PAGE_pending, b->n);
	numaplace_classify_pages(b, 0, b->n, false);
	keep_to_limit(b);
	mmap_read_unlock(b->mm);
	b->pending = count_pending(b);
	*pos = b->start + ((unsigned long)b->n << PAGE_SHIFT);
	return b->n || b->counts.status[NUMAPLACE_PAGE_absent];
}

/**
 * numaplace_migrate_batch() - move the pages of a batch that are to be moved
 * @b: the batch, from numaplace_migrate_next()
 * @deadline: when to end, by ktime_get_ns(), or U64_MAX
 *
 * If time is short, b->n is then the number of pages examined: go on after these.
 * numaplace_migrate_finish() must follow.
 */
void numaplace_migrate_batch(struct numaplace_batch *b, u64 deadline)
{
	if (!b->pending)
		return;
	numaplace_workers_move(&b->workers, b, deadline);
	b->pending = count_pending(b);
}

/**
 * numaplace_migrate_finish() - try busy pages again and count the pages by status
 * @b: the batch
 */
void numaplace_migrate_finish(struct numaplace_batch *b)
{
	unsigned int pass;

	for (pass = 1; b->pending && pass < PASSES; pass++) {
		/* Time for a short-lived reference or page lock to be dropped. */
		usleep_range_state(PASS_US, 2 * PASS_US, TASK_IDLE);
		numaplace_workers_retry(&b->workers, b);
		b->pending = count_pending(b);
	}
	if (b->pending && numaplace_lock_mm(b->mm, b->cancelled, U64_MAX)) {
		numaplace_classify_pages(b, 0, b->n, true);
		mmap_read_unlock(b->mm);
	}
	b->pending = 0;
	count_status(b);
}
