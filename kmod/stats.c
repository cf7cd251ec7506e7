// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "stats.h"

static atomic64_t totals[NUMAPLACE_STAT_COUNT];

/* One lock for all the counts, so that asked is their sum for every reader. */
static DEFINE_SPINLOCK(counts_lock);
static struct numaplace_counts all_counts;

/**
 * numaplace_stats_add() - count events
 * @which: of what kind
 * @n: how many
 */
void numaplace_stats_add(enum numaplace_stat which, u64 n)
{
	atomic64_add(n, &totals[which]);
}

/**
 * numaplace_stats_sum() - add counts to counts
 * @to: what is added to; the caller keeps it from changing
 * @more: what is added
 */
void numaplace_stats_sum(struct numaplace_counts *to, const struct numaplace_counts *more)
{
	unsigned int i;

	for (i = 0; i < NUMAPLACE_PAGE_STATUSES; i++)
		to->status[i] += more->status[i];
}

/**
 * numaplace_stats_add_counts() - add the counts of a batch to the totals
 * @counts: of the batch
 */
void numaplace_stats_add_counts(const struct numaplace_counts *counts)
{
	spin_lock(&counts_lock);
	numaplace_stats_sum(&all_counts, counts);
	spin_unlock(&counts_lock);
}

/**
 * numaplace_stats_show_counts() - print asked=, the counts and bytes=
 * @m: where to
 * @counts: that do not change meanwhile
 */
void numaplace_stats_show_counts(struct seq_file *m, const struct numaplace_counts *counts)
{
	u64 asked = 0;
	unsigned int i;

	for (i = 0; i < NUMAPLACE_PAGE_STATUSES; i++)
		asked += counts->status[i];
	seq_printf(m, " asked=%llu", asked);
#define X(name) seq_printf(m, " " #name "=%llu", counts->status[NUMAPLACE_PAGE_##name]);
	NUMAPLACE_COUNTS(X)
#undef X
	seq_printf(m, " bytes=%llu", numaplace_stats_bytes(counts));
}

/**
 * numaplace_stats_show() - print the totals
 * @m: where to
 */
void numaplace_stats_show(struct seq_file *m)
{
	static const char *const names[] = {
#define X(name) #name,
		NUMAPLACE_STATS(X)
#undef X
	};
	struct numaplace_counts counts;
	unsigned int i;

	spin_lock(&counts_lock);
	counts = all_counts;
	spin_unlock(&counts_lock);
	for (i = 0; i < NUMAPLACE_STAT_COUNT; i++)
		seq_printf(m, "%s%s=%lld", i ? " " : "", names[i],
			   (long long)atomic64_read(&totals[i]));
	numaplace_stats_show_counts(m, &counts);
	seq_putc(m, '\n');
}
