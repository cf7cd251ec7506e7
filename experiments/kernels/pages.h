/* SPDX-License-Identifier: GPL-2.0-only */
/* Where memory is asked to be, and where its pages really are. */
#ifndef NP_PAGES_H
#define NP_PAGES_H

#include <numa.h>
#include <stddef.h>

#define NP_MAX_NODES 1024

/* Pages of a range by the kernel's node number. */
struct np_pages {
	size_t node[NP_MAX_NODES];
	size_t absent;
};

/*
 * Node numbers of nodes in ascending order. Cuts [start, start + bytes) into
 * that many equal runs of whole pages and asks for one node each. To be
 * called before the pages exist. Returns 0 or -errno.
 */
int np_pages_prefer(void *start, size_t bytes, const struct bitmask *nodes);

/* The range has the policy of its process again. Returns 0 or -errno. */
int np_pages_forget(void *start, size_t bytes);

/* Adds the pages of a range to count. Returns 0 or -errno. */
int np_pages_count(void *start, size_t bytes, struct np_pages *count);

/* Adds to count what np_pages_prefer() asks for. */
void np_pages_asked(size_t bytes, const struct bitmask *nodes, struct np_pages *count);

#endif
