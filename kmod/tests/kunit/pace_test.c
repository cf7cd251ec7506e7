// SPDX-License-Identifier: GPL-2.0-only
#include "../../pace.c"
#include "suites.h"

#define MS	NSEC_PER_MSEC
#define BUDGET	20000U

static void pages_fill_the_budget(struct kunit *test)
{
	/* 1000 pages took 15 of 20 ms: a third more will fit. */
	KUNIT_EXPECT_EQ(test, numaplace_pace_pages(1000, 15 * MS, BUDGET), 1333U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_pages(1000, 20 * MS, BUDGET), 1000U);
}

static void pages_shrink_at_once(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_pace_pages(4096, 200 * MS, BUDGET), 409U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_pages(4096, 2000 * MS, BUDGET), 40U);
}

static void pages_grow_to_twice_as_many(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_pace_pages(256, 1, BUDGET), 512U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_pages(512, 1, BUDGET), 1024U);
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
				unsigned int pages = numaplace_pace_pages(n[i], ns[j], budget[k]);

				KUNIT_EXPECT_GE(test, pages, NUMAPLACE_PACE_MIN);
				KUNIT_EXPECT_LE(test, pages, NUMAPLACE_PACE_MAX);
			}
}

/* Batches of a cost per page: each of them but the first keeps to the budget, and soon fills half of it. */
static void pages_settle_under_the_budget(struct kunit *test)
{
	static const u64 cost[] = { 5000, 10000, 40000, 500000 };
	unsigned int i, round, n;

	for (i = 0; i < ARRAY_SIZE(cost); i++) {
		n = NUMAPLACE_PACE_FIRST;
		for (round = 0; round < 8; round++)
			n = numaplace_pace_pages(n, n * cost[i], BUDGET);
		KUNIT_EXPECT_LE(test, n * cost[i], BUDGET * 1000ULL);
		KUNIT_EXPECT_TRUE(test, n == NUMAPLACE_PACE_MAX || n * cost[i] > BUDGET * 500ULL);
	}
}

static void chunks_are_a_share_of_each_thread(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(1024, 4, 1000, MS), 128U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(1024, 4, 0, 0), 128U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(4096, 1, 1000, MS), NUMAPLACE_PACE_CHUNK);
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(10, 16, 1000, MS), NUMAPLACE_PACE_MIN);
}

static void chunks_end_in_time(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(4096, 1, 10000, MS), 100U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(4096, 1, MS / NUMAPLACE_PACE_MIN, MS),
			NUMAPLACE_PACE_MIN);
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(4096, 1, MS / NUMAPLACE_PACE_MIN + 1, MS), 0U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(4096, 1, 1, 0), 0U);
	KUNIT_EXPECT_EQ(test, numaplace_pace_chunk(4096, 1, MS, U64_MAX), NUMAPLACE_PACE_CHUNK);
}

static void rate_is_kept_to(struct kunit *test)
{
	/* To one part in a million: the division cuts. */
	KUNIT_EXPECT_GT(test, numaplace_pace_due_ns(1ULL << 20, 1), 999999000ULL);
	KUNIT_EXPECT_LE(test, numaplace_pace_due_ns(1ULL << 20, 1), 1000000000ULL);
	KUNIT_EXPECT_GT(test, numaplace_pace_due_ns(64ULL << 20, 128), 499999500ULL);
	KUNIT_EXPECT_LE(test, numaplace_pace_due_ns(64ULL << 20, 128), 500000000ULL);
	KUNIT_EXPECT_EQ(test, numaplace_pace_due_ns(0, 1), 0ULL);
}

/* 16 TiB at 1 MiB a second: half a year. */
static void rate_does_not_overflow(struct kunit *test)
{
	u64 due = numaplace_pace_due_ns(16ULL << 40, 1);

	KUNIT_EXPECT_EQ(test, div64_u64(due, NSEC_PER_SEC), 16777207ULL);
	KUNIT_EXPECT_LT(test, numaplace_pace_due_ns(4096, 1048576), 5000ULL);
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
		KUNIT_EXPECT_EQ_MSG(test, numaplace_pace_check_range(cases[i].start, cases[i].end),
				    cases[i].err, "case %u", i);
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
	KUNIT_CASE(range_is_checked),
	{}
};

struct kunit_suite numaplace_pace_suite = {
	.name = "numaplace_pace",
	.test_cases = cases,
};
