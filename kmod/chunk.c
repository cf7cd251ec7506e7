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
#include "migrate.h"
#include "pace.h"
#include "scan.h"

/* A chunk that would be cut ends after the huge page. */
#define ENTRIES (NUMAPLACE_PACE_CHUNK + PTRS_PER_PMD)

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
	if (READ_ONCE(b->tight))
		gfp &= ~__GFP_DIRECT_RECLAIM;
	folio = __folio_alloc_node(gfp, compound ? HPAGE_PMD_ORDER : 0, b->to);
	if (!folio)
		return 0;
	folio_lock(folio);
	return migrate_pfn(folio_pfn(folio)) | compound;
}

static void copy_entry(unsigned long dst, unsigned long src)
{
	struct page *to = migrate_pfn_to_page(dst), *from = migrate_pfn_to_page(src);
	unsigned int i, n = entry_pages(dst);

	for (i = 0; i < n; i++) {
		copy_highpage(to + i, from + i);
		cond_resched();
	}
}

/* Each page is copied as soon as it is there: most kernels clear it, so that the caches have it. */
static void copy_run(struct numaplace_batch *b, struct migrate_vma *run, u8 *fate)
{
	unsigned long i, n;

	for (i = 0; i < run->npages; i += n) {
		struct page *page = migrate_pfn_to_page(run->src[i]);

		n = entry_pages(run->src[i]);
		if (!page || !(run->src[i] & MIGRATE_PFN_MIGRATE) || !is_ours(b, page))
			continue;
		if (!READ_ONCE(b->full))
			run->dst[i] = new_entry(b, run->src[i]);
		if (run->dst[i]) {
			copy_entry(run->dst[i], run->src[i]);
		} else {
			WRITE_ONCE(b->full, true);
			WRITE_ONCE(b->tight, true);
			memset(fate + i, NUMAPLACE_FATE_no_memory, n);
		}
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
static void move_run(struct numaplace_batch *b, struct numaplace_room *room,
		     struct vm_area_struct *vma, unsigned int first, unsigned int n)
{
	struct migrate_vma run = {
		.vma = vma,
		.start = b->start + ((unsigned long)first << PAGE_SHIFT),
		.end = b->start + ((unsigned long)(first + n) << PAGE_SHIFT),
		.src = room->src,
		.dst = room->dst,
		.flags = MIGRATE_VMA_SELECT_SYSTEM | MIGRATE_VMA_SELECT_COMPOUND,
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

/**
 * numaplace_chunk_move() - look at pages of a batch and move those that are to be moved
 * @b: the batch; the mmap_lock of its mm is held
 * @room: of this thread
 * @first: the first of the pages
 * @n: how many, up to NUMAPLACE_PACE_CHUNK and a huge page
 *
 * Moves run by run: other pages are not even unmapped.
 */
void numaplace_chunk_move(struct numaplace_batch *b, struct numaplace_room *room,
			  unsigned int first, unsigned int n)
{
	unsigned int i = first, end = first + n, length, most;
	struct vm_area_struct *vma;
	unsigned long addr;

	lockdep_assert_held(&b->mm->mmap_lock);
	numaplace_scan_pages(b, first, n, false);
	while (i < end) {
		if (b->fate[i] != NUMAPLACE_FATE_open) {
			i++;
			continue;
		}
		addr = b->start + ((unsigned long)i << PAGE_SHIFT);
		vma = find_vma(b->mm, addr);
		if (WARN_ON_ONCE(!vma || vma->vm_start > addr))
			return;
		most = min_t(unsigned long, end - i, (vma->vm_end - addr) >> PAGE_SHIFT);
		for (length = 1; length < most; length++)
			if (b->fate[i + length] != NUMAPLACE_FATE_open)
				break;
		move_run(b, room, vma, i, length);
		i += length;
	}
}
