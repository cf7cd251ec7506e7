// SPDX-License-Identifier: GPL-2.0-only
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/ksm.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>

#include "batch.h"
#include "classify.h"

/* Page-table entries crossed with the mmap_lock held: 8 GiB where all tables are there. */
#define SKIP_TABLES 4096

/*
 * The table of pmds that covers addr, or NULL. *next is where the level that
 * is missing ends, so that huge holes are crossed in large steps.
 */
static pmd_t *pmd_at(struct mm_struct *mm, unsigned long addr, unsigned long end,
		     unsigned long *next)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	*next = pgd_addr_end(addr, end);
	if (pgd_none(*pgd) || unlikely(pgd_bad(*pgd)))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	*next = p4d_addr_end(addr, end);
	if (p4d_none(*p4d) || unlikely(p4d_bad(*p4d)))
		return NULL;
	pud = pud_offset(p4d, addr);
	*next = pud_addr_end(addr, end);
	/* A leaf here belongs to hugetlb or a device: those are not walked. */
	if (pud_none(*pud) || unlikely(pud_bad(*pud)))
		return NULL;
	*next = pmd_addr_end(addr, end);
	return pmd_offset(pud, addr);
}

/**
 * numaplace_classify_skip() - cross a hole in the page tables
 * @mm: the address space; its mmap_lock is held
 * @addr: where to begin, inside a mapping
 * @end: where to stop, in the same mapping
 *
 * Return: the first address that may have a page, @end, or, after so many tables
 * that the lock should be dropped for a moment, an address in the hole.
 */
unsigned long numaplace_classify_skip(struct mm_struct *mm, unsigned long addr, unsigned long end)
{
	unsigned int tables = SKIP_TABLES;
	unsigned long next;
	pmd_t *pmd;

	lockdep_assert_held(&mm->mmap_lock);
	for (; addr < end && tables--; addr = next) {
		pmd = pmd_at(mm, addr, end, &next);
		if (pmd && !pmd_none(pmdp_get_lockless(pmd)))
			break;
	}
	return addr;
}

/**
 * numaplace_classify_cut() - where a batch may be cut without cutting a huge page
 * @mm: the address space; its mmap_lock is held
 * @addr: where it would be cut
 * @end: where the mapping or the range ends
 *
 * Return: @addr, or the end of the huge page around it.
 */
unsigned long numaplace_classify_cut(struct mm_struct *mm, unsigned long addr, unsigned long end)
{
	unsigned long next;
	pmd_t *pmd;

	lockdep_assert_held(&mm->mmap_lock);
	if (IS_ALIGNED(addr, PMD_SIZE) || addr >= end)
		return min(addr, end);
	pmd = pmd_at(mm, addr, end, &next);
	return pmd && pmd_trans_huge(pmdp_get_lockless(pmd)) ? next : addr;
}

/**
 * numaplace_classify_can_move() - whether pages of an address space can be moved by its owner
 * @mapping: of a file or of shared memory
 *
 * Secret memory and that of guests which the host may not read are not to be copied.
 */
bool numaplace_classify_can_move(const struct address_space *mapping)
{
	return mapping->a_ops->migrate_folio && !numaplace_compat_is_inaccessible(mapping) &&
	       mapping->host && mapping->host->i_sb->s_magic != SECRETMEM_MAGIC;
}

/* Whether there are more references than mappings, caches and LRU list account for. */
static bool has_extra_reference(struct folio *folio, int mapped)
{
	/* Off the LRU list it may wait in a CPU's list to get there, which holds it. */
	int known = mapped + !folio_test_lru(folio) +
		    (folio_test_anon(folio) ? folio_test_swapcache(folio) :
					      1 + folio_test_private(folio));

	return folio_ref_count(folio) > known;
}

/* How a page is mapped: by a pte, by a pmd of which the batch has a part, or all. */
enum mapping { BY_PTE, BY_PART_OF_PMD, BY_PMD };

/*
 * Whether an anonymous page is that of several address spaces. The kernel brings back what was
 * unmapped by the page's reverse map. That of a page which ksmd merges lacks mappings: those that
 * ksmd has not noted yet, and those that are not to be merged. A thread stops the machine at one
 * that was not brought back. A page that may get other mappings meanwhile may be merged in them.
 */
static bool is_of_several(struct folio *folio, struct page *page, bool is_mapped_twice)
{
	return is_mapped_twice || folio_test_ksm(folio) ||
	       (folio_test_swapcache(folio) && !PageAnonExclusive(page));
}

/* Whether ksmd may merge the page meanwhile: it does so with the mmap_lock held for reading. */
static bool may_merge(struct numaplace_batch *b, const struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MERGEABLE))
		return false;
	b->mergeable = true;
	return !b->is_write_locked;
}

static u8 status_of_large(struct numaplace_batch *b, const struct vm_area_struct *vma,
			  struct page *page, enum mapping how, bool last)
{
	struct folio *folio = page_folio(page);
	bool can_move = how != BY_PTE && folio_test_anon(folio) &&
			(b->split || (NUMAPLACE_MOVES_WHOLE && how == BY_PMD));

