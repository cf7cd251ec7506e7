// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "batch.h"
#include "chunk.h"
#include "classify.h"
#include "throttle.h"

/*
 * A chunk that would be cut ends after the huge page. And where another thread empties a page table
 * meanwhile, the kernel may come across a table's entries twice.
 */
#define ENTRIES (NUMAPLACE_CHUNK_MAX + 2 * NUMAPLACE_HUGE_PAGES)

/**
 * numaplace_chunk_init() - allocate what chunks of a batch are moved with
 * @b: all zero but for the request
 *
 * Return: 0 or -ENOMEM; numaplace_chunk_free() is right after either.
 */
int numaplace_chunk_init(struct numaplace_batch *b)
{
	INIT_LIST_HEAD(&b->small.folios);
	INIT_LIST_HEAD(&b->huge.folios);
	b->src = kvmalloc_array(ENTRIES, sizeof(*b->src), GFP_KERNEL);
	b->dst = kvmalloc_array(ENTRIES, sizeof(*b->dst), GFP_KERNEL);
	return b->src && b->dst ? 0 : -ENOMEM;
}

static void give_back(struct numaplace_supply *supply)
{
	struct folio *folio, *next;

	list_for_each_entry_safe(folio, next, &supply->folios, lru) {
		list_del(&folio->lru);
		folio_put(folio);
	}
	supply->n = 0;
}

/**
 * numaplace_chunk_free() - release what numaplace_chunk_init() allocated, and pages that are left
 * @b: the batch
 */
void numaplace_chunk_free(struct numaplace_batch *b)
{
	give_back(&b->small);
	give_back(&b->huge);
	kvfree(b->src);
	kvfree(b->dst);
}

/*
 * Whether a page that is locked and unmapped now is one that may be moved. The kernel's functions
 * stop the machine at one that is being written.
 */
static bool may_move(const struct numaplace_batch *b, struct page *page)
{
	struct folio *folio = page_folio(page);
	int nid = data_race(folio_nid(folio)); /* of its flags, of which others change */

	return !folio_test_writeback(folio) && nid != b->to && node_isset(nid, b->from);
}

