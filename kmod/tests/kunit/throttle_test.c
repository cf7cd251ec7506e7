// SPDX-License-Identifier: GPL-2.0-only
#include "../../throttle.c"
#include "suites.h"

#define MS     NSEC_PER_MSEC
#define BUDGET 20000U

static void pages_fill_the_budget(struct kunit *test)
{
	/* 1000 pages took 15 of 20 ms: a third more will fit. */
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(1000, 15 * MS, BUDGET), 1333U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(1000, 20 * MS, BUDGET), 1000U);
}

static void pages_shrink_at_once(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(4096, 200 * MS, BUDGET), 409U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(4096, 2000 * MS, BUDGET), 40U);
}

static void pages_grow_to_twice_as_many(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(256, 1, BUDGET), 512U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(512, 1, BUDGET), 1024U);
}

static void pages_stay_within_bounds(struct kunit *test)
{
	static const unsigned int n[] = { 1, 2, 31, 32, 33, 4096, 4608 };
	static const u64 ns[] = { 0, 1, 100, MS, 1000 * MS, U64_MAX };
	static const u32 budget[] = { 100, BUDGET, 1000000 };
	unsigned int i, j, k;

	for (i = 0; i < ARRAY_SIZE(n); i++)
		for (j = 0; j < ARRAY_SIZE(ns); j++)
			for (k = 0; k < ARRAY_SIZE(budget); k++) {
				unsigned int pages = numaplace_throttle_pages(n[i], ns[j],
									      budget[k]);

				KUNIT_EXPECT_GE(test, pages, NUMAPLACE_BATCH_MIN);
				KUNIT_EXPECT_LE(test, pages, NUMAPLACE_BATCH_MAX);
			}
}

/*
 * Batches of a cost per page: each of them but the first keeps to the budget, and soon fills half
 * of it.
 */
static void pages_settle_under_the_budget(struct kunit *test)
{
	static const u64 cost[] = { 5000, 10000, 40000, 500000 };
	unsigned int i, round, n;

	for (i = 0; i < ARRAY_SIZE(cost); i++) {
		n = NUMAPLACE_BATCH_FIRST;
		for (round = 0; round < 8; round++)
			n = numaplace_throttle_pages(n, n * cost[i], BUDGET);
		KUNIT_EXPECT_LE(test, n * cost[i], BUDGET * 1000ULL);
		KUNIT_EXPECT_TRUE(test, n == NUMAPLACE_BATCH_MAX || n * cost[i] > BUDGET * 500ULL);
	}
}

static void chunks_are_a_share_of_each_thread(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(1024, 4, 1000, MS), 128U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(1024, 4, 0, 0), 128U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(4096, 1, 1000, MS), NUMAPLACE_CHUNK_MAX);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(10, 16, 1000, MS), NUMAPLACE_BATCH_MIN);
}

static void chunks_end_in_time(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(4096, 1, 10000, MS), 100U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(4096, 1, MS / NUMAPLACE_BATCH_MIN, MS),
			NUMAPLACE_BATCH_MIN);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(4096, 1, MS / NUMAPLACE_BATCH_MIN + 1, MS),
			0U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(4096, 1, 1, 0), 0U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_chunk(4096, 1, MS, U64_MAX), NUMAPLACE_CHUNK_MAX);
}

static void rate_is_kept_to(struct kunit *test)
{
	/* To one part in a million: the division cuts. */
	KUNIT_EXPECT_GT(test, numaplace_throttle_due_ns(1ULL << 20, 1), 999999000ULL);
	KUNIT_EXPECT_LE(test, numaplace_throttle_due_ns(1ULL << 20, 1), 1000000000ULL);
	KUNIT_EXPECT_GT(test, numaplace_throttle_due_ns(64ULL << 20, 128), 499999500ULL);
	KUNIT_EXPECT_LE(test, numaplace_throttle_due_ns(64ULL << 20, 128), 500000000ULL);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_due_ns(0, 1), 0ULL);
}

