/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the supported kernels, included before everything
 * else. The rest of the module is written for the newest of them.
 */
#ifndef _NUMAPLACE_COMPAT_H
#define _NUMAPLACE_COMPAT_H

#include <linux/version.h>
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

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
/* Shown by name, though these kernels have none. */
#define MPOL_WEIGHTED_INTERLEAVE	(MPOL_PREFERRED_MANY + 1)
#endif

/* Entries of page tables that are not present got a new type in 6.19. */
#ifdef HAVE_LEAFOPS
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

/* Whether a transparent huge page can move whole. Without the flags it cannot. */
#ifdef HAVE_SELECT_COMPOUND
#define NUMAPLACE_MOVES_WHOLE		true
#else
#define NUMAPLACE_MOVES_WHOLE		false
#define MIGRATE_VMA_SELECT_COMPOUND	0
#define MIGRATE_PFN_COMPOUND		0
#endif

#endif
