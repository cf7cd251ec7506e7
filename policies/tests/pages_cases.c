// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "fixture.h"

#define MIB (1ULL << 20)

static struct fixture f;

static void add(struct fixture *f, int node, int home, uint64_t pages, double penalty)
{
	f->pages[f->n][home] = pages;
	fixture_task(f, node, penalty, UNKNOWN);
}

/* 100 MiB want to go where 60 MiB are free, of which a 64th of 1 GiB stays reserved. */
TEST(a_full_node_gets_what_fits)
{
	fixture_machine(&f, 2, 1);
	f.node[1].mem_free = 60 * MIB;
	add(&f, 0, 0, 1000, 1.9);
	add(&f, 0, 0, 100 * MIB_PAGES, 1.2);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[1].to, 1);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, (60 - 16) * MIB_PAGES);
	CHECK_REASON(&f, 1, "memory for 11264 of its pages");
	CU_ASSERT_DOUBLE_EQUAL(f.decision[1].gain, 1 / (1 + 0.2 * 0.56), 1e-9);
}

/* Shared memory is home, and stays where it is; its own pages go where the task goes. */
TEST(shared_memory_counts_and_stays)
{
	const uint64_t on_1[] = { 0, 1000 };

	fixture_machine(&f, 2, 1);
	f.pages[0][0] = 100;
	f.pages[0][1] = 1000;
	fixture_task(&f, 0, 1.5, UNKNOWN)->shm_pages = on_1;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT(f.decision[0].home == 1 && f.decision[0].to == 1);
	CU_ASSERT(f.after[0] == 0 && f.after[1] == 1100);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 100);
	/* Node 1 has no CPU: the shared memory stays remote. */
	f.node[1].cpus = 0;
	f.pages[0][0] = 0;
	f.pages[0][1] = 1100;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT(f.decision[0].to == 0 && f.decision[0].home == 1);
	CU_ASSERT(f.after[0] == 100 && f.after[1] == 1000);
}

TEST(high_penalty_gets_the_memory)
{
	fixture_machine(&f, 3, 2);
	f.node[0].cpus = 0;
	f.node[1].mem_free = 66 * MIB;
	f.node[2].cpus = 0;
	add(&f, 1, 0, 40 * MIB_PAGES, 1.1);
	add(&f, 1, 0, 40 * MIB_PAGES, 1.9);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 40 * MIB_PAGES);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 10 * MIB_PAGES);
}

/* Two tasks change nodes: what one frees counts for the other. */
TEST(exchange_counts_what_leaves)
{
	fixture_machine(&f, 2, 1);
	f.node[0].mem_free = f.node[1].mem_free = 50 * MIB;
	f.pages[0][0] = 101 * MIB_PAGES;
	f.pages[0][1] = 100 * MIB_PAGES;
	fixture_task(&f, 0, 1.5, UNKNOWN);
	f.pages[1][0] = 100 * MIB_PAGES;
	f.pages[1][1] = 101 * MIB_PAGES;
	fixture_task(&f, 1, 1.5, UNKNOWN);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 100 * MIB_PAGES);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 100 * MIB_PAGES);
	f.node[0].mem_free = 0;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 100 * MIB_PAGES);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 100 * MIB_PAGES);
	f.node[1].mem_free = 16 * MIB;
	f.pages[1][0] = 90 * MIB_PAGES;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 90 * MIB_PAGES);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 90 * MIB_PAGES);
	CHECK_REASON(&f, 0, "memory for 23040 of its pages");
}

TEST(gain_counts_distance)
{
	fixture_machine(&f, 3, 1);
	f.distance[2 * 3 + 0] = 43;
	add(&f, 2, 0, 1000, 1.2);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1 + 0.2 * 33 / 11, 1e-9);
}

/* Unpinned on two equal nodes it reaches half of its memory remotely. */
TEST(gain_of_a_task_on_several_nodes)
{
	fixture_machine(&f, 2, 2);
	add(&f, NP_NODE_NONE, 1, 1000, 1.4);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "maximum-local", NULL), 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1.2, 1e-9);
}
