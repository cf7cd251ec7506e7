// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/hugetlb.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "batch.h"
#include "chunk.h"
#include "classify.h"
#include "migrate.h"
#include "throttle.h"

/* How often a page that is busy is tried before it is left where it is. */
#define PASSES 3
/* Time for a short-lived reference or page lock to be dropped, and for a page to reach its disk. */
#define PASS_US	   500
#define WRITTEN_US 20000

/* Pages that a batch can have: one that would be cut ends after the huge page. */
#define MAX_PAGES (NUMAPLACE_BATCH_MAX + NUMAPLACE_HUGE_PAGES)

/**
 * numaplace_migrate_init() - get a batch's memory
 * @b: the batch, all zero but for the request
 *
 * Return: 0 or -ENOMEM; numaplace_migrate_free() is right after either.
 */
int numaplace_migrate_init(struct numaplace_batch *b)
{
	b->chunk = NUMAPLACE_CHUNK_FIRST;
	b->status = kvmalloc(MAX_PAGES, GFP_KERNEL);
	return numaplace_chunk_init(b) || !b->status ? -ENOMEM : 0;
}

/**
 * numaplace_migrate_free() - release a batch's memory
 * @b: the batch
 */
void numaplace_migrate_free(struct numaplace_batch *b)
{
	kvfree(b->status);
	numaplace_chunk_free(b);
}

static unsigned int count(const struct numaplace_batch *b, unsigned int i, unsigned int end,
			  u8 status)
{
	unsigned int n = 0;

	for (; i < end; i++)
		n += b->status[i] == status;
	return n;
}

static unsigned int count_pending(const struct numaplace_batch *b, unsigned int i, unsigned int end)
{
	return count(b, i, end, NUMAPLACE_PAGE_pending);
}

static void count_status(struct numaplace_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->n; i++)
		if (b->status[i] < NUMAPLACE_PAGE_STATUSES)
			b->counts.status[b->status[i]]++;
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

static void begin(struct numaplace_batch *b)
{
	memset(&b->counts, 0, sizeof(b->counts));
	b->setup_ns = 0;
	b->copy_ns = 0;
	b->finish_ns = 0;
	b->unmapped_ns = 0;
	b->n = 0;
	b->small.node_full = false;
	b->huge.node_full = false;
	b->has_huge = false;
	b->written = false;
	b->mergeable = false;
}

/* Fills the batch from a mapping, beginning at begin, which is inside of it. */
static void fill(struct numaplace_batch *b, struct vm_area_struct *vma, unsigned long begin,
		 unsigned long end)
{
	unsigned long cut;

	end = min(end, vma->vm_end);
	b->start = begin;
	if (!(vma->vm_flags & VM_SPECIAL) && !is_vm_hugetlb_page(vma))
		b->start = numaplace_classify_skip(b->mm, begin, end);
	b->counts.status[NUMAPLACE_PAGE_absent] = (b->start - begin) >> PAGE_SHIFT;
	cut = b->start + ((unsigned long)NUMAPLACE_BATCH_MAX << PAGE_SHIFT);
	end = numaplace_classify_cut(b->mm, cut, end);
	b->n = (end - b->start) >> PAGE_SHIFT;
	memset(b->status, NUMAPLACE_PAGE_pending, b->n);
	numaplace_classify_pages(b, 0, b->n, false);
	numaplace_classify_rename(b, 0, b->n, NUMAPLACE_PAGE_unlisted, NUMAPLACE_PAGE_pending);
	numaplace_classify_rename(b, 0, b->n, NUMAPLACE_PAGE_later, NUMAPLACE_PAGE_pending);
	keep_to_limit(b);
}

/**
 * numaplace_migrate_next() - find the next pages of a range and their status
 * @b: the batch to fill; b->n is 0 where only holes were found
 * @pos: where to begin
 * @end: where the range ends
 *
 * Counts holes that were crossed. Only pages inside mappings are asked for. The next one begins
 * after the last page.
 *
 * Return: 0; NUMAPLACE_MIGRATE_END at the end of the range, or where the next page may not be moved
 * any more; -EINTR if the caller is killed.
 */
int numaplace_migrate_next(struct numaplace_batch *b, unsigned long pos, unsigned long end)
{
	struct vm_area_struct *vma;

	begin(b);
	if (pos >= end)
		return NUMAPLACE_MIGRATE_END;
	if (mmap_read_lock_killable(b->mm))
		return -EINTR;
	vma = find_vma(b->mm, pos);
	if (vma && vma->vm_start < end)
		fill(b, vma, max(pos, vma->vm_start), end);
	mmap_read_unlock(b->mm);
	if (!b->n && !b->counts.status[NUMAPLACE_PAGE_absent])
		return NUMAPLACE_MIGRATE_END;
	return 0;
}

