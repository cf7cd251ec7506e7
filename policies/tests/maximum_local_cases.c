// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "fixture.h"

static struct fixture f;

/* A task on node whose pages are all on home. */
static struct np_task *add(struct fixture *f, int node, int home, double penalty)
{
	f->pages[f->n][home] = 1000;
	return fixture_task(f, node, penalty, UNKNOWN);
}

TEST(goes_to_its_pages)
{
	fixture_machine(&f, 2, 2);
	add(&f, 1, 0, 1.3);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].from, 1);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_EQUAL(f.decision[0].home, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1.3, 1e-9);
	CHECK_REASON(&f, 0, "free core on its home node 0");
}

/* Four tasks at home on node 0, which has two cores: the two of lower penalty go. */
TEST(overflows_in_penalty_order)
{
	fixture_machine(&f, 2, 2);
	add(&f, NP_NODE_NONE, 0, 1.1);
	add(&f, NP_NODE_NONE, 0, 1.5);
	add(&f, NP_NODE_NONE, 0, 1.2);
	add(&f, NP_NODE_NONE, 0, 1.4);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "pages=stay"), 0);
	CHECK_TO(&f, 1, 0, 1, 0);
	CHECK_REASON(&f, 0, "no free core on home node 0, node 1 is the nearest with one");
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
}

TEST(pages_follow_an_overflow)
{
	fixture_machine(&f, 2, 1);
	add(&f, 0, 0, 1.5);
	add(&f, 0, 0, 1.2);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "rate=10"), 0);
	CU_ASSERT_EQUAL(f.decision[1].to, 1);
	CU_ASSERT_EQUAL(f.decision[1].pages_to, 1);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 1000);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[1].cost, 1000.0 / MIB_PAGES / 10, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[1].gain, 1, 1e-9);
}

/* Pages split three to one: the task goes to the node of the three, the rest follows. */
TEST(gathers_split_pages)
{
	fixture_machine(&f, 2, 2);
	f.pages[0][0] = 100;
	f.pages[0][1] = 300;
	fixture_task(&f, 0, 1.4, UNKNOWN);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 100);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1 + 0.4 * 0.75, 1e-9);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "pages=stay"), 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1.3 / 1.1, 1e-9);
}

/* With three nodes no task loses its home to a task that overflows. */
TEST(overflow_takes_no_ones_home)
{
	fixture_machine(&f, 3, 1);
	f.distance[2 * 3 + 0] = 31;
	add(&f, NP_NODE_NONE, 0, 1.9);
	add(&f, NP_NODE_NONE, 0, 1.8);
	add(&f, NP_NODE_NONE, 1, 1.1);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "pages=stay"), 0);
	CHECK_TO(&f, 0, 2, 1);
}

/* Distance counts from the CPUs to the memory: row of the CPU's node. */
TEST(overflow_by_asymmetric_distance)
{
	fixture_machine(&f, 3, 1);
	f.distance[1 * 3 + 0] = 30;
	f.distance[2 * 3 + 0] = 20;
	f.distance[0 * 3 + 1] = 20;
	f.distance[0 * 3 + 2] = 30;
	add(&f, NP_NODE_NONE, 0, 1.9);
	add(&f, NP_NODE_NONE, 0, 1.8);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "pages=stay"), 0);
	CU_ASSERT_EQUAL(f.decision[1].to, 2);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[1].penalty, 1.8, 1e-9);
}

TEST(equal_distance_means_lower_index)
{
	fixture_machine(&f, 4, 1);
	add(&f, NP_NODE_NONE, 2, 1.9);
	add(&f, NP_NODE_NONE, 2, 1.8);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "pages=stay"), 0);
	CU_ASSERT_EQUAL(f.decision[1].to, 0);
	f.task[1].node = 3;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "pages=stay"), 0);
	CU_ASSERT_EQUAL(f.decision[1].to, 3);
}

TEST(equal_penalty_keeps_who_is_at_home)
{
	fixture_machine(&f, 2, 1);
	add(&f, 1, 0, 1.5);
	add(&f, 0, 0, 1.5);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "pages=stay"), 0);
	CHECK_TO(&f, 1, 0);
}

TEST(a_task_of_two_cores_needs_two)
{
	fixture_machine(&f, 2, 2);
	add(&f, NP_NODE_NONE, 0, 1.9);
	add(&f, NP_NODE_NONE, 0, 1.5)->cores = 2;
	add(&f, NP_NODE_NONE, 0, 1.2)->cores = 3;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CHECK_TO(&f, 0, 1, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[2].pages_to, NP_NODE_NONE);
	CHECK_REASON(&f, 2, "keeps 3 CPUs busy, more than any node has: left to the kernel");
}

/* Five tasks on two nodes with one core each fill by load: 3 and 2. */
TEST(shares_when_there_are_more_tasks_than_cores)
{
	unsigned int on[2] = { 0, 0 };

	fixture_machine(&f, 2, 1);
	for (int i = 0; i < 5; i++)
		add(&f, NP_NODE_NONE, 0, 1.5 - 0.1 * i);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	for (int i = 0; i < 5; i++)
		on[f.decision[i].to]++;
	CU_ASSERT_EQUAL(on[0], 3);
	CU_ASSERT_EQUAL(on[1], 2);
	CHECK_REASON(&f, 2, "no free core left: shares node 0 (2 busy on 1 CPUs)");
	CHECK_REASON(&f, 3, "no free core left: shares node 1 (2 busy on 1 CPUs)");
}