/* 16 TiB at 1 MiB a second: half a year. */
static void rate_does_not_overflow(struct kunit *test)
{
	u64 due = numaplace_throttle_due_ns(16ULL << 40, 1);

	KUNIT_EXPECT_EQ(test, div64_u64(due, NSEC_PER_SEC), 16777216ULL);
	KUNIT_EXPECT_LT(test, numaplace_throttle_due_ns(4096, 1048576), 5000ULL);
}

static void range_is_checked(struct kunit *test)
{
	static const struct {
		u64 start, end;
		int err;
	} cases[] = {
		{ 0, 0, 0 },
		{ 0, PAGE_SIZE, 0 },
		{ PAGE_SIZE, 3 * PAGE_SIZE, 0 },
		{ PAGE_SIZE, PAGE_SIZE, -EINVAL },
		{ 2 * PAGE_SIZE, PAGE_SIZE, -EINVAL },
		{ PAGE_SIZE, 0, -EINVAL },
		{ 1, PAGE_SIZE, -EINVAL },
		{ 0, PAGE_SIZE + 1, -EINVAL },
		{ 0, U64_MAX, -EINVAL },
		{ 0, U64_MAX & PAGE_MASK, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    numaplace_throttle_check_range(cases[i].start, cases[i].end),
				    cases[i].err, "case %u", i);
}

static void rate_makes_up_for_little(struct kunit *test)
{
	/* A MiB a second: on time, late, and late by more than may be made up for. */
	KUNIT_EXPECT_EQ(test, numaplace_throttle_due(5000 * MS, 4000 * MS, 1 << 20, 1),
			6000ULL * MS);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_due(5000 * MS, 5050 * MS, 1 << 20, 1),
			6000ULL * MS);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_due(0, 5000 * MS, 1 << 20, 1), 5900ULL * MS);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_due(0, 1, 0, 1), 0ULL);
}

static void rate_bounds_a_batch(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_limit(4096, 0), 4096U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_limit(4096, 1), NUMAPLACE_BATCH_MIN);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_limit(4096, 100), 2560U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_limit(256, 1048576), 256U);
}

static void rest_is_a_share(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_duty_ns(4 * MS, 100), 0ULL);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_duty_ns(4 * MS, 50), 4ULL * MS);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_duty_ns(4 * MS, 10), 36ULL * MS);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_duty_ns(2000 * MS, 1), 198000ULL * MS);
}

static void wait_is_a_part_of_the_pause(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, true, 0), 5000U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, false, 0), 1000U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(1000, false, 0), 250U);
}

static void wait_is_halved_at_most(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, true, 1), 2500U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, true, 4), 312U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, true, UINT_MAX), 312U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, false, 4), 62U);
}

static void wait_is_whole_again(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, true, 15), 312U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, true, 16), 5000U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_wait_us(20000, true, 17), 2500U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(pages_fill_the_budget),
	KUNIT_CASE(pages_shrink_at_once),
	KUNIT_CASE(pages_grow_to_twice_as_many),
	KUNIT_CASE(pages_stay_within_bounds),
	KUNIT_CASE(pages_settle_under_the_budget),
	KUNIT_CASE(chunks_are_a_share_of_each_thread),
	KUNIT_CASE(chunks_end_in_time),
	KUNIT_CASE(rate_is_kept_to),
	KUNIT_CASE(rate_does_not_overflow),
	KUNIT_CASE(rate_makes_up_for_little),
	KUNIT_CASE(rate_bounds_a_batch),
	KUNIT_CASE(rest_is_a_share),
	KUNIT_CASE(wait_is_a_part_of_the_pause),
	KUNIT_CASE(wait_is_halved_at_most),
	KUNIT_CASE(wait_is_whole_again),
	KUNIT_CASE(range_is_checked),
	{},
};

struct kunit_suite numaplace_throttle_suite = {
	.name = "numaplace_throttle",
	.test_cases = cases,
};
