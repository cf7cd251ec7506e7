/* SPDX-License-Identifier: GPL-2.0-only */
/* The lock of an address space, by waits that end with the job. */
#ifndef _NUMAPLACE_LOCK_MM_H
#define _NUMAPLACE_LOCK_MM_H

#include <linux/types.h>

struct mm_struct;

bool numaplace_lock_mm(struct mm_struct *mm, const bool *cancelled, u64 deadline);

#endif
