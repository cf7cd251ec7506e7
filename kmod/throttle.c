// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/time64.h>

#include "throttle.h"

/**
 * numaplace_throttle_pages() - how many pages to take so that they take as long as they may
 * @n: how many the last batch had
 * @ns: how long it took
 * @budget_us: how long a batch may take
 *
 * Careful upwards, at once downwards: never more than twice the last batch.
 *
 * Return: NUMAPLACE_BATCH_MIN to NUMAPLACE_BATCH_MAX.
 */
unsigned int numaplace_throttle_pages(unsigned int n, u64 ns, u32 budget_us)
{
	u64 pages = div64_u64((u64)n * budget_us * NSEC_PER_USEC, max(ns, 1ULL));

	pages = min_t(u64, pages, 2 * (u64)n);
	return clamp_t(u64, pages, NUMAPLACE_BATCH_MIN, NUMAPLACE_BATCH_MAX);
}

/* Chunks for each thread, so that all of them end at about the same time. */
#define CHUNKS_EACH 2U

/**
 * numaplace_throttle_chunk() - how many pages a thread of a batch takes at a time
 * @n: pages of the batch
 * @threads: that share them
 * @page_ns: how long a page takes; 0: not known
 * @left_ns: how long it may take
 *
 * Return: 0 if there is no time, else NUMAPLACE_BATCH_MIN to NUMAPLACE_CHUNK_MAX.
 */
unsigned int numaplace_throttle_chunk(unsigned int n, unsigned int threads, u64 page_ns,
				      u64 left_ns)
{
	u64 fit = page_ns ? div64_u64(left_ns, page_ns) : NUMAPLACE_CHUNK_MAX;

	if (fit < NUMAPLACE_BATCH_MIN)
		return 0;
	fit = min_t(u64, fit, NUMAPLACE_CHUNK_MAX);
	return clamp_t(u64, n / (threads * CHUNKS_EACH), NUMAPLACE_BATCH_MIN, fit);
}

/**
 * numaplace_throttle_due_ns() - how long so many bytes take at a rate
 * @bytes: how many
 * @rate_mib: MiB a second; not 0
 *
 * Return: nanoseconds that they take.
 */
u64 numaplace_throttle_due_ns(u64 bytes, u32 rate_mib)
{
	/* A second is 2^9 times 1953125 ns, a MiB 2^20 bytes: of whole pages nothing is lost. */
	return mul_u64_u32_div(bytes >> 11, NSEC_PER_SEC >> 9, rate_mib);
}

/* Delay that a job with a rate may make up for, and about the time of a batch at that rate. */
#define BURST_NS (100 * NSEC_PER_MSEC)

/**
 * numaplace_throttle_due() - when more may be moved
 * @due: when the last bytes were due
 * @now: when they and these had been moved
 * @bytes: how many these are
 * @rate_mib: MiB a second; not 0
 *
 * Time in which nothing could be moved is made up for only so far.
 *
 * Return: the time, by the clock of @now.
 */
u64 numaplace_throttle_due(u64 due, u64 now, u64 bytes, u32 rate_mib)
{
	u64 oldest = now > BURST_NS ? now - BURST_NS : 0;

	return max(due, oldest) + numaplace_throttle_due_ns(bytes, rate_mib);
}

/**
 * numaplace_throttle_limit() - how many pages to take at a time with a rate
 * @most: how many without one
 * @rate_mib: MiB a second, or 0
 *
 * Return: up to @most; NUMAPLACE_BATCH_MIN at least, if @most is.
 */
unsigned int numaplace_throttle_limit(unsigned int most, u32 rate_mib)
{
	u64 pages = ((u64)rate_mib << (20 - PAGE_SHIFT)) / (NSEC_PER_SEC / BURST_NS);

	return rate_mib ? min_t(u64, most, max_t(u64, pages, NUMAPLACE_BATCH_MIN)) : most;
}

/**
 * numaplace_throttle_duty_ns() - how long a process runs after it was stopped
 * @paused_ns: for how long it was
 * @duty: percent of the time that it may be; 1 to 100
 *
 * Return: nanoseconds.
 */
u64 numaplace_throttle_duty_ns(u64 paused_ns, u32 duty)
{
	return div_u64(paused_ns * (100 - duty), duty);
}

/* Wait for threads to stop: a part of the pause; at most WAIT_US unless pause=always. */
#define WAIT_PART 4
#define WAIT_US	  1000U
/* How often that is halved at most, and after how many pauses it is whole again. */
#define WAIT_HALVED 4U
#define WAIT_AGAIN  16U

/**
 * numaplace_throttle_wait_us() - how long to wait for threads to stop
 * @pause_us: how long the pause may be
 * @always: wait for a part of that also where it is more than WAIT_US
 * @missed: how many pauses in a row began without a thread that was waited for
 *
 * A thread that is in the kernel for longer than a pause is there in the next as
 * well: it is waited for half as long each time, while the others stand still.
 * One that would stop in the whole time is found again by the sixteenth pause.
 *
 * Return: microseconds, much less than @pause_us.
 */
u32 numaplace_throttle_wait_us(u32 pause_us, bool always, unsigned int missed)
{
	u32 us = pause_us / WAIT_PART;

	return (always ? us : min(us, WAIT_US)) >> min(missed % WAIT_AGAIN, WAIT_HALVED);
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