	if (!can_move)
		return NUMAPLACE_PAGE_thp_split;
	if (is_of_several(folio, page, numaplace_compat_is_shared(folio)))
		return NUMAPLACE_PAGE_shared;
	if (folio_maybe_dma_pinned(folio))
		return NUMAPLACE_PAGE_pinned;
	if (!last)
		return may_merge(b, vma) ? NUMAPLACE_PAGE_later : NUMAPLACE_PAGE_pending;
	return NUMAPLACE_MOVES_WHOLE ? NUMAPLACE_PAGE_busy : NUMAPLACE_PAGE_thp_split;
}

static u8 status_of_small(struct numaplace_batch *b, const struct vm_area_struct *vma,
			  struct page *page, bool last)
{
	struct folio *folio = page_folio(page);
	int mapped = atomic_read(&folio->_mapcount) + 1;

	if (folio_test_anon(folio) ? is_of_several(folio, page, mapped > 1) :
				     mapped > 1 && !b->shared)
		return NUMAPLACE_PAGE_shared;
	/* A page that a thousand processes map has as many references as one that is pinned. */
	if (folio_maybe_dma_pinned(folio) && has_extra_reference(folio, mapped))
		return NUMAPLACE_PAGE_pinned;
	if (!last && folio_test_writeback(folio)) {
		b->written = true;
		return NUMAPLACE_PAGE_later;
	}
	if (!last && folio_test_anon(folio) && may_merge(b, vma))
		return NUMAPLACE_PAGE_later;
	if (!last)
		return folio_test_lru(folio) ? NUMAPLACE_PAGE_pending : NUMAPLACE_PAGE_unlisted;
	return has_extra_reference(folio, mapped) ? NUMAPLACE_PAGE_pinned : NUMAPLACE_PAGE_busy;
}

/* By the file: the page may just be dropped from it. Shared anonymous memory has one as well. */
static bool is_file_movable(const struct numaplace_batch *b, const struct vm_area_struct *vma)
{
	return b->files && vma->vm_file && numaplace_classify_can_move(vma->vm_file->f_mapping);
}

/* The page is mapped and the lock of its page table held, so it stays. */
static u8 status_of_page(struct numaplace_batch *b, struct vm_area_struct *vma, struct page *page,
			 enum mapping how, bool last)
{
	struct folio *folio = page_folio(page);
	int nid = data_race(folio_nid(folio)); /* of its flags, of which others change */
	bool is_device = data_race(is_zone_device_page(page)); /* the same */
	bool was_locked = folio_test_locked(folio);
	u8 status;

	/* Not a file's and not a program's own: the huge zero page. */
	if (how != BY_PTE && !folio_test_anon(folio) && vma_is_anonymous(vma))
		return NUMAPLACE_PAGE_absent;
	if (nid == b->to)
		return NUMAPLACE_PAGE_already;
	if (!node_isset(nid, b->from))
		return NUMAPLACE_PAGE_not_asked;
	if (is_device || (!folio_test_anon(folio) && !is_file_movable(b, vma)))
		return NUMAPLACE_PAGE_file;
	/* Whoever moves it holds its lock, and has taken mappings away: looked at before */
	smp_rmb();
	status = folio_test_large(folio) ? status_of_large(b, vma, page, how, last) :
					   status_of_small(b, vma, page, last);
	/* and after they are counted, in this order. */
	smp_rmb();
	if ((status == NUMAPLACE_PAGE_pending || status == NUMAPLACE_PAGE_unlisted) &&
	    (was_locked || folio_test_locked(folio)))
		return NUMAPLACE_PAGE_later;
	return status;
}

static u8 status_of_pte(struct numaplace_batch *b, struct vm_area_struct *vma, pte_t pte, bool last)
{
	if (pte_none(pte))
		return NUMAPLACE_PAGE_absent;
	if (!pte_present(pte)) {
		/* Swapped out, or on its way to another place just now. */
		if (!numaplace_compat_is_migrating(pte))
			return NUMAPLACE_PAGE_absent;
		return last ? NUMAPLACE_PAGE_busy : NUMAPLACE_PAGE_later;
	}
	if (is_zero_pfn(pte_pfn(pte)))
		return NUMAPLACE_PAGE_absent;
	if (pte_special(pte))
		return NUMAPLACE_PAGE_file;
	return status_of_page(b, vma, pte_page(pte), BY_PTE, last);
}

static void set_status(struct numaplace_batch *b, unsigned long addr, unsigned long end, u8 status)
{
	unsigned int i = (addr - b->start) >> PAGE_SHIFT;
	unsigned int past = (end - b->start) >> PAGE_SHIFT;

	for (; i < past; i++)
		if (b->status[i] == NUMAPLACE_PAGE_pending)
			b->status[i] = status;
}

