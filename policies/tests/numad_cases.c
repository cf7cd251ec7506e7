// SPDX-License-Identifier: GPL-2.0-only
/*
 * numad: answers worked out by hand from its source. MB are 2^20 bytes. A node's magnitude
 * is (10 MB needed + 4 to spare) x (6 CPUs needed + 1 to spare); what the task has itself
 * counts as free, its memory 5/4 times where it is bound, 17/16 where it is not.
 */
#include "fixture.h"

#define PAGES_OF_MB(mb) ((uint64_t)(mb) * 256) /* numad counts in 2^20 bytes */

static struct fixture f;

static void machine(unsigned int cpus)
{
	fixture_machine(&f, 2, cpus);
	for (int i = 0; i < 2; i++)
		f.node[i].mem_total = f.node[i].mem_free = 64ULL << 30;
}

static struct np_task *add(int node, double mb0, double mb1)
{
	f.pages[f.n][0] = PAGES_OF_MB(mb0);
	f.pages[f.n][1] = PAGES_OF_MB(mb1);
	f.node[0].mem_free -= f.pages[f.n][0] * 4096;
	f.node[1].mem_free -= f.pages[f.n][1] * 4096;
	return fixture_task(&f, node, UNKNOWN, UNKNOWN);
}

static void plan(const char *options)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "numad", options), 0);
}

/* 299 MB are ignored, 301 are not. */
static void below_300_mb_is_ignored(void)
{
	machine(4);
	add(0, 0, 299);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "ignored");
	machine(4);
	add(0, 0, 301);
	plan(NULL);
	CU_ASSERT_NOT_EQUAL(f.decision[0].to, NP_NODE_NONE);
}

/*
 * All else equal, 1 GB of others' on each node: node 1 has 400 MB of the task's, counted
 * as 500 free, so 100 MB more than node 0. With the nodes empty but for the task both
 * are entirely free for it, and the first is taken.
 */
static void its_memory_biases(void)
{
	machine(4);
	f.node[0].mem_free -= 1000000000;
	f.node[1].mem_free -= 1000000000;
	add(0, 0, 400);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 1);
	machine(4);
	add(0, 0, 400);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, PAGES_OF_MB(400));
}

/* 91 of 100 pages on the node it runs on are enough, 89 are not; not where another is better. */
static void ninety_percent_local_is_left_alone(void)
{
	machine(4);
	add(0, 910, 90);
	plan(NULL);
	CHECK_REASON(&f, 0, "left alone: its node is the best, and has 91 %");
	machine(4);
	add(0, 890, 110);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, PAGES_OF_MB(110));
	machine(4);
	add(0, 910, 90);
	for (int i = 0; i < 3; i++)
		add(0, 1, 0);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
}

static void crowd(int node, int n)
{
	for (int i = 0; i < n; i++)
		add(node, node ? 0 : 1, node ? 1 : 0);
}

/*
 * Of 8 CPUs five others are busy at home, node 1: 3 free there, 6 x 1 + 2 = 8. On node 0,
 * where it runs, with its own all 8 are: 6 x 1 + 7 = 13. Memory is nearly the same, and
 * the distance to its memory counts for nothing.
 */
static void a_crowded_home_loses(void)
{
	machine(8);
	add(0, 0, 400);
	crowd(1, 5);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 0);
}

/* Needed CPUs weigh six times the spare: 6 x 4 of 4 beat 6 x 3 of 3, that have 2 GB more. */
static void what_is_needed_weighs_most(void)
{
	machine(4);
	f.node[0].mem_free -= 2000000000;
	add(NP_NODE_NONE, 400, 0)->cores = 4;
	f.task[0].threads = 4;
	crowd(1, 1);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
}

/*
 * 10 CPUs at 85 %: half of the 15 % may be missing, 0.75. Ten of ten threads ask for 10,
 * which one node has; eleven ask for 11 and take both.
 */
static void bigger_than_a_node(void)
{
	machine(10);
	add(NP_NODE_NONE, 400, 0)->cores = 10;
	f.task[0].threads = 10;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	f.task[0].threads = f.task[0].cores = 11;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[0].nodes, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "left alone: nodes 0 and 1, which it has, are the best");
}

/* Four nodes of 4 CPUs in two pairs, 3 CPUs of the first busy; and a task that needs 6. */
static void two_pairs(void)
{
	fixture_machine(&f, 4, 4);
	for (int i = 0; i < 4; i++) {
		f.node[i].mem_total = f.node[i].mem_free = 64ULL << 30;
		for (int j = 0; j < 4; j++)
			f.distance[i * 4 + j] = i == j ? 10 : i / 2 == j / 2 ? 16 : 40;
	}
	add(0, 1, 0)->cores = 3;
	add(NP_NODE_NONE, 0, 400)->cores = 6;
	f.task[1].threads = 6;
}

/* A task that needs two nodes takes a pair at distance 16, not 40. */
static void several_nodes_are_near(void)
{
	two_pairs();
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[1].to, NP_NODE_NONE);
	CHECK_REASON(&f, 1, "nodes 2 and 3 have the most");
	CU_ASSERT_EQUAL_FATAL(f.decision[1].nodes, 0);
	CU_ASSERT_EQUAL(memcmp(f.plan.spread, "\0\0\1\1", 4), 0);
	CU_ASSERT_EQUAL(f.after[4 + 1], 0);
	CU_ASSERT(f.after[4 + 2] && f.after[4 + 2] == f.after[4 + 3]);
	/* Its nodes already, and 90 % there: left; 80 %: the rest is fetched. */
	f.task[1].on = (const uint8_t *)"\0\0\1\1";
	f.pages[1][0] = f.pages[1][1] = 0;
	f.pages[1][1] = PAGES_OF_MB(10);
	f.pages[1][2] = PAGES_OF_MB(400);
	plan(NULL);
	CHECK_REASON(&f, 1, "left alone: nodes 2 and 3, which it has, are the best, and have 98 %");
	f.pages[1][1] = PAGES_OF_MB(100);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, f.pages[1][1]);
}

