// SPDX-License-Identifier: GPL-2.0-only
/*
 * carrefour: answers worked out by hand from the rules of its source: nothing below
 * 50 DRAM accesses a microsecond, migrate below 80 % local accesses, interleave
 * above 35 % imbalance of the controllers (the standard deviation that a sample
 * estimates, of n - 1, / the mean).
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
	t->bandwidth = (struct np_known) { accesses_per_us * 1e6 * LINE, NP_PROVENANCE_COUNTERS };
	return t;
}

static void plan(const char *options)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "carrefour", options), 0);
}

/* 49.9 accesses a microsecond are below 50, 50.1 are not; 3.2 GB/s is the gate in bytes. */
TEST(the_gate)
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
	plan("line=128"); /* half as many accesses */
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
}

/* A page on the task's node is a local access: 80 of 100 are enough, 79 are not. */
TEST(pages_follow_below_80_percent)
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
TEST(the_ratio_is_everybodys)
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

/* Counted local accesses take precedence over the shares of pages. */
TEST(counted_locality_wins)
{
	fixture_machine(&f, 2, 2);
	add(0, 0, 100, 100)->local_access = (struct np_known) { 0.9, NP_PROVENANCE_COUNTERS };
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
}

/*
 * Two controllers that serve a and b: deviation / mean = sqrt(2) |a - b| / (a + b).
 * 62 : 38 is 34 %, 63 : 37 is 37 %. Node 0 serves 0.63 of the traffic: of its 0.63 of the
 * pages 0.63 leaves; 0.63 x 0.37 = 0.2331 stays, 0.7669 is on node 1 afterwards. As weights
 * of 255: 59 and 196; of 255 pages 59 and 196.
 */
TEST(spreads_above_35_percent)
{
	fixture_machine(&f, 2, 2);
	add(NP_NODE_NONE, 62, 38, 100);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "imbalance is 34 %");
	f.pages[0][0] = 63;
	f.pages[0][1] = 37;
	plan(NULL);
	CHECK_REASON(&f, 0, "interleave: the controllers' imbalance is 37 %");
	f.pages[0][0] = 6300;
	f.pages[0][1] = 3700;
	plan(NULL);
	CU_ASSERT_DOUBLE_EQUAL((double)f.after[0], 10000 * 59 / 255., 1);
	CU_ASSERT_DOUBLE_EQUAL((double)f.after[1], 10000 * 196 / 255., 1);
}

/* 50 : 50 by the pages, but the controllers were measured at 9 : 1, which is 113 %. */
TEST(measured_controllers_count)
{
	fixture_machine(&f, 2, 2);
	add(NP_NODE_NONE, 100, 100, 100);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	f.node[0].traffic = (struct np_known) { 9e9, NP_PROVENANCE_COUNTERS };
	f.node[1].traffic = (struct np_known) { 1e9, NP_PROVENANCE_COUNTERS };
	plan(NULL);
	CU_ASSERT_NOT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "imbalance is 113 %");
}

/*
 * 45, 15 and 40 of 100: the mean of the three controllers is 33, node 0 is above it and
 * node 1 below, also for a task that may hold no page on node 2.
 */
TEST(a_cpuset_changes_no_mean)
{
	static const uint8_t may[] = { NP_MAY_RUN | NP_MAY_HOLD, NP_MAY_RUN | NP_MAY_HOLD,
				       NP_MAY_RUN };
	static const double gb[] = { 4.5, 1.5, 4 };

	fixture_machine(&f, 3, 2);
	add(NP_NODE_NONE, 1000, 0, 100)->may = may;
	for (int i = 0; i < 3; i++)
		f.node[i].traffic = (struct np_known) { gb[i] * 1e9, NP_PROVENANCE_COUNTERS };
	plan(NULL);
	CHECK_REASON(&f, 0, "imbalance is 48 %");
	CU_ASSERT_NOT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	CU_ASSERT_DOUBLE_EQUAL((double)f.after[1], 450, 3);
	CU_ASSERT_EQUAL(f.after[2], 0);
}

TEST(nothing_known_nothing_done)
{
	fixture_machine(&f, 2, 2);
	add(0, 0, 100, 0)->bandwidth.source = NP_PROVENANCE_NONE;
	plan("gate=0");
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "no task's DRAM accesses are known");
}
