/* SPDX-License-Identifier: GPL-2.0-only */
/* The nodes requested for memory, and the nodes of its pages. */
#ifndef NP_PAGES_H
#define NP_PAGES_H

#include <jansson.h>
#include <numa.h>
#include <stdbool.h>
#include <stddef.h>

#define NP_MAX_NODES 1024

enum np_page_kind {
	NP_PAGES_DEFAULT, /* as the system's setting for transparent huge pages says */
	NP_PAGES_SMALL,	  /* no transparent huge pages */
	NP_PAGES_THP,	  /* transparent huge pages asked for */
	NP_PAGES_HUGE,	  /* reserved huge pages (hugetlb) */
};

/* By name: default, small, thp, huge. Returns 0 or -1. */
int np_pages_kind(const char *name, enum np_page_kind *kind);

/* Bytes that are mapped for so many: whole huge pages where such are asked for. */
size_t np_pages_mapped(size_t bytes, enum np_page_kind kind);

/*
 * Maps private zeroed memory, np_pages_mapped(), aligned to a huge page; small pages at any
 * address. Returns 0 or -errno.
 */
int np_pages_map(char **start, size_t bytes, enum np_page_kind kind);

/* KiB of this process that are in huge pages of either kind, or -1 where the kernel does not say. */
long np_pages_huge_kib(void);

/* Pages of a range by the kernel's node number. */
struct np_pages {
	size_t node[NP_MAX_NODES];
	size_t absent;
};

/*
 * Node numbers of nodes in ascending order. Cuts [start, start + bytes) into
 * that many equal runs of whole pages and asks for one node each; the last
 * run goes on to the end of what is mapped, because a policy that ended
 * before would cut the mapping, and a huge page does not fit in a part. To be
 * called before the pages exist. Returns 0 or -errno.
 */
int np_pages_prefer(void *start, size_t bytes, size_t mapped, const struct bitmask *nodes);

/* The range has the policy of its process again. Returns 0 or -errno. */
int np_pages_forget(void *start, size_t bytes);

/* Adds the pages of a range to count. Returns 0 or -errno. */
int np_pages_count(void *start, size_t bytes, struct np_pages *count);

/* Adds to count the pages by node that np_pages_prefer() asks for. */
void np_pages_asked(size_t bytes, const struct bitmask *nodes, struct np_pages *count);

/* Returns 0, or -1 after a line where a node has not as many pages as were asked for. */
int np_pages_compare(const struct np_pages *asked, const struct np_pages *real);

/* Pages by node number, without those that have none. */
json_t *np_pages_json(const struct np_pages *count);

/* Whether the kernel has NUMA system calls; says so in a line where it has not. */
bool np_pages_available(void);

#endif
