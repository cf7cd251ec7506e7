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

#include "batch.h"
#include "chunk.h"
#include "classify.h"
#include "throttle.h"

/* A chunk that would be cut ends after the huge page. */
#define ENTRIES (NUMAPLACE_CHUNK_MAX + NUMAPLACE_HUGE_PAGES)

/**
 * numaplace_chunk_init() - allocate the buffers of a thread
 * @buf: all zero
 *
 * Return: 0 or -ENOMEM; numaplace_chunk_free() is right after either.
 */
int numaplace_chunk_init(struct numaplace_migrate_buf *buf)
{
	INIT_LIST_HEAD(&buf->small);
	INIT_LIST_HEAD(&buf->huge);
	buf->src = kvmalloc_array(ENTRIES, sizeof(*buf->src), GFP_KERNEL);
	buf->dst = kvmalloc_array(ENTRIES, sizeof(*buf->dst), GFP_KERNEL);
	return buf->src && buf->dst ? 0 : -ENOMEM;
}

/**
 * numaplace_chunk_free() - release the buffers of a thread
 * @buf: from numaplace_chunk_init(), or all zero
 */
void numaplace_chunk_free(struct numaplace_migrate_buf *buf)
{
	kvfree(buf->src);
	kvfree(buf->dst);
}

/* Whether a page that is locked and unmapped now is one that may be moved. */
static bool may_move(const struct numaplace_batch *b, struct page *page)
{
	struct folio *folio = page_folio(page);
	int nid = data_race(folio_nid(folio)); /* of its flags, of which others change */

	/*
	 * A page of a file would be moved behind its file system's back, and
	 * migrate_vma_pages() stops the machine at one that is being written.
	 */
	return folio_test_anon(folio) && !folio_test_ksm(folio) && !folio_test_writeback(folio) &&
	       nid != b->to && node_isset(nid, b->from);
}

static bool is_huge(unsigned long entry)
{
	return entry & MIGRATE_PFN_COMPOUND;
}

/* How many pages an entry stands for; a compound entry stands for all pages of its folio. */
static unsigned int entry_pages(unsigned long entry)
{
	return is_huge(entry) ? NUMAPLACE_HUGE_PAGES : 1;
}

/*
 * A page on the target node, or NULL. Never from another node, never by killing. wait: by reclaim
 * and compaction too, until these have failed once.
 */
static struct folio *new_folio(struct numaplace_batch *b, unsigned int order, bool wait)
{
	gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_THISNODE | __GFP_NOWARN | __GFP_NORETRY;
	struct numaplace_supply *supply = order ? &b->huge : &b->small;
	struct folio *folio;

	if (READ_ONCE(supply->node_full))
		return NULL;
	if (!wait || READ_ONCE(supply->no_reclaim))
		gfp &= ~__GFP_DIRECT_RECLAIM;
	folio = __folio_alloc_node(gfp, order, b->to);
	if (!folio && !wait && !READ_ONCE(supply->no_reclaim)) {
		WRITE_ONCE(supply->ran_out, true);
	} else if (!folio) {
		WRITE_ONCE(supply->node_full, true);
		WRITE_ONCE(supply->no_reclaim, true);
	}
	return folio;
}

static void fill(struct numaplace_batch *b, struct list_head *list, unsigned int *has,
		 unsigned int n, unsigned int order)
{
	struct folio *folio;

	for (; *has < n && !READ_ONCE(*b->cancelled); ++*has) {
		folio = new_folio(b, order, true);
		if (!folio)
			break;
		list_add(&folio->lru, list);
		cond_resched();
	}
}

/**
 * numaplace_chunk_fill() - allocate the pages that a chunk moves to
 * @b: the batch
 * @buf: of this thread
 * @n: how many pages it may move
 *
 * While the chunk's pages are unmapped every thread that touches one waits: it does not have to
 * wait for reclaim then. Of which size they are is seen when they are unmapped: those of a size
 * that ran out stay pending, and the next pass has enough.
 */
void numaplace_chunk_fill(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
			  unsigned int n)
{
	unsigned int huge = n / NUMAPLACE_HUGE_PAGES + READ_ONCE(b->huge.ran_out);

	if (READ_ONCE(b->has_huge))
		fill(b, &buf->huge, &buf->n_huge, huge, NUMAPLACE_HUGE_ORDER);
	if (!READ_ONCE(b->has_huge) || READ_ONCE(b->small.ran_out))
		fill(b, &buf->small, &buf->n_small, n, 0);
}

static void give_back(struct list_head *list, unsigned int *has)
{
	struct folio *folio, *next;

	list_for_each_entry_safe(folio, next, list, lru) {
		list_del(&folio->lru);
		folio_put(folio);
	}
	*has = 0;
}

/**
 * numaplace_chunk_drain() - give back pages that were allocated and not used
 * @buf: of this thread
 */
void numaplace_chunk_drain(struct numaplace_migrate_buf *buf)
{
	give_back(&buf->small, &buf->n_small);
	give_back(&buf->huge, &buf->n_huge);
}