static void classify_huge(struct numaplace_batch *b, struct vm_area_struct *vma, pmd_t *pmd,
			  unsigned long addr, unsigned long end, bool last)
{
	enum mapping how = end - addr == PMD_SIZE ? BY_PMD : BY_PART_OF_PMD;
	u8 status = last ? NUMAPLACE_PAGE_busy : NUMAPLACE_PAGE_later;
	spinlock_t *ptl = pmd_lock(b->mm, pmd);

	/* Otherwise it is on the move, or has changed: the next pass classifies it again. */
	if (pmd_trans_huge(*pmd) && pmd_present(*pmd))
		status = status_of_page(b, vma, pmd_page(*pmd), how, last);
	spin_unlock(ptl);
	if (NUMAPLACE_MOVES_WHOLE && how == BY_PMD && status == NUMAPLACE_PAGE_pending)
		b->has_huge = true;
	set_status(b, addr, end, status);
}

/*
 * pte_offset_map_lock() is not exported to modules. The same by hand: the table
 * may be taken away (by khugepaged, or an emptied one) until its lock is held
 * and the pmd is seen to point to it still. The caller is in the RCU read-side
 * section in which it has read pmdval, which keeps the table's memory until then.
 */
static void classify_table(struct numaplace_batch *b, struct vm_area_struct *vma, pmd_t *pmd,
			   pmd_t pmdval, unsigned long addr, unsigned long end, bool last)
{
	unsigned int i = (addr - b->start) >> PAGE_SHIFT;
	spinlock_t *ptl; /* of the page table */
	pte_t *pte;

	pte = pte_offset_kernel(&pmdval, addr);
	ptl = pte_lockptr(b->mm, &pmdval);
	spin_lock(ptl);
	if (likely(pmd_same(pmdval, pmdp_get_lockless(pmd)))) {
		for (; addr < end; addr += PAGE_SIZE, pte++, i++)
			if (b->status[i] == NUMAPLACE_PAGE_pending)
				b->status[i] = status_of_pte(b, vma, ptep_get(pte), last);
	} else if (last) {
		set_status(b, addr, end, NUMAPLACE_PAGE_busy);
	}
	spin_unlock(ptl);
}

static void classify_mapping(struct numaplace_batch *b, struct vm_area_struct *vma,
			     unsigned long addr, unsigned long end, bool last)
{
	unsigned long next;
	pmd_t *pmd, pmdval;

	for (; addr < end; addr = next) {
		pmd = pmd_at(b->mm, addr, end, &next);
		rcu_read_lock();
		pmdval = pmd ? pmdp_get_lockless(pmd) : __pmd(0);
		if (pmd_none(pmdval))
			set_status(b, addr, next, NUMAPLACE_PAGE_absent);
		else if (!pmd_present(pmdval) || pmd_trans_huge(pmdval))
			classify_huge(b, vma, pmd, addr, next, last);
		else if (unlikely(pmd_bad(pmdval)))
			set_status(b, addr, next, NUMAPLACE_PAGE_busy);
		else
			classify_table(b, vma, pmd, pmdval, addr, next, last);
		rcu_read_unlock();
	}
}

/**
 * numaplace_classify_rename() - give pages of a batch that have one status another
 * @b: the batch
 * @first: the first of the pages
 * @n: how many
 * @from: the status that they have
 * @to: the status that they get
 *
 * Return: the first such page, @first + @n if there is none.
 */
unsigned int numaplace_classify_rename(struct numaplace_batch *b, unsigned int first,
				       unsigned int n, u8 from, u8 to)
{
	unsigned int i, found = first + n;

	for (i = first; i < first + n; i++) {
		if (b->status[i] != from)
			continue;
		b->status[i] = to;
		found = min(found, i);
	}
	return found;
}

/**
 * numaplace_classify_pages() - set the status of pending pages of a batch
 * @b: the batch; the mmap_lock of its mm is held
 * @first: the first of the pages
 * @n: how many
 * @last: leave none to be moved: what would be is busy or pinned
 *
 * Those that would be moved, but not now, get NUMAPLACE_PAGE_unlisted or NUMAPLACE_PAGE_later.
 */
void numaplace_classify_pages(struct numaplace_batch *b, unsigned int first, unsigned int n,
			      bool last)
{
	unsigned long addr = b->start + ((unsigned long)first << PAGE_SHIFT);
	unsigned long end = addr + ((unsigned long)n << PAGE_SHIFT), next;
	struct vm_area_struct *vma;

	lockdep_assert_held(&b->mm->mmap_lock);
	for (; addr < end; addr = next) {
		vma = find_vma(b->mm, addr);
		if (!vma || vma->vm_start > addr) {
			next = vma ? min(vma->vm_start, end) : end;
			set_status(b, addr, next, NUMAPLACE_PAGE_absent);
			continue;
		}
		next = min(vma->vm_end, end);
		if (is_vm_hugetlb_page(vma))
			set_status(b, addr, next, NUMAPLACE_PAGE_hugetlb);
		else if (vma->vm_flags & VM_SPECIAL || vma_is_dax(vma))
			set_status(b, addr, next, NUMAPLACE_PAGE_file);
		else
			classify_mapping(b, vma, addr, next, last);
	}
}
