// SPDX-License-Identifier: GPL-2.0-only
/* A policy that rejects its own finished plan. */
#include "../predict/derive_model.h"
#include "fixture.h"

static struct fixture f;
static const char *answer; /* of reject() */

/* Every task and its pages to node 1. */
static int to_node_1(const struct np_machine *m, const struct np_task *tasks, size_t n,
		     const struct np_options *o, struct np_plan *out)
{
	(void)m, (void)tasks, (void)o;
	for (size_t i = 0; i < n; i++)
		out->decision[i].to = out->decision[i].pages_to = 1;
	return 0;
}

static const char *reject(const struct np_options *o, const struct np_known *throughput,
			  const struct np_known *fairness)
{
	(void)o;
	CU_ASSERT(throughput[1].value >= 0 && fairness[1].value >= 0);
	return answer;
}

static const struct np_policy rejecting = { .name = "rejecting",
					    .plan = to_node_1,
					    .reject = reject };

static void plan_rejecting(const char *reason)
{
	answer = reason;
	fixture_machine(&f, 2, 2);
	f.pages[0][0] = 90;
	fixture_task(&f, 0, UNKNOWN, UNKNOWN);
	CU_ASSERT_EQUAL_FATAL(np_plan_init(&f.plan, &f.m, f.n), 0);
	np_options_defaults(&rejecting, &f.options);
	CU_ASSERT_EQUAL(np_policy_plan(&rejecting, &f.m, f.task, f.n, &f.options, &f.plan), 0);
}

static void a_plan_that_is_not_rejected_stands(void)
{
	plan_rejecting(NULL);
	CU_ASSERT_EQUAL(f.plan.decision[0].to, 1);
	CU_ASSERT_EQUAL(f.plan.pages_after[1], 90);
	np_plan_free(&f.plan);
}

static void a_rejected_plan_leaves_every_task_alone(void)
{
	plan_rejecting("left alone: rejected");
	CU_ASSERT_EQUAL(f.plan.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.plan.decision[0].pages_to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.plan.pages_after[0], 90);
	CU_ASSERT_STRING_EQUAL(f.plan.decision[0].reason, "left alone: rejected");
	np_plan_free(&f.plan);
}

static double least_gain;

/* Asked by itself: its option table is empty, what it knows is its name. */
static int home(const struct np_policy *self, const struct np_machine *m,
		const struct np_task *tasks, size_t n, const struct np_options *o,
		struct np_plan *out)
{
	(void)m, (void)tasks, (void)o;
	CU_ASSERT_STRING_EQUAL(self->name, "home");
	for (size_t i = 0; i < n; i++)
		out->decision[i].to = out->decision[i].home;
	out->least_gain = least_gain;
	return 0;
}

/* One task away from its pages; its node after planning. */
static int plan_home(double least)
{
	static const struct np_policy policy = { .name = "home", .plan_as = home };
	static struct np_model model;
	char why[200];
	int to;

	least_gain = least;
	fixture_machine(&f, 2, 2);
	f.pages[0][1] = 90000;
	fixture_task(&f, 0, UNKNOWN, 20);
	CU_ASSERT_EQUAL_FATAL(np_model_derive(&model, &f.m, why, sizeof(why)), 0);
	f.m.model = &model;
	CU_ASSERT_EQUAL_FATAL(np_plan_init(&f.plan, &f.m, f.n), 0);
	CU_ASSERT_EQUAL(np_policy_plan(&policy, &f.m, f.task, f.n, &f.options, &f.plan), 0);
	to = f.plan.decision[0].to;
	CU_ASSERT_EQUAL(!strncmp(f.plan.decision[0].reason, "left alone: the plan is predicted",
				 33),
			to == NP_NODE_NONE);
	np_plan_free(&f.plan);
	return to;
}

static void a_plan_that_brings_less_than_its_policy_asks_for_is_rejected(void)
{
	CU_ASSERT_EQUAL(plan_home(0), 1);
	CU_ASSERT_EQUAL(plan_home(1.001), 1);
	CU_ASSERT_EQUAL(plan_home(10), NP_NODE_NONE);
}

/* Two on node 0 that exchange messages, of which one goes to its pages; its node after planning. */
static int take_apart(const char *policy, bool talk, double messages)
{
	fixture_machine(&f, 2, 2);
	f.pages[0][0] = f.pages[1][1] = 90000;
	for (int i = 0; i < 2; i++) {
		struct np_task *t = fixture_task(&f, 0, 1.5, UNKNOWN);

		t->group = talk;
		t->messages = (struct np_known) { messages, NP_PROVENANCE_KERNEL };
	}
	f.task[1].shared_pages = 90000;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policy, NULL), 0);
	return f.decision[1].to;
}

/* A group that may not be taken apart keeps its nodes; the pages of its tasks move. */
static void pages_move_where_tasks_may_not(void)
{
	fixture_machine(&f, 2, 2);
	f.pages[0][0] = f.pages[1][1] = 90000;
	for (int i = 0; i < 2; i++)
		fixture_task(&f, 0, 1.5, UNKNOWN)->group = 1;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "measured", "pages=stay"), 0);
	CU_ASSERT_NOT_EQUAL(f.decision[1].to, 1);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "measured", NULL), 0);
	CU_ASSERT(f.decision[1].to != 1 && f.decision[1].pages_to == 0);
}

/* What messages cost is known where they were counted; a policy without predictions acts. */
static void a_plan_that_may_lose_more_than_it_gains_is_rejected(void)
{
	CU_ASSERT_EQUAL(take_apart("measured", false, 0), 1);
	CU_ASSERT_NOT_EQUAL(take_apart("measured", true, 0), 1);
	CU_ASSERT_EQUAL(take_apart("measured", true, 1e6), 1);
	CU_ASSERT_NOT_EQUAL(take_apart("measured", true, 1e9), 1);
	CU_ASSERT_EQUAL(take_apart("maximum-local", true, 0), 1);
}

static CU_TestInfo reject_tests[] = {
	TEST(a_plan_that_is_not_rejected_stands),
	TEST(a_rejected_plan_leaves_every_task_alone),
	TEST(a_plan_that_brings_less_than_its_policy_asks_for_is_rejected),
	TEST(pages_move_where_tasks_may_not),
	TEST(a_plan_that_may_lose_more_than_it_gains_is_rejected),
	CU_TEST_INFO_NULL,
};

TEST_SUITE("plans that their policy rejects", reject_tests);
