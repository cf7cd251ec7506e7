// SPDX-License-Identifier: GPL-2.0-only
/* Gains of tasks that exchange messages, against what can be worked out by hand. */
#include "../plan/groups.h"
#include "fixture.h"
#include "model_fixture.h"

static struct np_machine m;
static struct np_model model;
static struct np_task task[3];
static struct np_decision decision[3];
static bool late[3];
static struct np_plan plan;

static void member(unsigned int group, double busy, double gain)
{
	task[plan.n] = (struct np_task) {
		.cores = 1,
		.group = group,
		.busy = { busy, NP_PROVENANCE_KERNEL },
	};
	decision[plan.n++] = (struct np_decision) { .gain = gain,
						    .to = NP_NODE_NONE,
						    .nodes = NP_NODE_NONE };
}

/* Nodes of a task that is in the plan: now and afterwards. */
static void moves(size_t i, int from, int to)
{
	decision[i].from = from;
	decision[i].to = to;
}

static void begin(void)
{
	memset(late, 0, sizeof(late));
	model = model_of("machine name=x line_bytes=64\n"
			 "node 0 core_outstanding=16 dram_bytes_per_s=2e10 dram_latency_ns=80\n"
			 "node 1 core_outstanding=16 dram_bytes_per_s=2e10 dram_latency_ns=80\n"
			 "link 0 1 bytes_per_s=1e10 latency_ns=20 header_bytes=8\n");
	m = (struct np_machine) { .model = &model, .n_nodes = 2 };
	plan = (struct np_plan) { .decision = decision };
}

static void gains(void)
{
	CU_ASSERT_EQUAL(np_gain_groups(&m, task, &plan, late), 0);
}

static void alone_a_gain_is_itself(void)
{
	begin();
	member(0, 0.5, 1.3);
	late[0] = true;
	gains();
	CU_ASSERT(decision[0].gain == 1.3 && decision[0].gain_least == 1.3 &&
		  decision[0].gain_most == 1.3);
}

/* A round takes 0.6 of one and 0.4 of the other; the first one's part takes half as long. */
static void two_in_turn(void)
{
	begin();
	member(1, 0.6, 1 / 0.7);
	member(1, 0.4, 1);
	gains();
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_DOUBLE_EQUAL(decision[i].gain, 1 / 0.7, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(decision[i].gain_least, 1, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(decision[i].gain_most, 2, 1e-9);
	}
}

/* Both at a time, and both slower by a half. */
static void two_at_a_time(void)
{
	begin();
	member(1, 1, 1 / 1.5);
	member(1, 1, 1 / 1.5);
	member(2, 0.5, 1);
	gains();
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain, 1 / 1.5, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain_least, 1 / 1.5, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain_most, 1, 1e-9);
	CU_ASSERT(decision[2].gain == 1 && decision[2].gain_least == 1);
}

/* What is always busy decides; the other waits for it. */
static void the_busier_one_decides(void)
{
	begin();
	member(1, 1, 1 / 1.2);
	member(1, 0.5, 1);
	gains();
	CU_ASSERT_DOUBLE_EQUAL(decision[1].gain, 1 / 1.2, 0.01);
	begin();
	member(1, 1, 1);
	member(1, 0.5, 1 / 1.2);
	gains();
	CU_ASSERT_DOUBLE_EQUAL(decision[1].gain, 1, 0.02);
}

/* One that was idle while it was watched holds nobody up. */
static void an_idle_member_changes_nothing(void)
{
	begin();
	member(1, 1, 2);
	member(1, 0, 1);
	gains();
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain, 2, 0.05);
}

static void one_that_shares_its_cpu_is_woken_late(void)
{
	begin();
	member(1, 0.6, 1);
	member(1, 0.4, 0.9);
	late[1] = true;
	gains();
	CU_ASSERT(decision[0].gain_least == 0 && decision[1].gain_least == 0);
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain_most, 1, 1e-9);
}

/* Busy for less time than it saves: a tick of the kernel's accounts was missed. */
static void a_busy_time_that_is_too_short(void)
{
	begin();
	member(1, 0.1, 2);
	member(1, 0, 1);
	gains();
	CU_ASSERT(isfinite(decision[0].gain) && decision[0].gain_most <= 10 + 1e-9);
}

static void message(int from0, int from1, int to1)
{
	begin();
	member(1, 0.5, 1);
	member(1, 0.5, 1);
	task[0].messages = (struct np_known) { 64e6, NP_PROVENANCE_KERNEL };
	moves(0, from0, NP_NODE_NONE);
	moves(1, from1, to1);
	gains();
}

/* 1e6 lines a second from 100 ns away: 0.1 s a second one at a time, 0.025 four at a time. */
static void messages_between_nodes_take_time(void)
{
	message(0, 0, 1);
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain, 1 / 1.025, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(decision[1].gain_least, 1 / 1.2, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(decision[1].gain_most, 1, 1e-6);
	message(0, 1, 0);
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain, 1 / 0.975, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain_most, 1 / 0.8, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(decision[0].gain_least, 1, 1e-6);
	message(0, 1, NP_NODE_NONE);
	CU_ASSERT(decision[0].gain == 1 && decision[0].gain_least == 1);
}

/* By send(2), which the kernel does not account. */
static void messages_that_were_not_counted(void)
{
	begin();
	member(1, 0.5, 1.2);
	member(1, 0.5, 1);
	moves(0, 0, NP_NODE_NONE);
	moves(1, 0, 1);
	gains();
	CU_ASSERT_EQUAL(decision[0].gain_least, 0);
	CU_ASSERT(decision[0].gain_most > 1.2);
}

static CU_TestInfo groups_tests[] = {
	TEST(alone_a_gain_is_itself),
	TEST(two_in_turn),
	TEST(two_at_a_time),
	TEST(the_busier_one_decides),
	TEST(an_idle_member_changes_nothing),
	TEST(one_that_shares_its_cpu_is_woken_late),
	TEST(a_busy_time_that_is_too_short),
	TEST(messages_between_nodes_take_time),
	TEST(messages_that_were_not_counted),
	CU_TEST_INFO_NULL,
};

TEST_SUITE("groups", groups_tests);
