/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of a process, walked a window at a time. */
#ifndef NUMAPLACE_LIB_PAGE_WALK_H
#define NUMAPLACE_LIB_PAGE_WALK_H

#include <stdbool.h>

#include "vma_ranges.h"

/* Bits of an entry of /proc/PID/pagemap. */
#define NP_PAGE_PRESENT	  (1ull << 63)
#define NP_PAGE_SWAPPED	  (1ull << 62)
#define NP_PAGE_FILE	  (1ull << 61) /* of a file or of shared memory */
#define NP_PAGE_EXCLUSIVE (1ull << 56) /* mapped by this process alone */

/* Pages of one window, by address. */
struct np_window {
	size_t n;
	void **page;
	uint32_t *weight; /* base pages in each */
	uint64_t *entry;  /* NP_PAGE_* of each; present or swapped */
};

struct np_page_walk {
	pid_t pid;
	uint64_t page_size;  /* of a base page */
	uint64_t start, end; /* both 0: all addresses */
	size_t room;	     /* pages in a window, at most */
	/* A window ends at each multiple of room base pages: no huge page of that size is cut. */
	bool aligned;
	bool (*wanted)(const struct np_vma_range *range, void *arg); /* NULL: every range */
	/* What is not 0 ends the walk. */
	int (*each)(const struct np_window *window, void *arg);
	void *arg;
};

/* Calls each() for every window of pages. What it returned, or -errno: the process cannot be read. */
int np_pages_walk(const struct np_page_walk *w);

/* Opens /proc/PID/pagemap. A descriptor or -errno. */
int np_pagemap_open(pid_t pid);

/* Reads the entries of n base pages from number first on. How many there are, or -errno. */
ssize_t np_pagemap_read(int pagemap, uint64_t first, uint64_t *entry, size_t n);

#endif
