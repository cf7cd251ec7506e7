/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Constants of the module's text files, see Documentation/ABI/debugfs-numaplace. */
#ifndef _UAPI_NUMAPLACE_H
#define _UAPI_NUMAPLACE_H

#define NUMAPLACE_VERSION "0.1.0"

/* Raised when a file's grammar changes so that an old tool would misread it. */
#define NUMAPLACE_ABI 2

#define NUMAPLACE_DIR "/sys/kernel/debug/numaplace"

/* A write longer than this is refused with E2BIG. */
#define NUMAPLACE_MAX_WRITE 4096

/* Bounds of the numbers in a line written to migrate. */
#define NUMAPLACE_MIN_STALL_US 100
#define NUMAPLACE_MAX_STALL_US 1000000
#define NUMAPLACE_STALL_US     1000 /* default of max_stall_us=, also for 0 */

/*
 * Status of a page, in the order in which the counts are printed after
 * asked=. asked is always their sum.
 */
#define NUMAPLACE_COUNTS(X) \
	X(moved) \
	X(already) \
	X(absent) \
	X(pinned) \
	X(shared) \
	X(file) \
	X(hugetlb) \
	X(thp_split) \
	X(busy) \
	X(no_memory) \
	X(no_huge)

#endif
