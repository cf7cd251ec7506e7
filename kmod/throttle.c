// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/time64.h>

#include "throttle.h"

/**
 * numaplace_throttle_pages() - how many pages to unmap so that they are so for as long as they may
 * @n: how many the last chunk had
 * @ns: how long it took
 * @budget_us: how long a chunk may take
 *
 * Careful upwards, at once downwards: never more than twice the last chunk.
 *
 * Return: NUMAPLACE_CHUNK_MIN to NUMAPLACE_CHUNK_MAX.
 */
unsigned int numaplace_throttle_pages(unsigned int n, u64 ns, u32 budget_us)
{
	u64 pages = div64_u64((u64)n * budget_us * NSEC_PER_USEC, max(ns, 1ULL));

	pages = min_t(u64, pages, 2 * (u64)n);
	return clamp_t(u64, pages, NUMAPLACE_CHUNK_MIN, NUMAPLACE_CHUNK_MAX);
}

/**
 * numaplace_throttle_check_range() - whether start= and end= make sense
 * @start: the first byte
 * @end: past the last byte; both 0 for all there is
 *
 * Return: 0, or -EINVAL for a range that is empty or cuts a page.
 */
int numaplace_throttle_check_range(u64 start, u64 end)
{
	if (!start && !end)
		return 0;
	return start < end && PAGE_ALIGNED(start) && PAGE_ALIGNED(end) ? 0 : -EINVAL;
}
