// SPDX-License-Identifier: GPL-2.0-only
/* remote, interleave and weighted: answers worked out by hand from their rules. */
#include "fixture.h"
#include "model_fixture.h"

static struct fixture f;

static void plan(const char *policy, const char *options)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policy, options), 0);
}

static struct np_task *add(int node, int home, uint64_t pages)
{
	f.pages[f.n][home] = pages;
	return fixture_task(&f, node, UNKNOWN, UNKNOWN);
}

static void distance(int i, int j, int d)
{
	f.distance[i * (int)f.m.n_nodes + j] = f.distance[j * (int)f.m.n_nodes + i] = d;
}

static void pages_are(size_t task, const uint64_t *pages)
{
	for (size_t node = 0; node < f.m.n_nodes; node++)
		CU_ASSERT_EQUAL(f.after[task * f.m.n_nodes + node], pages[node]);
}

/* Home 0; node 1 is 15 from it and node 2 is 30: nearest 1, farthest 2. */
TEST(remote_leaves_home)
{
	fixture_machine(&f, 3, 1);
	distance(0, 1, 15);
	distance(0, 2, 30);
	add(0, 0, 90);
	plan("remote", NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	pages_are(0, (uint64_t[]) { 90, 0, 0 });
	plan("remote", "which=farthest");
	CU_ASSERT_EQUAL(f.decision[0].to, 2);
	plan("remote", "move=pages");
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	pages_are(0, (uint64_t[]) { 0, 90, 0 });
	plan("remote", "move=pages,which=farthest");
	pages_are(0, (uint64_t[]) { 0, 0, 90 });
}

TEST(remote_leaves_a_task_on_isolated_cpus_unbound)
{
	fixture_machine(&f, 2, 1);
	f.node[1].cpus = 0;
	add(1, 1, 90);
	plan("remote", "move=pages");
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	pages_are(0, (uint64_t[]) { 90, 0 });
}

/* One CPU a node: the second task finds the nearest taken, the third no other than its home. */
TEST(remote_shares_no_cpu)
{
	fixture_machine(&f, 3, 1);
	distance(0, 1, 15);
	distance(0, 2, 30);
	for (int i = 0; i < 3; i++)
		add(0, 0, 90);
	plan("remote", NULL);
	CHECK_TO(&f, 1, 2, NP_NODE_NONE);
	CHECK_REASON(&f, 2, "no other node than its home 0 has free CPUs");
}

/* 90 pages over three nodes with memory are 30 each; over those with CPUs too, 45 each. */
TEST(interleave_is_even)
{
	fixture_machine(&f, 4, 1);
	f.node[3].has_memory = false;
	f.node[3].mem_total = f.node[3].mem_free = 0;
	f.node[1].cpus = 0;
	add(0, 0, 90);
	plan("interleave", NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 60);
	pages_are(0, (uint64_t[]) { 30, 30, 30, 0 });
	plan("interleave", "over=cpus");
	pages_are(0, (uint64_t[]) { 45, 0, 45, 0 });
}

/* Without a model distances 10 and 20 count as 1/10 : 1/20 = 2 : 1; the fixture would derive one. */
TEST(weighted_by_distance)
{
	const struct np_policy *p = np_policy_find("weighted");

	fixture_machine(&f, 2, 1);
	distance(0, 1, 20);
	add(0, 0, 90);
	np_options_defaults(p, &f.options);
	CU_ASSERT_EQUAL_FATAL(np_plan_init(&f.plan, &f.m, 1), 0);
	CU_ASSERT_EQUAL_FATAL(np_policy_plan(p, &f.m, f.task, 1, &f.options, &f.plan), 0);
	CU_ASSERT_EQUAL(f.plan.pages_after[0], 60);
	CU_ASSERT_EQUAL(f.plan.pages_after[1], 30);
	np_plan_free(&f.plan);
}

/* Nothing says how fast CPUs that are given to nobody reach a node. */
TEST(weighted_leaves_a_task_on_isolated_cpus)
{
	fixture_machine(&f, 2, 1);
	f.node[1].cpus = 0;
	add(1, 1, 90);
	plan("weighted", NULL);
	CHECK_REASON(&f, 0, "all CPUs of its node are isolated");
	pages_are(0, (uint64_t[]) { 0, 90 });
}

/*
 * A core keeps 10 lines of 64 bytes in flight: at 80 ns that is 8 GB/s, at
 * 80 + 40 ns it is 5.33 GB/s, which nothing else limits. 3 : 2, as percent of
 * the greater 100 : 67; of 167 pages 100 and 67. Half of the pages for others
 * kept at home: 0.6 + 0.4 / 2 = 0.8 and 0.2, that is 100 : 25.
 */
TEST(weighted_by_bandwidth)
{
	struct np_model model = model_of(
		"machine name=x line_bytes=64\n"
		"node 0 core_outstanding=10 port_remote_weight=1 dram_bytes_per_s=1e12 dram_latency_ns=80\n"
		"node 1 core_outstanding=10 port_remote_weight=1 dram_bytes_per_s=1e12 dram_latency_ns=80\n"
		"link 0 1 bytes_per_s=1e12 latency_ns=40 header_bytes=8\n");

	fixture_machine(&f, 2, 1);
	f.m.model = &model;
	add(0, 0, 167);
	plan("weighted", NULL);
	CHECK_REASON(&f, 0, "0:100 1:67");
	pages_are(0, (uint64_t[]) { 100, 67 });
	f.pages[0][0] = 125;
	plan("weighted", "proximity=0.5");
	pages_are(0, (uint64_t[]) { 100, 25 });
	plan("weighted", "proximity=1");
	pages_are(0, (uint64_t[]) { 125, 0 });
}
