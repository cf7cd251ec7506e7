// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "classify.h"
#include "migrate.h"

/* How often a page that is busy is tried before it is left where it is. */
#define PASSES 3
#define PASS_US 500

/* Pages that a batch can have: one that would be cut ends after the huge page. */
#define ROOM (NUMAPLACE_BATCH_PAGES + NUMAPLACE_HUGE_PAGES)

/**
 * numaplace_migrate_init() - get a batch's memory and its threads
 * @b: the batch, all zero but for what is asked of it
 * @threads: how many threads are to move its pages
 *
 * Return: 0 or -ENOMEM; numaplace_migrate_free() is right after either.
 */
int numaplace_migrate_init(struct numaplace_batch *b, unsigned int threads)
{
	b->fate = kvmalloc(ROOM, GFP_KERNEL);
	return numaplace_crew_start(&b->crew, threads) || !b->fate ? -ENOMEM : 0;
}

/**
 * numaplace_migrate_free() - release a batch's memory
 * @b: the batch
 */
void numaplace_migrate_free(struct numaplace_batch *b)
{
	kvfree(b->fate);
	numaplace_crew_end(&b->crew);
}

static unsigned int count_open(const struct numaplace_batch *b)
{
	unsigned int i, open = 0;

	for (i = 0; i < b->n; i++)
		open += b->fate[i] == NUMAPLACE_FATE_open;
	return open;
}

static void count_fates(struct numaplace_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->n; i++)
		if (b->fate[i] < NUMAPLACE_FATES)
			b->counts.fate[b->fate[i]]++;
	b->counts.bytes = b->counts.fate[NUMAPLACE_FATE_moved] << PAGE_SHIFT;
}

/* Ends the batch where it has as many open pages as may be moved, before a huge page that would be cut. */
static void keep_to_limit(struct numaplace_batch *b)
{
	unsigned long end = b->start + ((unsigned long)b->n << PAGE_SHIFT), cut = b->start;
	u64 left = b->left;
	unsigned int i;

	for (i = 0; i < b->n; i++, cut += PAGE_SIZE)
		if (b->fate[i] == NUMAPLACE_FATE_open && !left--)
			break;
	if (i == b->n)
		return;
	if (!b->split && numaplace_scan_cut(b->mm, cut, end) != cut)
		cut = max(b->start, ALIGN_DOWN(cut, PMD_SIZE));
	b->n = (cut - b->start) >> PAGE_SHIFT;
}

/**
 * numaplace_migrate_next() - find the next pages of a range and look at them
 * @b: the batch to fill; b->n is 0 where only holes were found
 * @pos: where to begin; set to where to go on
 * @end: where the range ends
 * @room: how many pages at most, up to NUMAPLACE_BATCH_PAGES
 *
 * Counts holes that were crossed. Only pages inside mappings are asked for.
 *
 * Return: false at the end of the range, or where the next page may not be moved any more.
 */
bool numaplace_migrate_next(struct numaplace_batch *b, unsigned long *pos, unsigned long end,
			    unsigned int room)
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
	b->open = 0;
	b->small.full = false;
	b->huge.full = false;
	if (*pos >= end)
		return false;
	mmap_read_lock(b->mm);
	vma = find_vma(b->mm, *pos);
	if (!vma || vma->vm_start >= end) {
		mmap_read_unlock(b->mm);
		return false;
	}
	begin = max(*pos, vma->vm_start);
	end = min(end, vma->vm_end);
	b->start = begin;
	if (!(vma->vm_flags & VM_SPECIAL) && !is_vm_hugetlb_page(vma))
		b->start = numaplace_scan_skip(b->mm, begin, end);
	b->counts.fate[NUMAPLACE_FATE_absent] = (b->start - begin) >> PAGE_SHIFT;
	cut = b->start + ((unsigned long)room << PAGE_SHIFT);
	end = numaplace_scan_cut(b->mm, cut, end);
	b->n = (end - b->start) >> PAGE_SHIFT;
	memset(b->fate, NUMAPLACE_FATE_open, b->n);
	numaplace_scan_pages(b, 0, b->n, false);
	keep_to_limit(b);
	mmap_read_unlock(b->mm);
	b->open = count_open(b);
	*pos = b->start + ((unsigned long)b->n << PAGE_SHIFT);
	return b->n || b->counts.fate[NUMAPLACE_FATE_absent];
}

/**
 * numaplace_migrate_batch() - move the pages of a batch that are to be moved
 * @b: the batch, from numaplace_migrate_next()
 * @deadline: when to end, by ktime_get_ns(), or U64_MAX
 *
 * Where time is short b->n is then how many pages were looked at: go on after
 * these. numaplace_migrate_rest() must follow.
 */
void numaplace_migrate_batch(struct numaplace_batch *b, u64 deadline)
{
	if (!b->open)
		return;
	numaplace_crew_move(&b->crew, b, deadline);
	b->open = count_open(b);
}

/**
 * numaplace_migrate_rest() - try busy pages again and count what became of each
 * @b: the batch
 */
void numaplace_migrate_rest(struct numaplace_batch *b)
{
	unsigned int pass;

	for (pass = 1; b->open && pass < PASSES; pass++) {
		/* Time for a short-lived reference or page lock to be dropped. */
		usleep_range_state(PASS_US, 2 * PASS_US, TASK_IDLE);
		numaplace_crew_retry(&b->crew, b);
		b->open = count_open(b);
	}
	if (b->open) {
		mmap_read_lock(b->mm);
		numaplace_scan_pages(b, 0, b->n, true);
		mmap_read_unlock(b->mm);
	}
	b->open = 0;
	count_fates(b);
}
