// SPDX-License-Identifier: GPL-2.0-only
/*
 * asymsched: answers worked out by hand from the rules of a re-implementation: the best score is
 * bandwidth between the nodes of a cluster x the logarithm of its traffic; of placements with 90 %
 * of it the one that moves least; only if the move of each task's memory, at 0.3 s a GB, takes at
 * most 5 % of that task's run time. Without a model bandwidth is 1 / distance.
 */
#include "fixture.h"

#define GB_PAGES (1000000000 / 4096) /* 244,140 */

static struct fixture f;

static void plan(const char *options)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "asymsched", options), 0);
}

static void distance(int i, int j, int d)
{
	f.distance[i * 4 + j] = f.distance[j * 4 + i] = d;
}

/* Four nodes, 20 from each other; the task on node 0 uses memory of nodes 0 and 1. */
static struct np_task *a_cluster(uint64_t pages0, uint64_t pages1)
{
	struct np_task *t;

	fixture_machine(&f, 4, 2);
	for (int i = 0; i < 4; i++) {
		f.node[i].mem_total = f.node[i].mem_free = 8ULL << 30;
		for (int j = 0; j < i; j++)
			distance(i, j, 20);
	}
	f.pages[0][0] = pages0;
	f.pages[0][1] = pages1;
	t = fixture_task(&f, 0, UNKNOWN, UNKNOWN);
	t->bandwidth = (struct np_known) { 1e9, NP_PROVENANCE_COUNTERS };
	return t;
}

static void left_alone(void)
{
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
}

/*
 * Nodes 0 and 2 are the best connected (12 against 20 and 30): the cluster 0-1 goes
 * there. Node 0 may stay, which moves the 100 pages of node 1; or go, which moves 400.
 */
TEST(goes_where_links_are_fast_and_moves_least)
{
	a_cluster(300, 100);
	distance(0, 1, 30);
	distance(0, 2, 12);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.after[0], 300);
	CU_ASSERT_EQUAL(f.after[1], 0);
	CU_ASSERT_EQUAL(f.after[2], 100);
	CU_ASSERT_EQUAL(f.after[3], 0);
}

/* The task's own node is the one to leave where 2 and 3 are the best pair. */
TEST(the_task_moves_with_its_memory)
{
	a_cluster(300, 100);
	distance(2, 3, 12);
	plan(NULL);
	CU_ASSERT(f.decision[0].to == 2 || f.decision[0].to == 3);
	CU_ASSERT_EQUAL(f.after[f.decision[0].to], 300);
	CU_ASSERT_EQUAL(f.after[5 - f.decision[0].to], 100);
}

/* Now at 13, at best 12: 12/13 = 92 % is close enough to stay; 12/14 = 86 % is not. */
TEST(ninety_percent_is_close_enough)
{
	a_cluster(300, 100);
	distance(2, 3, 12);
	distance(0, 1, 13);
	plan(NULL);
	left_alone();
	plan("close=95");
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 400);
	distance(0, 1, 14);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 400);
}

/* 1 GB takes 0.3 s: too long for a task that has run 5.9 s (5 %: 0.295 s), not after 6.1 s. */
TEST(a_move_must_pay)
{
	struct np_task *t = a_cluster(0, GB_PAGES);

	distance(0, 1, 30);
	distance(0, 2, 12);
	t->age_s = (struct np_known) { 5.9, NP_PROVENANCE_SAMPLED };
	plan(NULL);
	left_alone();
	CHECK_REASON(&f, 0,
		     "too large a share of the run time of task 100 (0.3 s for 1.00 GB, 6 s run)");
	t->age_s.value = 6.1;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, GB_PAGES);
}

/*
 * The limit is each task's own. The two move together, 1 GB (0.3 s) of the old one, 0.5 GB
 * (0.15 s) of the young one: after 2.9 s that is more than 5 % of its run time, and none
 * moves, though 5 % of the old one's are 5 s; after 3.1 s both move.
 */
TEST(each_task_has_its_own_limit)
{
	struct np_task *old = a_cluster(0, GB_PAGES), *young;

	distance(0, 1, 30);
	distance(0, 2, 12);
	old->age_s = (struct np_known) { 100, NP_PROVENANCE_KERNEL };
	f.pages[1][1] = GB_PAGES / 2;
	young = fixture_task(&f, 0, UNKNOWN, UNKNOWN);
	young->bandwidth = old->bandwidth;
	young->age_s = (struct np_known) { 2.9, NP_PROVENANCE_KERNEL };
	plan(NULL);
	left_alone();
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 0);
	CHECK_REASON(&f, 0, "of task 101 (0.1 s for 0.50 GB, 3 s run)");
	young->age_s.value = 3.1;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, GB_PAGES);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, GB_PAGES / 2);
}

/* A cpuset limits only tasks that would move; a task that stays may be confined. */
TEST(only_who_goes_must_be_free_to)
{
	static const uint8_t kept[] = { NP_MAY_HOLD, NP_MAY_HOLD, NP_MAY_HOLD, NP_MAY_HOLD };
	static const uint8_t nothing[4];

	a_cluster(300, 100);
	distance(0, 1, 30);
	distance(0, 2, 12);
	f.pages[1][3] = 100;
	fixture_task(&f, 3, UNKNOWN, UNKNOWN)->may = nothing;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 100);
	CHECK_REASON(&f, 1, "left alone: no better connected nodes for it");
	f.task[0].may = kept; /* it stays on node 0 and may have memory of node 2 */
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 100);
	f.task[0].may = nothing;
	plan(NULL);
	left_alone();
	CHECK_REASON(&f, 0, "a cpuset forbids");
}

/*
 * The clusters 0-1 and 2-3; the fast pair 0-2 is for the one with more traffic: 4 GB/s against
 * 1 GB/s, whether or not the accesses of the first are counted, which are 64 times fewer.
 */
TEST(weights_have_one_unit)
{
	static const double counted[] = { 3.1e7, 3.1e7, 0, 0 };
	struct np_task *first = a_cluster(300, 100), *second;

	distance(0, 2, 12);
	first->bandwidth.value = 4e9;
	f.pages[1][2] = 30;
	f.pages[1][3] = 10;
	second = fixture_task(&f, 2, UNKNOWN, UNKNOWN);
	second->bandwidth = (struct np_known) { 1e9, NP_PROVENANCE_COUNTERS };
	for (int i = 0; i < 2; i++) {
		plan("close=100");
		CHECK_TO(&f, NP_NODE_NONE, 1);
		f.task[0].accesses = counted;
	}
}

/* Traffic that stays on its node makes no cluster. */
TEST(local_tasks_stay)
{
	a_cluster(400, 0);
	distance(2, 3, 12);
	plan(NULL);
	left_alone();
	CHECK_REASON(&f, 0, "no better connected nodes");
}