/* One that was allocated before, else one that is free now, or NULL. */
static struct folio *take_folio(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
				unsigned int order)
{
	struct list_head *list = order ? &buf->huge : &buf->small;
	struct folio *folio = list_first_entry_or_null(list, struct folio, lru);

	if (!folio)
		return new_folio(b, order, false);
	list_del(&folio->lru);
	--*(order ? &buf->n_huge : &buf->n_small);
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

/* Returns the status of an entry's pages; pending: they are copied. */
static u8 copy_entry(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
		     unsigned long src, unsigned long *dst)
{
	struct folio *folio = take_folio(b, buf, is_huge(src) ? NUMAPLACE_HUGE_ORDER : 0);
	const struct numaplace_supply *supply = is_huge(src) ? &b->huge : &b->small;

	if (!folio && !READ_ONCE(supply->node_full))
		return NUMAPLACE_PAGE_pending;
	if (!folio)
		return is_huge(src) ? NUMAPLACE_PAGE_no_huge : NUMAPLACE_PAGE_no_memory;
	if (!copy_folio(folio, migrate_pfn_to_page(src), entry_pages(src))) {
		folio_put(folio);
		return NUMAPLACE_PAGE_busy;
	}
	folio_lock(folio);
	*dst = migrate_pfn(folio_pfn(folio)) | (src & MIGRATE_PFN_COMPOUND);
	return NUMAPLACE_PAGE_pending;
}

static void copy_run(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
		     struct migrate_vma *run, u8 *status)
{
	unsigned long i, n;

	for (i = 0; i < run->npages; i += n) {
		struct page *page = migrate_pfn_to_page(run->src[i]);

		n = entry_pages(run->src[i]);
		if (page && (run->src[i] & MIGRATE_PFN_MIGRATE) && may_move(b, page))
			memset(status + i, copy_entry(b, buf, run->src[i], &run->dst[i]), n);
	}
}

static void count_moved(const struct migrate_vma *run, u8 *status)
{
	unsigned long i, n;

	for (i = 0; i < run->npages; i += n) {
		n = entry_pages(run->dst[i]);
		if (run->dst[i] && (run->src[i] & MIGRATE_PFN_MIGRATE))
			memset(status + i, NUMAPLACE_PAGE_moved, n);
	}
}

/*
 * Moves pages first .. first + n - 1 of the batch, all in one mapping. A huge
 * page moves whole if it is selected and the kernel supports that, else it is split.
 */
static void move_run(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
		     struct vm_area_struct *vma, unsigned int first, unsigned int n,
		     unsigned long select)
{
	struct migrate_vma run = {
		.vma = vma,
		.start = b->start + ((unsigned long)first << PAGE_SHIFT),
		.end = b->start + ((unsigned long)(first + n) << PAGE_SHIFT),
		.src = buf->src,
		.dst = buf->dst,
		.flags = MIGRATE_VMA_SELECT_SYSTEM | select,
	};
	u64 t0 = ktime_get_ns(), t1, t2;

	if (migrate_vma_setup(&run))
		return;
	t1 = ktime_get_ns();
	copy_run(b, buf, &run, b->status + first);
	t2 = ktime_get_ns();
	migrate_vma_pages(&run);
	count_moved(&run, b->status + first);
	migrate_vma_finalize(&run);
	buf->setup_ns += t1 - t0;
	buf->copy_ns += t2 - t1;
	buf->finish_ns += ktime_get_ns() - t2;
}

/*
 * Moves those of the pages first .. end - 1 that have this status, run by run: others are not even
 * unmapped.
 */
static void move_runs(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
		      unsigned int first, unsigned int end, u8 status, unsigned long select)
{
	unsigned int i = first, length, most;
	struct vm_area_struct *vma;
	unsigned long addr;

	while (i < end) {
		if (b->status[i] != status) {
			i++;
			continue;
		}
		addr = b->start + ((unsigned long)i << PAGE_SHIFT);
		vma = find_vma(b->mm, addr);
		if (WARN_ON_ONCE(!vma || vma->vm_start > addr))
			return;
		most = min_t(unsigned long, end - i, (vma->vm_end - addr) >> PAGE_SHIFT);
		for (length = 1; length < most; length++)
			if (b->status[i + length] != status)
				break;
		memset(b->status + i, NUMAPLACE_PAGE_pending, length);
		move_run(b, buf, vma, i, length, select);
		i += length;
	}
}

/**
 * numaplace_chunk_move() - classify pages of a batch and move those that are to be moved
 * @b: the batch; the mmap_lock of its mm is held
 * @buf: of this thread
 * @first: the first of the pages
 * @n: how many, up to NUMAPLACE_CHUNK_MAX and a huge page
 */
void numaplace_chunk_move(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
			  unsigned int first, unsigned int n)
{
	unsigned int unlisted;

	lockdep_assert_held(&b->mm->mmap_lock);
	unlisted = numaplace_classify_pages(b, first, n, false);
	/* The kernel drains the lists of all CPUs and waits for each: with one page unmapped. */
	if (unlisted < first + n)
		move_runs(b, buf, unlisted, unlisted + 1, NUMAPLACE_PAGE_pending, 0);
	move_runs(b, buf, first, first + n, NUMAPLACE_PAGE_pending, MIGRATE_VMA_SELECT_COMPOUND);
	/* The node has no huge page for these, and may have small ones. */
	if (b->split)
		move_runs(b, buf, first, first + n, NUMAPLACE_PAGE_no_huge, 0);
}