TEST(home_without_cpus)
{
	fixture_machine(&f, 3, 2);
	f.node[0].cpus = 0;
	f.distance[1 * 3 + 0] = 31;
	add(&f, 1, 0, 1.5);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 2);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 2);
	CHECK_REASON(&f, 0, "home node 0 has no CPUs, node 2 is the nearest with a free core");
}

TEST(node_without_memory)
{
	fixture_machine(&f, 3, 1);
	f.node[1].has_memory = false;
	f.node[1].mem_total = f.node[1].mem_free = 0;
	f.distance[1 * 3 + 2] = 15;
	add(&f, 0, 0, 1.5);
	add(&f, 1, 0, 1.2);
	add(&f, 2, 2, 1.4);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[1].to, 1);
	CU_ASSERT_EQUAL(f.decision[1].pages_to, 2);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 1000);
}

TEST(without_pages)
{
	fixture_machine(&f, 2, 2);
	fixture_task(&f, 1, 1.5, UNKNOWN);
	add(&f, NP_NODE_NONE, 1, 1.4);
	fixture_task(&f, NP_NODE_NONE, 1.3, UNKNOWN);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	CU_ASSERT_EQUAL(f.decision[0].home, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "has no pages yet: node 1 is the nearest with a free core");
	CU_ASSERT_EQUAL(f.decision[2].to, 0);
	CHECK_REASON(&f, 2, "has no pages yet: node 0 is the least loaded");
}

/*
 * The first keeps CPUs of node 0 that were chosen for its threads: nothing binds it, and
 * no other task gets them, by n-mass neither. On both nodes it has as much of each.
 */
TEST(kept_cpus_are_not_free)
{
	static const char *const policies[] = { "maximum-local", "n-mass" };
	static const uint8_t may[] = { NP_MAY_HOLD, NP_MAY_HOLD };

	for (int i = 0; i < 2; i++) {
		fixture_machine(&f, 2, 4);
		add(&f, 0, 0, 1.1)->may = may;
		f.task[0].cores = 4;
		add(&f, 1, 0, 1.5)->cores = 2;
		CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policies[i], NULL), 0);
		CHECK_TO(&f, NP_NODE_NONE, 1);
		CHECK_REASON(&f, 0, "left where it runs: no node's CPUs may be given to it");
		CHECK_REASON(&f, 1, "no free core on home node 0");
		f.task[0].node = NP_NODE_NONE;
		CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policies[i], NULL), 0);
		CU_ASSERT_EQUAL(f.decision[1].to, 0);
		f.task[1].cores = 3;
		CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policies[i], NULL), 0);
		CHECK_REASON(&f, 1, "no free core left: shares node");
		f.task[0].on = (const uint8_t[]) { 1, 0 };
		CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policies[i], NULL), 0);
		CU_ASSERT_EQUAL(f.decision[1].to, 1);
	}
}

TEST(penalty_from_the_machine)
{
	fixture_machine(&f, 2, 1);
	add(&f, 1, 0, UNKNOWN);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].penalty, 2.1, 1e-9);
	CU_ASSERT_EQUAL(f.decision[0].penalty_source, NP_PROVENANCE_MACHINE);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", "penalty=1.25"), 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].penalty, 1.25, 1e-9);
	CU_ASSERT_EQUAL(f.decision[0].penalty_source, NP_PROVENANCE_DECLARED);
}

TEST(reasons_name_the_kernels_nodes)
{
	fixture_machine(&f, 2, 1);
	f.node[1].id = 8;
	add(&f, 0, 1, 1.5);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	CHECK_REASON(&f, 0, "free core on its home node 8");
}

TEST(none_touches_nothing)
{
	fixture_machine(&f, 2, 1);
	add(&f, 1, 0, 1.5);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "none", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].from, 1);
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1, 0);
	CHECK_REASON(&f, 0, "left to the kernel");
}

TEST(refuses_senseless_input)
{
	fixture_machine(&f, 2, 1);
	add(&f, 0, 0, 1.5);
	f.task[0].node = 2;
	CU_ASSERT_EQUAL(fixture_plan(&f, "maximum-local", NULL), -EINVAL);
	f.task[0].node = 0;
	f.task[0].cores = 0;
	CU_ASSERT_EQUAL(fixture_plan(&f, "maximum-local", NULL), -EINVAL);
	f.task[0].cores = 1;
	f.task[0].penalty = -1.5;
	CU_ASSERT_EQUAL(fixture_plan(&f, "maximum-local", NULL), -EINVAL);
	f.task[0].penalty = 1.5;
	f.node[0].cpus = f.node[1].cpus = 0;
	CU_ASSERT_EQUAL(fixture_plan(&f, "maximum-local", NULL), -EINVAL);
}
