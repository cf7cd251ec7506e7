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
	for (size_t i = 0; i < n; i++)
		out->decision[i].to = out->decision[i].pages_to = 1;
	return 0;
}

static const char *reject(const struct np_options *o, const struct np_known *throughput,
			  const struct np_known *fairness)
{
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

TEST(a_plan_that_is_not_rejected_stands)
{
	plan_rejecting(NULL);
	CU_ASSERT_EQUAL(f.plan.decision[0].to, 1);
	CU_ASSERT_EQUAL(f.plan.pages_after[1], 90);
	np_plan_free(&f.plan);
}

TEST(a_rejected_plan_leaves_every_task_alone)
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

TEST(a_plan_that_brings_less_than_its_policy_asks_for_is_rejected)
{
	CU_ASSERT_EQUAL(plan_home(0), 1);
	CU_ASSERT_EQUAL(plan_home(1.001), 1);
	CU_ASSERT_EQUAL(plan_home(10), NP_NODE_NONE);
}
