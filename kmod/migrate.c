// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/ksm.h>
#include <linux/ktime.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "copy.h"
#include "migrate.h"
#include "scan.h"

/* How often a page that is busy is tried before it is left where it is. */
#define PASSES 3

/* Pages that a batch can have: one that would be cut ends after the huge page. */
#define ROOM (NUMAPLACE_BATCH_PAGES + PTRS_PER_PMD)

/**
 * numaplace_migrate_init() - get a batch's memory
 * @b: the batch, all zero but for what is asked of it
 *
 * Return: 0 or -ENOMEM; numaplace_migrate_free() is right after either.
 */
int numaplace_migrate_init(struct numaplace_batch *b)
{
	b->fate = kvmalloc(ROOM, GFP_KERNEL);
	b->src = kvmalloc_array(ROOM, sizeof(*b->src), GFP_KERNEL);
	b->dst = kvmalloc_array(ROOM, sizeof(*b->dst), GFP_KERNEL);
	return b->fate && b->src && b->dst ? 0 : -ENOMEM;
}

/**
 * numaplace_migrate_free() - release a batch's memory
 * @b: the batch
 */
void numaplace_migrate_free(struct numaplace_batch *b)
{
	kvfree(b->fate);
	kvfree(b->src);
	kvfree(b->dst);
}

/* Whether a page that is locked and unmapped now is one that we may move. */
static bool is_ours(const struct numaplace_batch *b, struct page *page)
{
	struct folio *folio = page_folio(page);

	/*
	 * A page of a file would be moved behind its file system's back, and
	 * migrate_vma_pages() stops the machine at one that is being written.
	 */
	return folio_test_anon(folio) && !folio_test_ksm(folio) &&
	       !folio_test_writeback(folio) && folio_nid(folio) != b->to &&
	       node_isset(folio_nid(folio), b->from);
}

/* How many pages an entry stands for; a compound one is the only one of its pages. */
static unsigned int entry_pages(unsigned long entry)
{
	return entry & MIGRATE_PFN_COMPOUND ? HPAGE_PMD_NR : 1;
}

/* A locked page on the target node, or 0. Never from another node, never by killing. */
static unsigned long new_entry(const struct numaplace_batch *b, unsigned long src)
{
	gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_THISNODE | __GFP_NOWARN | __GFP_NORETRY;
	unsigned long compound = src & MIGRATE_PFN_COMPOUND;
	struct folio *folio;

	/* Reclaim that has failed takes seconds to fail again, while the task's pages are unmapped. */
	if (b->tight)
		gfp &= ~__GFP_DIRECT_RECLAIM;
	folio = __folio_alloc_node(gfp, compound ? HPAGE_PMD_ORDER : 0, b->to);
	if (!folio)
		return 0;
	folio_lock(folio);
	return migrate_pfn(folio_pfn(folio)) | compound;
}

static void allocate_run(struct numaplace_batch *b, struct migrate_vma *run, u8 *fate)
{
	unsigned long i, n;

	for (i = 0; i < run->npages; i += n) {
		struct page *page = migrate_pfn_to_page(run->src[i]);

		n = entry_pages(run->src[i]);
		if (!page || !(run->src[i] & MIGRATE_PFN_MIGRATE) || !is_ours(b, page))
			continue;
		if (!b->full)
			run->dst[i] = new_entry(b, run->src[i]);
		if (!run->dst[i]) {
			b->full = true;
			b->tight = true;
			memset(fate + i, NUMAPLACE_FATE_no_memory, n);
		}
		cond_resched();
	}
}

static void count_moved(const struct migrate_vma *run, u8 *fate)
{
	unsigned long i, n;

	for (i = 0; i < run->npages; i += n) {
		n = entry_pages(run->dst[i]);
		if (run->dst[i] && (run->src[i] & MIGRATE_PFN_MIGRATE))
			memset(fate + i, NUMAPLACE_FATE_moved, n);
	}
}

/* Moves pages first .. first + n - 1 of the batch, all in one mapping. */
static void move_run(struct numaplace_batch *b, struct vm_area_struct *vma, unsigned int first,
		     unsigned int n)
{
	struct migrate_vma run = {
		.vma = vma,
		.start = b->start + ((unsigned long)first << PAGE_SHIFT),
		.end = b->start + ((unsigned long)(first + n) << PAGE_SHIFT),
		.src = b->src,
		.dst = b->dst,
		.flags = MIGRATE_VMA_SELECT_SYSTEM | MIGRATE_VMA_SELECT_COMPOUND,
	};
	u64 t0 = ktime_get_ns(), t1, t2;

	if (migrate_vma_setup(&run))
		return;
	t1 = ktime_get_ns();
	allocate_run(b, &run, b->fate + first);
	numaplace_copy_pages(run.dst, run.src, run.npages, b->threads, b->to);
	t2 = ktime_get_ns();
	migrate_vma_pages(&run);
	count_moved(&run, b->fate + first);
	migrate_vma_finalize(&run);
	b->setup_ns += t1 - t0;
	b->copy_ns += t2 - t1;
	b->finish_ns += ktime_get_ns() - t2;
}

/* Moves the open pages, run by run: other pages are not even unmapped. */
static void move_open(struct numaplace_batch *b)
{
	struct vm_area_struct *vma;
	unsigned int i = 0, n, room;
	unsigned long addr;

	lockdep_assert_held(&b->mm->mmap_lock);
	while (i < b->n) {
		if (b->fate[i] != NUMAPLACE_FATE_open) {
			i++;
			continue;
		}
		addr = b->start + ((unsigned long)i << PAGE_SHIFT);
		vma = find_vma(b->mm, addr);
		if (WARN_ON_ONCE(!vma || vma->vm_start > addr))
			return;
		room = min_t(unsigned long, b->n - i, (vma->vm_end - addr) >> PAGE_SHIFT);
		for (n = 1; n < room && b->fate[i + n] == NUMAPLACE_FATE_open; n++)
			;
		move_run(b, vma, i, n);
		i += n;
	}
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

/**
 * numaplace_migrate_next() - find the next pages of a range and look at them
 * @b: the batch to fill; b->n is 0 where only holes were found
 * @pos: where to begin; set to where to go on
 * @end: where the range ends
 * @room: how many pages at most, up to NUMAPLACE_BATCH_PAGES
 *
 * Counts holes that were crossed. Only pages inside mappings are asked for.
 *
 * Return: false at the end of the range.
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
	b->n = 0;
	b->open = 0;
	b->full = false;
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
	numaplace_scan_batch(b, false);
	mmap_read_unlock(b->mm);
	b->open = count_open(b);
	*pos = b->start + ((unsigned long)b->n << PAGE_SHIFT);
	return true;
}

/**
 * numaplace_migrate_batch() - move the pages of a batch that are to be moved
 * @b: the batch, from numaplace_migrate_next()
 *
 * On return every page is counted.
 */
void numaplace_migrate_batch(struct numaplace_batch *b)
{
	unsigned int pass;

	for (pass = 0; b->open && pass <= PASSES; pass++) {
		mmap_read_lock(b->mm);
		numaplace_scan_batch(b, pass == PASSES);
		move_open(b);
		mmap_read_unlock(b->mm);
		b->open = count_open(b);
		cond_resched();
	}
	count_fates(b);
}
