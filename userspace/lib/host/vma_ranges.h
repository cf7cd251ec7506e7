/* SPDX-License-Identifier: GPL-2.0-only */
/* The address ranges of a process that have pages in memory. */
#ifndef NUMAPLACE_LIB_VMA_RANGES_H
#define NUMAPLACE_LIB_VMA_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct np_vma_range {
	uint64_t start, end;
	uint64_t page_size;	/* of the pages that back it, bytes */
	uint64_t anon;		/* base pages of no file that it has in memory */
	uint64_t mapmax;	/* processes that map one of its pages, at most; 0: one */
	bool anonymous, memory; /* what np_mapping_anonymous(), np_mapping_memory() say of it */
	bool hugetlb;		/* of a pool of huge pages */
	bool chosen;		/* has a memory policy of its own: np_mapping_chosen() */
};

/*
 * The ranges of pid that have resident pages, by address, clipped to
 * [start, end) unless both are 0. The caller frees *ranges. 0 or -errno.
 */
int np_vma_ranges(pid_t pid, uint64_t base_page_size, uint64_t start, uint64_t end,
		  struct np_vma_range **ranges, size_t *n);

/*
 * The same of every range that is mapped, resident or not, of which only start and end are filled.
 */
int np_vma_mapped(pid_t pid, uint64_t start, uint64_t end, struct np_vma_range **ranges, size_t *n);

/*
 * Calls each() for each line of /proc/PID/maps, by address, until it returns other than 0, which is
 * then the result; else 0 or -errno (-ESRCH).
 */
int np_proc_maps(pid_t pid, int (*each)(char *line, void *arg), void *arg);

/* Reads "7f0000-7f1000 rw-p ..." (a line of /proc/PID/maps). 0 or -EINVAL. */
int np_vma_range_parse(const char *line, uint64_t *start, uint64_t *end);

#endif