/**
 * numaplace_migrate_count() - count the pages of a batch that would be tried as moved
 * @b: the batch, from numaplace_migrate_next()
 */
void numaplace_migrate_count(struct numaplace_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->n; i++)
		if (b->status[i] == NUMAPLACE_PAGE_pending)
			b->status[i] = NUMAPLACE_PAGE_moved;
	count_status(b);
}

/* End of a chunk from a page on. It cuts no huge page that is mapped. */
static unsigned int chunk_end(const struct numaplace_batch *b, unsigned int first)
{
	unsigned int end = first + b->chunk;
	unsigned long addr = b->start + ((unsigned long)end << PAGE_SHIFT);
	unsigned long past = b->start + ((unsigned long)b->n << PAGE_SHIFT);
	struct vm_area_struct *vma;

	if (end >= b->n)
		return b->n;
	vma = find_vma(b->mm, addr);
	if (vma && vma->vm_start <= addr)
		addr = numaplace_classify_cut(b->mm, addr, min(past, vma->vm_end));
	return (addr - b->start) >> PAGE_SHIFT;
}

/* Locks the address space, where KSM may merge pages of the batch so that it does not meanwhile. */
static int lock(struct numaplace_batch *b)
{
	b->is_write_locked = b->mergeable;
	return b->is_write_locked ? mmap_write_lock_killable(b->mm) :
				    mmap_read_lock_killable(b->mm);
}

static void unlock(struct numaplace_batch *b)
{
	if (b->is_write_locked)
		mmap_write_unlock(b->mm);
	else
		mmap_read_unlock(b->mm);
	b->is_write_locked = false;
}

/* Moves the pages from first on that are unmapped together. Returns where to go on, or -EINTR. */
static int move_chunk(struct numaplace_batch *b, unsigned int first, u32 max_stall_us)
{
	u64 begun, took_ns;
	unsigned int end;

	numaplace_chunk_fill(b, count_pending(b, first, min(b->n, first + b->chunk)));
	if (lock(b))
		return -EINTR;
	end = chunk_end(b, first);
	begun = ktime_get_ns();
	numaplace_chunk_move(b, first, end - first);
	unlock(b);
	took_ns = ktime_get_ns() - begun;
	if (count(b, first, end, NUMAPLACE_PAGE_moved) || took_ns > max_stall_us * NSEC_PER_USEC)
		b->chunk = numaplace_throttle_pages(end - first, took_ns, max_stall_us);
	cond_resched();
	return end;
}

/* Tries the pending pages. Returns how many it has come across, fewer than b->n after a signal. */
static unsigned int move_pending(struct numaplace_batch *b, u32 max_stall_us)
{
	unsigned int first = 0;
	int end;

	while (first < b->n) {
		if (b->status[first] != NUMAPLACE_PAGE_pending) {
			first++;
			continue;
		}
		end = signal_pending(current) ? -EINTR : move_chunk(b, first, max_stall_us);
		if (end < 0)
			break;
		first = end;
	}
	return first;
}

/**
 * numaplace_migrate_batch() - move the pages of a batch that are to be moved
 * @b: the batch, from numaplace_migrate_next()
 * @max_stall_us: for how long a page may be unmapped, about
 *
 * Busy pages are tried again. After a signal b->n may be less than before: go on after these.
 */
void numaplace_migrate_batch(struct numaplace_batch *b, u32 max_stall_us)
{
	unsigned int pass, i;

	b->n = move_pending(b, max_stall_us);
	for (pass = 1; pass < PASSES; pass++) {
		unsigned int us = b->written ? WRITTEN_US : PASS_US;

		if (!count_pending(b, 0, b->n) || signal_pending(current))
			break;
		b->written = false;
		usleep_range_state(us, 2 * us, TASK_IDLE);
		move_pending(b, max_stall_us);
	}
	if (count_pending(b, 0, b->n) && !mmap_read_lock_killable(b->mm)) {
		numaplace_classify_pages(b, 0, b->n, true);
		mmap_read_unlock(b->mm);
	}
	for (i = 0; i < b->n; i++) /* where the caller is killed */
		if (b->status[i] == NUMAPLACE_PAGE_pending)
			b->status[i] = NUMAPLACE_PAGE_busy;
	count_status(b);
}
