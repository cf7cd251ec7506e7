// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/time64.h>

#include "pace.h"

/**
 * numaplace_pace_pages() - how many pages to take so that they take as long as they may
 * @n: how many the last batch had
 * @ns: how long it took
 * @budget_us: how long a batch may take
 *
 * Careful upwards, at once downwards: never more than twice the last batch.
 *
 * Return: NUMAPLACE_PACE_MIN to NUMAPLACE_PACE_MAX.
 */
unsigned int numaplace_pace_pages(unsigned int n, u64 ns, u32 budget_us)
{
	u64 pages = div64_u64((u64)n * budget_us * NSEC_PER_USEC, max(ns, 1ULL));

	pages = min_t(u64, pages, 2 * (u64)n);
	return clamp_t(u64, pages, NUMAPLACE_PACE_MIN, NUMAPLACE_PACE_MAX);
}

/* Chunks for each thread, so that all of them end at about the same time. */
#define CHUNKS_EACH	2U

/**
 * numaplace_pace_chunk() - how many pages a thread of a batch takes at a time
 * @n: pages of the batch
 * @threads: that share them
 * @page_ns: how long a page takes; 0: not known
 * @left_ns: how long it may take
 *
 * Return: 0 if there is no time, else NUMAPLACE_PACE_MIN to NUMAPLACE_PACE_CHUNK.
 */
unsigned int numaplace_pace_chunk(unsigned int n, unsigned int threads, u64 page_ns, u64 left_ns)
{
	u64 fit = page_ns ? div64_u64(left_ns, page_ns) : NUMAPLACE_PACE_CHUNK;

	if (fit < NUMAPLACE_PACE_MIN)
		return 0;
	fit = min_t(u64, fit, NUMAPLACE_PACE_CHUNK);
	return clamp_t(u64, n / (threads * CHUNKS_EACH), NUMAPLACE_PACE_MIN, fit);
}

/**
 * numaplace_pace_due_ns() - when so many bytes may have been moved
 * @bytes: how many
 * @rate_mib: MiB a second; not 0
 *
 * Return: nanoseconds from the beginning on.
 */
u64 numaplace_pace_due_ns(u64 bytes, u32 rate_mib)
{
	/* A MiB is 1024 of 1024 bytes: so that the product is that much smaller. */
	return mul_u64_u32_div(bytes >> 10, NSEC_PER_SEC >> 10, rate_mib);
}

/**
 * numaplace_pace_check_range() - whether start= and end= make sense
 * @start: the first byte
 * @end: past the last byte; both 0 for all there is
 *
 * Return: 0, or -EINVAL for a range that is empty or cuts a page.
 */
int numaplace_pace_check_range(u64 start, u64 end)
{
	if (!start && !end)
		return 0;
	return start < end && PAGE_ALIGNED(start) && PAGE_ALIGNED(end) ? 0 : -EINVAL;
}
