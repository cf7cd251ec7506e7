/* SPDX-License-Identifier: GPL-2.0-only */
/* The best placement there is, found by trying every one. */
#ifndef NUMAPLACE_BENCH_EXHAUSTIVE_H
#define NUMAPLACE_BENCH_EXHAUSTIVE_H

#include "search.h"

/* What the placements that are tried may do with a task's pages. */
enum freedom {
	PAGES_FOLLOW,	/* on the task's node */
	PAGES_ANYWHERE,	/* where they are, or on any one node */
	PAGES_SPLIT,	/* or in quarters between the task's node and another, too */
};

/* The most freedom with which no more than limit placements are to be tried, PAGES_FOLLOW at least. */
enum freedom exhaustive_freedom(size_t n, size_t k, double limit);

/* Score of the best placement; s is as np_search_init() left it, with its options set. */
double exhaustive_best(struct np_search *s, enum freedom freedom);

#endif
