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

#endif
