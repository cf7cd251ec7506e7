// SPDX-License-Identifier: GPL-2.0-only
/*
 * numad: answers worked out by hand from the rules of its source and manual: nothing
 * below 300 MB, nothing that is 90 % local, nodes filled to 85 %, and of the nodes that
 * fit the one with the most free CPUs x free MB / distance squared.
 */
#include "fixture.h"

#define PAGES_OF_MB(mb) ((uint64_t)((mb) * 1e6 / 4096))

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

/* 299 MB are ignored, 301 are not; its memory is on node 1, where all else is equal. */
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
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 1);
}

/* 91 of 100 pages on the node it runs on are enough, 89 are not. */
static void ninety_percent_local_is_left_alone(void)
{
	machine(4);
	add(0, 910, 90);
	plan(NULL);
	CHECK_REASON(&f, 0, "left alone: 91 %");
	machine(4);
	add(0, 890, 110);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, PAGES_OF_MB(110));
}

static void crowd(int node, int n)
{
	for (int i = 0; i < n; i++)
		add(node, node ? 0 : 1, node ? 1 : 0);
}

/*
 * 8 CPUs filled to 85 % are 6.8. Home is node 1, at 10 there and 21 from node 0. The
 * task counts what it has itself as free. Five others at home: 1.8 / 10^2 = 0.0180
 * beats 6.8 / 21^2 = 0.0154, though not with distances that are not squared (0.18, 0.32).
 */
static void home_wins_by_the_square_of_the_distance(void)
{
	machine(8);
	add(0, 0, 400);
	crowd(1, 5);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
}

/* 12 CPUs are 10.2; seven others at home: 3.2 / 100 beats 10.2 / 441 = 0.0231; eight: 2.2 / 100 does not. */
static void a_crowded_home_loses(void)
{
	machine(12);
	add(0, 0, 400);
	crowd(1, 7);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	machine(12);
	add(0, 0, 400);
	crowd(1, 8);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 0);
}

/* 10 CPUs are filled to 8.5: eight cores fit, nine do not, nor at 100 % eleven. */
static void nodes_are_filled_to_85_percent(void)
{
	machine(10);
	add(NP_NODE_NONE, 400, 0)->cores = 9;
	plan(NULL);
	CHECK_REASON(&f, 0, "no node has 9 CPUs");
	f.task[0].cores = 8;
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	f.task[0].cores = 10;
	plan("utilisation=100");
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
}

/* Two CPUs of 0.85 x 2 = 1.7 hold one of the two: the bigger, though it comes second. */
static void the_bigger_goes_first(void)
{
	machine(2);
	f.node[1].cpus = 0;
	add(NP_NODE_NONE, 0, 400);
	add(NP_NODE_NONE, 0, 500);
	plan(NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[1].to, 0);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, PAGES_OF_MB(500));
}

void add_numad_cases(void)
{
	CU_pSuite suite = CU_add_suite("numad by hand", NULL, NULL);

	CU_ADD_TEST(suite, below_300_mb_is_ignored);
	CU_ADD_TEST(suite, ninety_percent_local_is_left_alone);
	CU_ADD_TEST(suite, home_wins_by_the_square_of_the_distance);
	CU_ADD_TEST(suite, a_crowded_home_loses);
	CU_ADD_TEST(suite, nodes_are_filled_to_85_percent);
	CU_ADD_TEST(suite, the_bigger_goes_first);
}
