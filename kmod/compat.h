/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the supported kernels. Included before everything
 * else. The rest of the module is written for the newest of them.
 */
#ifndef _NUMAPLACE_COMPAT_H
#define _NUMAPLACE_COMPAT_H

#include <linux/version.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "numaplace needs Linux 6.1 or newer"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
/* Only for 64 bits, where a pmd is read in one go. */
static inline pmd_t numaplace_compat_pmdp_get_lockless(pmd_t *pmdp)
{
	return READ_ONCE(*pmdp);
}
#define pmdp_get_lockless numaplace_compat_pmdp_get_lockless

static inline pte_t numaplace_compat_ptep_get(pte_t *ptep)
{
	return READ_ONCE(*ptep);
}
#define ptep_get numaplace_compat_ptep_get
#endif

#ifndef PF_USER_WORKER
#define PF_USER_WORKER 0
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
/* Shown by name, though these kernels have none. */
#define MPOL_WEIGHTED_INTERLEAVE (MPOL_PREFERRED_MANY + 1)
#endif

/* Entries of page tables that are not present got a new type in 6.19. */
#ifdef HAVE_LEAFOPS
#include <linux/swap.h>
#include <linux/leafops.h>
static inline bool numaplace_compat_is_migrating(pte_t pte)
{
	return softleaf_is_migration(softleaf_from_pte(pte));
}
#else
#include <linux/swap.h>
#include <linux/swapops.h>
static inline bool numaplace_compat_is_migrating(pte_t pte)
{
	return is_migration_entry(pte_to_swp_entry(pte));
}
#endif

/* A transparent huge page, also for a kernel that has none: there HPAGE_PMD_NR is an error. */
#define NUMAPLACE_HUGE_ORDER (PMD_SHIFT - PAGE_SHIFT)
#define NUMAPLACE_HUGE_PAGES (1U << NUMAPLACE_HUGE_ORDER)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#ifdef copy_mc_to_kernel
static inline int numaplace_compat_copy_mc_highpage(struct page *to, struct page *from)
{
	/* Only for 64 bits, where all memory has an address. */
	int left = copy_mc_to_kernel(page_address(to), page_address(from), PAGE_SIZE);

	if (left)
		memory_failure_queue(page_to_pfn(from), 0);
	return left;
}
#else
static inline int numaplace_compat_copy_mc_highpage(struct page *to, struct page *from)
{
	copy_highpage(to, from);
	return 0;
}
#endif
#define copy_mc_highpage numaplace_compat_copy_mc_highpage
#endif

/* Whether the kernel may not read its pages: memory of confidential guests, and secret memory. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline bool numaplace_compat_is_inaccessible(const struct address_space *mapping)
{
	return false;
}
#else
#include <linux/pagemap.h>
#define numaplace_compat_is_inaccessible(mapping) \
	mapping_inaccessible((struct address_space *)(mapping))
#endif

/* Whether a huge page that is mapped by a pmd is mapped anywhere else, by a pmd or by ptes. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static inline bool numaplace_compat_is_shared(struct folio *folio)
{
	unsigned int i;

	if (folio_entire_mapcount(folio) > 1)
		return true;
	/* With ptes beside a pmd, each page counts the pmd once. */
	for (i = 0; folio_test_double_map(folio) && i < NUMAPLACE_HUGE_PAGES; i++)
		if (atomic_read(&folio_page(folio, i)->_mapcount) > 0)
			return true;
	return false;
}
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static inline bool numaplace_compat_is_shared(struct folio *folio)
{
	return folio_mapcount(folio) > 1;
}
#else
static inline bool numaplace_compat_is_shared(struct folio *folio)
{
	return folio_large_mapcount(folio) > 1;
}
#endif

/* A transparent huge page can move whole where there are the flags, and huge pages. */
#if defined(HAVE_SELECT_COMPOUND) && defined(CONFIG_TRANSPARENT_HUGEPAGE)
#define NUMAPLACE_MOVES_WHOLE true
#else
#define NUMAPLACE_MOVES_WHOLE false
#include <linux/migrate.h>
#undef MIGRATE_VMA_SELECT_COMPOUND
#undef MIGRATE_PFN_COMPOUND
#define MIGRATE_VMA_SELECT_COMPOUND 0
#define MIGRATE_PFN_COMPOUND	    0
#endif

/* Features found in the kernel's headers, for modinfo. */
#ifdef HAVE_SELECT_COMPOUND
#define NUMAPLACE_HAS_SELECT_COMPOUND " select-compound"
#else
#define NUMAPLACE_HAS_SELECT_COMPOUND ""
#endif
#ifdef HAVE_LEAFOPS
#define NUMAPLACE_HAS_LEAFOPS " leafops"
#else
#define NUMAPLACE_HAS_LEAFOPS ""
#endif
#ifdef HAVE_EXIT_GROUP_DEAD
#define NUMAPLACE_HAS_GROUP_DEAD " exit-group-dead"
#else
#define NUMAPLACE_HAS_GROUP_DEAD ""
#endif
#ifdef HAVE_NEWTASK_U64
#define NUMAPLACE_HAS_NEWTASK_U64 " newtask-u64"
#else
#define NUMAPLACE_HAS_NEWTASK_U64 ""
#endif
#define NUMAPLACE_HEADERS \
	"found:" NUMAPLACE_HAS_SELECT_COMPOUND NUMAPLACE_HAS_LEAFOPS NUMAPLACE_HAS_GROUP_DEAD \
		NUMAPLACE_HAS_NEWTASK_U64

#endif
