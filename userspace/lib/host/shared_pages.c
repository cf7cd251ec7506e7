// SPDX-License-Identifier: GPL-2.0-only
#include "shared_pages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "page_walk.h"

#define BLOCK  512 /* entries that are read at once */
#define BLOCKS 128 /* of a range at most, evenly spread */

struct counts {
	uint64_t present, shared; /* pages of no file, and those of them that others map, too */
};

static void count(const uint64_t *entry, size_t n, struct counts *counts)
{
	for (size_t i = 0; i < n; i++) {
		if (!(entry[i] & NP_PAGE_PRESENT) || (entry[i] & NP_PAGE_FILE))
			continue;
		counts->present++;
		counts->shared += !(entry[i] & NP_PAGE_EXCLUSIVE);
	}
}

/*
 * Of a large range only blocks are looked at; that they hold its pages evenly is not taken for
 * granted.
 */
static uint64_t count_shared(int pagemap, uint64_t first, uint64_t pages, uint64_t anon)
{
	bool whole = pages <= BLOCK * BLOCKS;
	uint64_t entry[BLOCK], step = whole ? BLOCK : pages / BLOCKS;
	struct counts counts = { 0 };

	for (uint64_t at = 0; at < pages; at += step) {
		size_t want = pages - at < BLOCK ? (size_t)(pages - at) : BLOCK;
		ssize_t got = np_pagemap_read(pagemap, first + at, entry, want);

		if (got <= 0)
			return 0;
		count(entry, (size_t)got, &counts);
	}
	if (whole || !counts.present)
		return counts.shared;
	return (uint64_t)((double)anon * (double)counts.shared / (double)counts.present);
}

uint64_t np_shared_pages(pid_t pid, uint64_t page_size, uint64_t start, uint64_t end)
{
	struct np_vma_range *ranges = NULL;
	uint64_t shared = 0;
	size_t n = 0;
	int pagemap = np_vma_ranges(pid, page_size, start, end, &ranges, &n) ? -1 :
									       np_pagemap_open(pid);

	for (size_t i = 0; pagemap >= 0 && i < n; i++)
		if (ranges[i].anon && ranges[i].mapmax > 1 && !ranges[i].chosen &&
		    !ranges[i].hugetlb)
			shared += count_shared(pagemap, ranges[i].start / page_size,
					       (ranges[i].end - ranges[i].start) / page_size,
					       ranges[i].anon);
	if (pagemap >= 0)
		close(pagemap);
	free(ranges);
	return shared;
}
