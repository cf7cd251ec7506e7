// SPDX-License-Identifier: GPL-2.0-only
#include "../../throttle.c"
#include "suites.h"

#define MS     NSEC_PER_MSEC
#define BUDGET 1000U

static void pages_fill_the_budget(struct kunit *test)
{
	/* 300 pages took 0.75 of 1 ms: a third more will fit. */
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(300, 750000, BUDGET), 400U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(300, MS, BUDGET), 300U);
}

static void pages_shrink_at_once(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(512, 2 * MS, BUDGET), 256U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(512, 10 * MS, BUDGET), 51U);
}

static void pages_grow_to_twice_as_many(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(64, 1, BUDGET), 128U);
	KUNIT_EXPECT_EQ(test, numaplace_throttle_pages(200, 1, BUDGET), 400U);
}

static void pages_stay_within_bounds(struct kunit *test)
{
	static const unsigned int n[] = { 1, 2, 31, 32, 33, 512, 1024 };
	static const u64 ns[] = { 0, 1, 100, MS, 1000 * MS, U64_MAX };
	static const u32 budget[] = { 100, BUDGET, 1000000 };
	unsigned int i, j, k;

	for (i = 0; i < ARRAY_SIZE(n); i++)
		for (j = 0; j < ARRAY_SIZE(ns); j++)
			for (k = 0; k < ARRAY_SIZE(budget); k++) {
				unsigned int pages = numaplace_throttle_pages(n[i], ns[j],
									      budget[k]);

				KUNIT_EXPECT_GE(test, pages, NUMAPLACE_CHUNK_MIN);
				KUNIT_EXPECT_LE(test, pages, NUMAPLACE_CHUNK_MAX);
			}
}

/*
 * Chunks of a cost per page: each of them but the first keeps to the budget, and soon fills half
 * of it.
 */
static void pages_settle_under_the_budget(struct kunit *test)
{
	static const u64 cost[] = { 1000, 2500, 10000, 30000 };
	unsigned int i, round, n;

	for (i = 0; i < ARRAY_SIZE(cost); i++) {
		n = NUMAPLACE_CHUNK_FIRST;
		for (round = 0; round < 8; round++)
			n = numaplace_throttle_pages(n, n * cost[i], BUDGET);
		KUNIT_EXPECT_LE(test, n * cost[i], BUDGET * 1000ULL);
		KUNIT_EXPECT_TRUE(test, n == NUMAPLACE_CHUNK_MAX || n * cost[i] > BUDGET * 500ULL);
	}
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

static struct kunit_case cases[] = {
	KUNIT_CASE(pages_fill_the_budget),
	KUNIT_CASE(pages_shrink_at_once),
	KUNIT_CASE(pages_grow_to_twice_as_many),
	KUNIT_CASE(pages_stay_within_bounds),
	KUNIT_CASE(pages_settle_under_the_budget),
	KUNIT_CASE(range_is_checked),
	{},
};

struct kunit_suite numaplace_throttle_suite = {
	.name = "numaplace_throttle",
	.test_cases = cases,
};
