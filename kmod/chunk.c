// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/ksm.h>
#include <linux/ktime.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "chunk.h"
#include "classify.h"
#include "migrate.h"
#include "throttle.h"

/* A chunk that would be cut ends after the huge page. */
#define ENTRIES (NUMAPLACE_PACE_CHUNK + NUMAPLACE_HUGE_PAGES)

/**
 * numaplace_chunk_init() - get what a thread needs
 * @room: all zero
 *
 * Return: 0 or -ENOMEM; numaplace_chunk_free() is right after either.
 */
int numaplace_chunk_init(struct numaplace_room *room)
{
	room->src = kvmalloc_array(ENTRIES, sizeof(*room->src), GFP_KERNEL);
	room->dst = kvmalloc_array(ENTRIES, sizeof(*room->dst), GFP_KERNEL);
	return room->src && room->dst ? 0 : -ENOMEM;
}

/**
 * numaplace_chunk_free() - release what a thread needed
 * @room: from numaplace_chunk_init(), or all zero
 */
void numaplace_chunk_free(struct numaplace_room *room)
{
	kvfree(room->src);
	kvfree(room->dst);
}

/* Whether a page that is locked and unmapped now is one that may be moved. */
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

static bool is_huge(unsigned long entry)
{
	return entry & MIGRATE_PFN_COMPOUND;
}

/* How many pages an entry stands for; a compound one is the only one of its pages. */
static unsigned int entry_pages(unsigned long entry)
{
	return is_huge(entry) ? NUMAPLACE_HUGE_PAGES : 1;
}

/* A page on the target node, or NULL. Never from another node, never by killing. */
static struct folio *new_folio(struct numaplace_batch *b, unsigned int order)
{
	gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_THISNODE | __GFP_NOWARN | __GFP_NORETRY;
	struct numaplace_supply *supply = order ? &b->huge : &b->small;
	struct folio *folio;

	if (READ_ONCE(supply->full))
		return NULL;
	/* Reclaim that has failed takes seconds to fail again, while the task's pages are unmapped. */
	if (READ_ONCE(supply->tight))
		gfp &= ~__GFP_DIRECT_RECLAIM;
	folio = __folio_alloc_node(gfp, order, b->to);
	if (!folio) {
		WRITE_ONCE(supply->full, true);
		WRITE_ONCE(supply->tight, true);
	}
	return folio;
}

/* Whether all was copied: of memory with an error that cannot be corrected it is not. */
static bool copy_folio(struct folio *to, struct page *from, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (copy_mc_highpage(folio_page(to, i), from + i))
			return false;
		cond_resched();
	}
	return true;
}

/* What becomes of an entry's pages if nothing else comes between; open: they are copied. */
static u8 copy_entry(struct numaplace_batch *b, unsigned long src, unsigned long *dst)
{
	struct folio *folio = new_folio(b, is_huge(src) ? NUMAPLACE_HUGE_ORDER : 0);

	if (!folio)
		return is_huge(src) ? NUMAPLACE_FATE_no_huge : NUMAPLACE_FATE_no_memory;
	if (!copy_folio(folio, migrate_pfn_to_page(src), entry_pages(src))) {
		folio_put(folio);
		return NUMAPLACE_FATE_busy;
	}
	folio_lock(folio);
	*dst = migrate_pfn(folio_pfn(folio)) | (src & MIGRATE_PFN_COMPOUND);
	return NUMAPLACE_FATE_open;
}

/* Each page is copied as soon as it is there: most kernels clear it, so that the caches have it. */
static void copy_run(struct numaplace_batch *b, struct migrate_vma *run, u8 *fate)
{
	unsigned long i, n;

	for (i = 0; i < run->npages; i += n) {
		struct page *page = migrate_pfn_to_page(run->src[i]);

		n = entry_pages(run->src[i]);
		if (page && (run->src[i] & MIGRATE_PFN_MIGRATE) && is_ours(b, page))
			memset(fate + i, copy_entry(b, run->src[i], &run->dst[i]), n);
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

/*
 * Moves pages first .. first + n - 1 of the batch, all in one mapping. What is
 * huge moves whole if it is selected and the kernel can, else it is split.
 */
static void move_run(struct numaplace_batch *b, struct numaplace_room *room,
		     struct vm_area_struct *vma, unsigned int first, unsigned int n,
		     unsigned long select)
{
	struct migrate_vma run = {
		.vma = vma,
		.start = b->start + ((unsigned long)first << PAGE_SHIFT),
		.end = b->start + ((unsigned long)(first + n) << PAGE_SHIFT),
		.src = room->src,
		.dst = room->dst,
		.flags = MIGRATE_VMA_SELECT_SYSTEM | select,
	};
	u64 t0 = ktime_get_ns(), t1, t2;

	if (migrate_vma_setup(&run))
		return;
	t1 = ktime_get_ns();
	copy_run(b, &run, b->fate + first);
	t2 = ktime_get_ns();
	migrate_vma_pages(&run);
	count_moved(&run, b->fate + first);
	migrate_vma_finalize(&run);
	room->setup_ns += t1 - t0;
	room->copy_ns += t2 - t1;
	room->finish_ns += ktime_get_ns() - t2;
}

/* Moves those of the pages first .. end - 1 that have this fate, run by run: others are not even unmapped. */
static void move_those(struct numaplace_batch *b, struct numaplace_room *room, unsigned int first,
		       unsigned int end, u8 fate, unsigned long select)
{
	unsigned int i = first, length, most;
	struct vm_area_struct *vma;
	unsigned long addr;

	while (i < end) {
		if (b->fate[i] != fate) {
			i++;
			continue;
		}
		addr = b->start + ((unsigned long)i << PAGE_SHIFT);
		vma = find_vma(b->mm, addr);
		if (WARN_ON_ONCE(!vma || vma->vm_start > addr))
			return;
		most = min_t(unsigned long, end - i, (vma->vm_end - addr) >> PAGE_SHIFT);
		for (length = 1; length < most; length++)
			if (b->fate[i + length] != fate)
				break;
		memset(b->fate + i, NUMAPLACE_FATE_open, length);
		move_run(b, room, vma, i, length, select);
		i += length;
	}
}

/**
 * numaplace_chunk_move() - look at pages of a batch and move those that are to be moved
 * @b: the batch; the mmap_lock of its mm is held
 * @room: of this thread
 * @first: the first of the pages
 * @n: how many, up to NUMAPLACE_PACE_CHUNK and a huge page
 */
void numaplace_chunk_move(struct numaplace_batch *b, struct numaplace_room *room,
			  unsigned int first, unsigned int n)
{
	lockdep_assert_held(&b->mm->mmap_lock);
	numaplace_scan_pages(b, first, n, false);
	move_those(b, room, first, first + n, NUMAPLACE_FATE_open, MIGRATE_VMA_SELECT_COMPOUND);
	/* Huge pages for which the node has none, though it may have small ones. */
	if (b->split)
		move_those(b, room, first, first + n, NUMAPLACE_FATE_no_huge, 0);
}