/*
 * The second needs 4 CPUs, which only node 1 has beside the 3 and the 6, shared by nodes 2
 * and 3: 6 x 4 there, 6 x 2 elsewhere, its own counted. Planned again, the 6 are where they were.
 */
static void who_is_left_on_several_nodes_keeps_its_cpus(void)
{
	two_pairs();
	f.node[1].mem_free -= 2000000000;
	add(NP_NODE_NONE, 80, 80)->cores = 4;
	f.pages[2][2] = f.pages[2][3] = PAGES_OF_MB(80);
	f.task[2].threads = 4;
	plan(NULL);
	CHECK_REASON(&f, 1, "nodes 2 and 3 have the most");
	CU_ASSERT_EQUAL(f.decision[2].to, 1);
	f.task[1].on = (const uint8_t *)"\0\0\1\1";
	memset(f.pages[1], 0, sizeof(f.pages[1]));
	f.pages[1][2] = f.pages[1][3] = PAGES_OF_MB(200);
	plan(NULL);
	CHECK_REASON(&f, 1, "left alone: nodes 2 and 3, which it has, are the best");
	CU_ASSERT_EQUAL(f.decision[2].to, 1);
	/* Done: its own CPUs are free for it, and no others are. */
	f.task[2].node = 1;
	memset(f.pages[2], 0, sizeof(f.pages[2]));
	f.pages[2][1] = PAGES_OF_MB(320);
	plan(NULL);
	CHECK_REASON(&f, 1, "left alone: nodes 2 and 3, which it has, are the best");
	CHECK_REASON(&f, 2, "left alone: its node is the best");
}

/*
 * Of 6 and 4 CPUs the first needs 9 and keeps 5 and 4, so that 1 and 0 are free. With all
 * free it would be 6 + 5 against 6 + 3, too little for 20 GB less.
 */
static void who_is_left_on_all_nodes_keeps_its_cpus(void)
{
	machine(4);
	f.node[0].cpus = 6;
	f.node[0].mem_free -= 20000000000;
	add(NP_NODE_NONE, 400, 400)->cores = 9;
	f.task[0].threads = 9;
	add(NP_NODE_NONE, 160, 160);
	plan(NULL);
	CHECK_REASON(&f, 0, "left alone: nodes 0 and 1, which it has, are the best");
	CU_ASSERT_EQUAL(f.decision[1].to, 0);
}

/* 65,536 MiB of a node hold the 85 % of 55,000 MiB, not of 57,000. */
static void memory_too_is_given_at_85_percent(void)
{
	machine(4);
	add(NP_NODE_NONE, 27500, 27500);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	machine(4);
	add(NP_NODE_NONE, 28500, 28500);
	plan(NULL);
	CHECK_REASON(&f, 0, "left alone: nodes 0 and 1, which it has, are the best");
}

/* Two CPUs each: the larger task gets the node with 369 MB more to spare, the smaller the other. */
static void the_bigger_goes_first(void)
{
	machine(2);
	add(NP_NODE_NONE, 0, 400)->cores = 2;
	add(NP_NODE_NONE, 0, 500)->cores = 2;
	f.task[0].threads = f.task[1].threads = 2;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[1].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
}

/*
 * It may run everywhere and last ran on node 1: not bound. Its 400 MB of node 0 count 17/16 times,
 * and its CPU is free there, where its memory is. One that is bound to node 0, and has its 90 %
 * there, is left.
 */
static void where_it_last_ran_is_no_binding(void)
{
	machine(4);
	add(1, 400, 0)->on = (const uint8_t *)"\1\1";
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	machine(4);
	add(0, 400, 0)->on = (const uint8_t *)"\1\1";
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
	f.task[0].on = (const uint8_t *)"\1\0";
	plan(NULL);
	CHECK_REASON(&f, 0, "left alone: its node is the best, and has 100 %");
}

/*
 * All 8 CPUs are others'. 3 CPUs at 85 % are 3.5, more than the 3 that it has itself, so numad
 * goes by memory, which one node has: not both, for half a CPU.
 */
static void on_an_overcommitted_machine_memory_decides(void)
{
	machine(4);
	for (int i = 0; i < 2; i++) {
		add(i, i ? 0 : 400, i ? 400 : 0)->cores = 4;
		f.task[i].on = (const uint8_t *)(i ? "\0\1" : "\1\0");
	}
	add(NP_NODE_NONE, 2000, 0)->cores = 3;
	f.task[2].threads = 8;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[2].to, 0);
}

static CU_TestInfo numad_tests[] = {
	TEST(below_300_mb_is_ignored),
	TEST(its_memory_biases),
	TEST(ninety_percent_local_is_left_alone),
	TEST(a_crowded_home_loses),
	TEST(what_is_needed_weighs_most),
	TEST(bigger_than_a_node),
	TEST(several_nodes_are_near),
	TEST(who_is_left_on_several_nodes_keeps_its_cpus),
	TEST(who_is_left_on_all_nodes_keeps_its_cpus),
	TEST(memory_too_is_given_at_85_percent),
	TEST(the_bigger_goes_first),
	TEST(where_it_last_ran_is_no_binding),
	TEST(on_an_overcommitted_machine_memory_decides),
	CU_TEST_INFO_NULL,
};

TEST_SUITE("numad by hand", numad_tests);
