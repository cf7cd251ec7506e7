// SPDX-License-Identifier: GPL-2.0-only
/*
 * carrefour: answers worked out by hand from the rules of its source: nothing below
 * 50 DRAM accesses a microsecond, migrate below 80 % local accesses, interleave
 * above 35 % imbalance (standard deviation / mean) of the controllers.
 */
#include "fixture.h"

#define LINE 64

static struct fixture f;

static struct np_task *add(int node, uint64_t pages0, uint64_t pages1, double accesses_per_us)
{
	struct np_task *t;

	f.pages[f.n][0] = pages0;
	f.pages[f.n][1] = pages1;
	t = fixture_task(&f, node, UNKNOWN, UNKNOWN);
	t->bandwidth = (struct np_known) { accesses_per_us * 1e6 * LINE, NP_SOURCE_COUNTERS };
	return t;
}

static void plan(const char *options)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "carrefour", options), 0);
}

/* 49.9 accesses a microsecond are below 50, 50.1 are not; 3.2 GB/s is the gate in bytes. */
static void the_gate(void)
{
	fixture_machine(&f, 2, 2);
	add(0, 0, 100, 49.9);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "the gate is 50");
	f.task[0].bandwidth.value = 50.1e6 * LINE;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 0);
	CHECK_REASON(&f, 0, "migrate: 0 % of all accesses are local");
	plan("line=128");	/* half as many accesses */
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
}

/* A page on the task's node is a local access: 80 of 100 are enough, 79 are not. */
static void pages_follow_below_80_percent(void)
{
	fixture_machine(&f, 2, 2);
	add(0, 80, 20, 100);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
	f.pages[0][0] = 79;
	f.pages[0][1] = 21;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 21);
}

/* The ratio is of all tasks together: 100 local of 140 is 71 %, 100 of 120 is 83 %. */
static void the_ratio_is_everybodys(void)
{
	fixture_machine(&f, 2, 2);
	add(0, 100, 0, 100);
	add(1, 100, 0, 40);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[1].pages_to, 1);
	f.task[1].bandwidth.value = 20e6 * LINE;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[1].pages_to, NP_NODE_NONE);
}

/* What counters say of local accesses goes before what the pages suggest. */
static void counted_locality_wins(void)
{
	fixture_machine(&f, 2, 2);
	add(0, 0, 100, 100)->local_access = (struct np_known) { 0.9, NP_SOURCE_COUNTERS };
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
}

/*
 * Two controllers that serve a and b: deviation / mean = |a - b| / (a + b). 67 : 33
 * is 34 %, 68 : 32 is 36 %. Node 0 serves 0.68 of the traffic: of its 0.68 of the pages
 * 0.68 leaves; 0.68 x 0.32 = 0.2176 stays, 0.7824 is on node 1 afterwards. As weights of
 * 255: 55 and 200; of 255 pages 55 and 200.
 */
static void spreads_above_35_percent(void)
{
	fixture_machine(&f, 2, 2);
	add(NP_NODE_NONE, 67, 33, 100);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "imbalance is 34 %");
	f.pages[0][0] = 68;
	f.pages[0][1] = 32;
	plan(NULL);
	CHECK_REASON(&f, 0, "interleave: the controllers' imbalance is 36 %");
	f.pages[0][0] = 6800;
	f.pages[0][1] = 3200;
	plan(NULL);
	CU_ASSERT_DOUBLE_EQUAL((double)f.after[0], 10000 * 55 / 255., 1);
	CU_ASSERT_DOUBLE_EQUAL((double)f.after[1], 10000 * 200 / 255., 1);
}

/* 50 : 50 by the pages, but the controllers were measured at 9 : 1, which is 80 %. */
static void measured_controllers_count(void)
{
	fixture_machine(&f, 2, 2);
	add(NP_NODE_NONE, 100, 100, 100);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	f.node[0].traffic = (struct np_known) { 9e9, NP_SOURCE_COUNTERS };
	f.node[1].traffic = (struct np_known) { 1e9, NP_SOURCE_COUNTERS };
	plan(NULL);
	CU_ASSERT_NOT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "imbalance is 80 %");
}

static void nothing_known_nothing_done(void)
{
	fixture_machine(&f, 2, 2);
	add(0, 0, 100, 0)->bandwidth.source = NP_SOURCE_NONE;
	plan("gate=0");
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "no task's DRAM accesses are known");
}

void add_carrefour_cases(void)
{
	CU_pSuite suite = CU_add_suite("carrefour by hand", NULL, NULL);

	CU_ADD_TEST(suite, the_gate);
	CU_ADD_TEST(suite, pages_follow_below_80_percent);
	CU_ADD_TEST(suite, the_ratio_is_everybodys);
	CU_ADD_TEST(suite, counted_locality_wins);
	CU_ADD_TEST(suite, spreads_above_35_percent);
	CU_ADD_TEST(suite, measured_controllers_count);
	CU_ADD_TEST(suite, nothing_known_nothing_done);
}