/* Whether migrate_vma_pages() moves it: others would be moved behind their owner's back. */
static bool is_private(struct page *page)
{
	return folio_test_anon(page_folio(page));
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

static struct numaplace_supply *supply_of(struct numaplace_batch *b, bool huge)
{
	return huge ? &b->huge : &b->small;
}

/*
 * A page on the target node, or NULL. Never from another node, never by killing. wait: by reclaim
 * and compaction too, until these have failed once.
 */
static struct folio *new_folio(struct numaplace_batch *b, bool huge, bool wait)
{
	gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_THISNODE | __GFP_NOWARN | __GFP_NORETRY;
	struct numaplace_supply *supply = supply_of(b, huge);
	struct folio *folio;

	if (supply->node_full)
		return NULL;
	if (!wait || supply->no_reclaim)
		gfp &= ~__GFP_DIRECT_RECLAIM;
	folio = __folio_alloc_node(gfp, huge ? NUMAPLACE_HUGE_ORDER : 0, b->to);
	if (!folio && !wait && !supply->no_reclaim) {
		supply->ran_out = true;
	} else if (!folio) {
		supply->node_full = true;
		supply->no_reclaim = true;
	}
	return folio;
}

static void fill(struct numaplace_batch *b, unsigned int n, bool huge)
{
	struct numaplace_supply *supply = supply_of(b, huge);
	struct folio *folio;

	for (; supply->n < n && !fatal_signal_pending(current); supply->n++) {
		folio = new_folio(b, huge, true);
		if (!folio)
			break;
		list_add(&folio->lru, &supply->folios);
		cond_resched();
	}
}

/**
 * numaplace_chunk_fill() - allocate the pages that a chunk moves to
 * @b: the batch
 * @n: how many pages it may move
 *
 * While the chunk's pages are unmapped every thread that touches one waits: it does not have to
 * wait for reclaim then. Of which size they are is seen when they are unmapped: those of a size
 * that ran out stay pending, and the next pass has enough.
 */
void numaplace_chunk_fill(struct numaplace_batch *b, unsigned int n)
{
	if (b->has_huge)
		fill(b, DIV_ROUND_UP(n, NUMAPLACE_HUGE_PAGES), true);
	if (!b->has_huge || b->small.ran_out)
		fill(b, n, false);
}

/* One that was allocated before, else one that is free now, or NULL. */
static struct folio *take_folio(struct numaplace_batch *b, bool huge)
{
	struct numaplace_supply *supply = supply_of(b, huge);
	struct folio *folio = list_first_entry_or_null(&supply->folios, struct folio, lru);

	if (!folio)
		return new_folio(b, huge, false);
	list_del(&folio->lru);
	supply->n--;
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

/* The page that an entry moves to, locked, or NULL with *status: why not. */
static struct folio *get_destination(struct numaplace_batch *b, unsigned long src, u8 *status)
{
	struct folio *folio = take_folio(b, is_huge(src));

	*status = NUMAPLACE_PAGE_pending;
	if (folio)
		folio_lock(folio);
	else if (supply_of(b, is_huge(src))->node_full)
		*status = is_huge(src) ? NUMAPLACE_PAGE_no_huge : NUMAPLACE_PAGE_no_memory;
	return folio;
}

static void drop_destination(struct folio *folio)
{
	folio_unlock(folio);
	folio_put(folio);
}

/* Returns the status of an entry's pages; pending: they are copied. */
static u8 copy_entry(struct numaplace_batch *b, unsigned long src, unsigned long *dst)
{
	u8 status;
	struct folio *folio = get_destination(b, src, &status);

	if (!folio)
		return status;
	if (!copy_folio(folio, migrate_pfn_to_page(src), entry_pages(src))) {
		drop_destination(folio);
		return NUMAPLACE_PAGE_busy;
	}
	*dst = migrate_pfn(folio_pfn(folio)) | (src & MIGRATE_PFN_COMPOUND);
	return NUMAPLACE_PAGE_pending;
}

static void copy_run(struct numaplace_batch *b, struct migrate_vma *run, u8 *status)
{
	unsigned long i, n;

	for (i = 0; i < run->npages; i += n) {
		struct page *page = migrate_pfn_to_page(run->src[i]);

		n = entry_pages(run->src[i]);
		if (page && (run->src[i] & MIGRATE_PFN_MIGRATE) && is_private(page) &&
		    may_move(b, page))
			memset(status + i, copy_entry(b, run->src[i], &run->dst[i]), n);
	}
}

/*
 * The step of migrate_vma_pages() for a page of a file or of shared memory: its address space's own
 * operation keeps what belongs to it. Without waiting for a disk: threads that touch the page wait
 * for it. Returns the page's status; pending: it could not be moved now.
 */
static u8 move_by_mapping(struct numaplace_batch *b, struct page *page, unsigned long *src,
			  unsigned long *dst)
{
	struct folio *from = page_folio(page), *to;
	struct address_space *mapping = folio_mapping(from);
	u8 status;

	if (folio_test_large(from) || !mapping)
		return NUMAPLACE_PAGE_pending;
	if (!numaplace_classify_can_move(mapping))
		return NUMAPLACE_PAGE_file;
	to = get_destination(b, *src, &status);
	if (!to)
		return status;
	if (mapping->a_ops->migrate_folio(mapping, to, from, MIGRATE_ASYNC)) {
		drop_destination(to);
		return NUMAPLACE_PAGE_pending;
	}
	from->mapping = NULL; /* or its release is taken for that of a page in use */
	*dst = migrate_pfn(folio_pfn(to));
	*src |= MIGRATE_PFN_MIGRATE; /* which migrate_vma_pages() has taken for refused */
	return NUMAPLACE_PAGE_pending;
}

static void move_run_by_mapping(struct numaplace_batch *b, struct migrate_vma *run, u8 *status)
{
	unsigned long i;

	for (i = 0; i < run->npages; i++) {
		struct page *page = migrate_pfn_to_page(run->src[i]);

		if (page && !is_private(page) && may_move(b, page))
			status[i] = move_by_mapping(b, page, &run->src[i], &run->dst[i]);
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
static void move_run(struct numaplace_batch *b, struct vm_area_struct *vma, unsigned int first,
		     unsigned int n, unsigned long select)
{
	struct migrate_vma run = {
		.vma = vma,
		.start = b->start + ((unsigned long)first << PAGE_SHIFT),
		.end = b->start + ((unsigned long)(first + n) << PAGE_SHIFT),
		.src = b->src,
		.dst = b->dst,
		.flags = MIGRATE_VMA_SELECT_SYSTEM | select,
	};
	u64 begun = ktime_get_ns(), unmapped, copied, ended;

	if (migrate_vma_setup(&run))
		return;
	unmapped = ktime_get_ns();
	copied = unmapped;
	if (!WARN_ON_ONCE(run.npages > n)) {
		copy_run(b, &run, b->status + first);
		copied = ktime_get_ns();
		migrate_vma_pages(&run);
		move_run_by_mapping(b, &run, b->status + first);
		count_moved(&run, b->status + first);
	}
	migrate_vma_finalize(&run);
	ended = ktime_get_ns();
	b->setup_ns += unmapped - begun;
	b->copy_ns += copied - unmapped;
	b->finish_ns += ended - copied;
	b->unmapped_ns = max(b->unmapped_ns, ended - begun);
}

/*
 * Moves those of the pages first .. end - 1 that have this status, run by run: others are not even
 * unmapped.
 */
static void move_runs(struct numaplace_batch *b, unsigned int first, unsigned int end, u8 status,
		      unsigned long select)
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
		move_run(b, vma, i, length, select);
		i += length;
	}
}

/*
 * For a page that is on no LRU list the kernel drains the lists of all CPUs and waits for each:
 * here with that page alone unmapped. Those that still are on none, as somebody else has isolated
 * them, are for later.
 */
static void list_pages(struct numaplace_batch *b, unsigned int first, unsigned int n)
{
	unsigned int one = numaplace_classify_rename(b, first, n, NUMAPLACE_PAGE_unlisted,
						     NUMAPLACE_PAGE_later);

	if (one == first + n)
		return;
	move_runs(b, one, one + 1, NUMAPLACE_PAGE_later, 0);
	numaplace_classify_rename(b, first, n, NUMAPLACE_PAGE_later, NUMAPLACE_PAGE_pending);
	numaplace_classify_pages(b, first, n, false);
	numaplace_classify_rename(b, first, n, NUMAPLACE_PAGE_unlisted, NUMAPLACE_PAGE_later);
}

/**
 * numaplace_chunk_move() - classify pages of a batch and move those that are to be moved
 * @b: the batch; the mmap_lock of its mm is held
 * @first: the first of the pages
 * @n: how many, up to NUMAPLACE_CHUNK_MAX and a huge page
 */
void numaplace_chunk_move(struct numaplace_batch *b, unsigned int first, unsigned int n)
{
	lockdep_assert_held(&b->mm->mmap_lock);
	numaplace_classify_pages(b, first, n, false);
	list_pages(b, first, n);
	move_runs(b, first, first + n, NUMAPLACE_PAGE_pending, MIGRATE_VMA_SELECT_COMPOUND);
	/* The node has no huge page for these, and may have small ones. */
	if (b->split)
		move_runs(b, first, first + n, NUMAPLACE_PAGE_no_huge, 0);
	numaplace_classify_rename(b, first, n, NUMAPLACE_PAGE_later, NUMAPLACE_PAGE_pending);
}
