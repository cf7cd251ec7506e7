// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "fixture.h"

static struct fixture f;

/* A task at home on node 0 of a machine with two nodes of two CPUs. */
static void add(struct fixture *f, double penalty, double mpki)
{
	f->pages[f->n][0] = 1000;
	fixture_task(f, 0, penalty, mpki);
}

/* Both press on node 0's cache; the one whose penalty is low leaves. */
TEST(moves_low_penalty_leaves_high_penalty)
{
	fixture_machine(&f, 2, 2);
	add(&f, 1.8, 30);
	add(&f, 1.1, 28);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	CHECK_REASON(&f, 0, "leaving is worth 56 %, costs 80 %");
	CU_ASSERT_EQUAL(f.decision[1].to, 1);
	CHECK_REASON(&f, 1, "58 MPKI on node 0, 0 on node 1");
	CHECK_REASON(&f, 1, "worth 56 %, distance costs 10 %");
	CU_ASSERT_EQUAL(f.decision[1].pages_to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[1].pages_to_move, 0);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[1].gain, 1.56 / 1.1, 1e-9);
	CU_ASSERT_EQUAL(f.decision[1].gain_source, NP_PROVENANCE_ASSUMED);
	CU_ASSERT_EQUAL(f.decision[0].gain_source, NP_PROVENANCE_PENALTY);
}

/* The rule in numbers: worth 2 * 20 * relief against 0.3 + hysteresis. */
TEST(weighs_by_its_options)
{
	static const struct {
		const char *options;
		int to;
	} cases[] = {
		{ "relief=0.01,hysteresis=0.05", 1 },
		{ "relief=0.01,hysteresis=0.11", 0 },
		{ "relief=0.007,hysteresis=0", 0 },
		{ "relief=0.008,hysteresis=0", 1 },
		{ "relief=0", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fixture_machine(&f, 2, 2);
		add(&f, 1.3, 20);
		add(&f, 3, 20);
		CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", cases[i].options), 0);
		CHECK_TO(&f, cases[i].to, 0);
	}
}

/* A move that would only swap the pressures is none. */
TEST(one_task_alone_stays)
{
	fixture_machine(&f, 2, 2);
	add(&f, 1, 100);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", "hysteresis=0"), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
}

/* Between winning nothing and winning the hysteresis it stays where it runs. */
TEST(hysteresis_holds_both_ways)
{
	fixture_machine(&f, 2, 2);
	add(&f, 1.38, 20);
	add(&f, 3, 20);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 0);
	f.task[0].node = 1;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
}

TEST(needs_a_free_core)
{
	fixture_machine(&f, 2, 2);
	add(&f, 1, 40);
	add(&f, 1.01, 40);
	for (int i = 0; i < 2; i++) {
		f.pages[f.n][1] = 1000;
		fixture_task(&f, 1, 1.5, 0);
	}
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", NULL), 0);
	CHECK_TO(&f, 0, 0);
}

TEST(says_when_no_mpki_is_known)
{
	fixture_machine(&f, 2, 2);
	add(&f, 1, UNKNOWN);
	add(&f, 1, UNKNOWN);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", NULL), 0);
	CHECK_TO(&f, 0, 0);
	CHECK_REASON(&f, 0, "no task's MPKI is known");
}

/* Of several nodes the one that wins most: no pressure and near. */
TEST(chooses_among_four_nodes)
{
	fixture_machine(&f, 4, 2);
	f.distance[2 * 4 + 0] = 43;
	add(&f, 1.1, 50);
	add(&f, 9, 50);
	f.pages[f.n][1] = 1000;
	fixture_task(&f, 1, 1.5, 30);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", NULL), 0);
	CHECK_TO(&f, 3, 0, 1);
}

TEST(busy_cores_count)
{
	fixture_machine(&f, 2, 4);
	add(&f, 1.2, 10);
	f.task[0].cores = 2;
	add(&f, 9, 10);
	f.task[1].cores = 2;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", NULL), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	CHECK_REASON(&f, 0, "40 MPKI on node 0");
}

TEST(pages_may_follow)
{
	fixture_machine(&f, 2, 2);
	add(&f, 1.8, 30);
	add(&f, 1.9, 28);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "n-mass", "pages=follow"), 0);
	CU_ASSERT_EQUAL(f.decision[0].to, 1);
	CU_ASSERT_EQUAL(f.decision[0].pages_to, 1);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 1000);
	CU_ASSERT_EQUAL(f.decision[1].to, 0);
}
