/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals since the module was loaded, and the counts of one move. */
#ifndef _NUMAPLACE_STATS_H
#define _NUMAPLACE_STATS_H

#include <linux/mm.h>
#include <linux/types.h>

#include "uapi/numaplace.h"

struct seq_file;

/* Status of a page; index into the counts of a move. */
enum numaplace_page_status {
/* clang-format off */
#define X(name) NUMAPLACE_PAGE_##name,
	NUMAPLACE_COUNTS(X)
#undef X
	NUMAPLACE_PAGE_STATUSES,
	/* clang-format on */
	/* Not yet known; never counted. */
	NUMAPLACE_PAGE_pending = NUMAPLACE_PAGE_STATUSES,
	/* The same, of one that still waits in a CPU's list to get onto its LRU list. */
	NUMAPLACE_PAGE_unlisted,
	/* The same, of one that is on its way elsewhere or to its disk: not to be unmapped now. */
	NUMAPLACE_PAGE_later,
	/* On a node that was not asked about; never counted. */
	NUMAPLACE_PAGE_not_asked,
};

struct numaplace_counts {
	u64 status[NUMAPLACE_PAGE_STATUSES];
};

/* Of the pages that have moved. */
static inline u64 numaplace_stats_bytes(const struct numaplace_counts *counts)
{
	return counts->status[NUMAPLACE_PAGE_moved] << PAGE_SHIFT;
}

#define NUMAPLACE_STATS(X) \
	X(moves) \
	X(moves_ended_early) \
	X(placed) \
	X(policies) \
	X(inherited) \
	X(inherit_failed) \
	X(restored) \
	X(kept_by_user)

enum numaplace_stat {
/* clang-format off */
#define X(name) NUMAPLACE_STAT_##name,
	NUMAPLACE_STATS(X)
#undef X
	NUMAPLACE_STAT_COUNT,
	/* clang-format on */
};

void numaplace_stats_add(enum numaplace_stat which, u64 n);
void numaplace_stats_add_counts(const struct numaplace_counts *counts);
void numaplace_stats_sum(struct numaplace_counts *to, const struct numaplace_counts *more);
void numaplace_stats_show_counts(struct seq_file *m, const struct numaplace_counts *counts);
void numaplace_stats_show(struct seq_file *m);

#endif
