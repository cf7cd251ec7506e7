// SPDX-License-Identifier: GPL-2.0-only
/* When a repeated decision is acted on. */
#include "../../lib/daemon/hysteresis.h"
#include "../plan/plan_fixture.h"

static const struct np_hysteresis_rules rules = {
	.min_gain = 1.05,
	.plans = 2,
	.window = 10,
	.back_off = 20,
};

static struct np_decision decision(int from, int to, double gain)
{
	return (struct np_decision) {
		.from = from,
		.to = to,
		.pages_to = NP_NODE_NONE,
		.spread = NP_NODE_NONE,
		.nodes = NP_NODE_NONE,
		.gain = gain,
		.gain_source = NP_PROVENANCE_PENALTY,
	};
}

/* Sets of four nodes, as rows of a plan. */
static uint8_t rows[][4] = { { 1, 1, 0, 0 }, { 0, 0, 1, 1 }, { 1, 2, 0, 0 } };

static struct np_aim aim_of(struct np_decision d)
{
	const struct np_plan plan = { .n = 1, .decision = &d, .spread = rows[0], .n_spreads = 3 };

	return np_aim_of(&plan, 4, 0);
}

static enum np_hysteresis_result judge(struct np_hysteresis *s, struct np_decision d,
				       unsigned int now)
{
	struct np_aim aim = aim_of(d);

	return np_hysteresis_judge(s, &rules, &d, &aim, 10000, now);
}

TEST(a_decision_must_be_made_twice)
{
	struct np_hysteresis s = { 0 };

	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 2), 1), NP_HYSTERESIS_NOT_STEADY);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 2), 1), NP_HYSTERESIS_NOT_STEADY);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 2, 2), 2), NP_HYSTERESIS_NOT_STEADY);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 2, 2), 3), NP_HYSTERESIS_ACT);
	np_hysteresis_rest(&s);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 2, 2), 4), NP_HYSTERESIS_NOT_STEADY);
}

TEST(a_small_gain_is_not_worth_it)
{
	struct np_decision unknown = decision(0, 1, 1);
	struct np_hysteresis s = { 0 };

	judge(&s, decision(0, 1, 1.04), 1);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 1.04), 2), NP_HYSTERESIS_SMALL_GAIN);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 1.06), 3), NP_HYSTERESIS_ACT);
	unknown.gain_source = NP_PROVENANCE_NONE;
	CU_ASSERT_EQUAL(judge(&s, unknown, 4), NP_HYSTERESIS_ACT);
}

static bool move(struct np_hysteresis *s, int from, int to, unsigned int now)
{
	struct np_decision d = decision(from, to, 2);

	judge(s, d, now - 1);
	CU_ASSERT_EQUAL(judge(s, d, now), NP_HYSTERESIS_ACT);
	return np_hysteresis_moved(s, &rules, &d, 0, now);
}

TEST(ping_pong_is_left_alone)
{
	struct np_hysteresis s = { 0 };

	CU_ASSERT_FALSE(move(&s, 0, 1, 2));
	CU_ASSERT_TRUE(move(&s, 1, 0, 8));
	CU_ASSERT_EQUAL(s.left_until, 8 + 1 + rules.back_off);
	judge(&s, decision(0, 1, 2), 9);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 2), 28), NP_HYSTERESIS_LEFT);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 2), 29), NP_HYSTERESIS_ACT);
}

TEST(back_off_doubles)
{
	struct np_hysteresis s = { 0 };

	move(&s, 0, 1, 2);
	move(&s, 1, 0, 4);
	CU_ASSERT_FALSE(move(&s, 0, 1, 100));
	CU_ASSERT_TRUE(move(&s, 1, 0, 105));
	CU_ASSERT_EQUAL(s.left_until, 105 + 1 + 2 * rules.back_off);
}

TEST(slow_or_onward_moves_are_no_ping_pong)
{
	struct np_hysteresis slow = { 0 }, onward = { 0 };

	move(&slow, 0, 1, 2);
	CU_ASSERT_FALSE(move(&slow, 1, 0, 13));
	move(&onward, 0, 1, 2);
	CU_ASSERT_FALSE(move(&onward, 1, 2, 5));
	CU_ASSERT_FALSE(move(&onward, 2, 0, 9));
}

TEST(what_was_tried_is_not_tried_again)
{
	struct np_decision d = decision(1, 1, 2);
	struct np_hysteresis s = { 0 };

	d.pages_to = 1;
	d.pages_to_move = 5000;
	judge(&s, d, 1);
	CU_ASSERT_EQUAL(judge(&s, d, 2), NP_HYSTERESIS_ACT);
	np_hysteresis_moved(&s, &rules, &d, 4000, 2);
	d.pages_to_move = 4400;
	CU_ASSERT_EQUAL(judge(&s, d, 3), NP_HYSTERESIS_DONE);
	d.pages_to_move = 4600; /* a twentieth of its 10000 pages more */
	CU_ASSERT_EQUAL(judge(&s, d, 4), NP_HYSTERESIS_ACT);
	/* Another program has bound it to another node. */
	d = decision(0, 1, 2);
	d.pages_to = 1;
	CU_ASSERT_EQUAL(judge(&s, d, 5), NP_HYSTERESIS_ACT);
}

TEST(a_failure_is_left_alone)
{
	struct np_hysteresis s = { 0 };

	judge(&s, decision(0, 1, 2), 1);
	np_hysteresis_failed(&s, &rules, 2);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 2), 22), NP_HYSTERESIS_LEFT);
	CU_ASSERT_EQUAL(judge(&s, decision(0, 1, 2), 23), NP_HYSTERESIS_ACT);
}

static struct np_decision several(int nodes, int spread, uint64_t pages_to_move)
{
	struct np_decision d = decision(NP_NODE_NONE, NP_NODE_NONE, 2);

	d.nodes = nodes;
	d.spread = spread;
	d.pages_to_move = pages_to_move;
	return d;
}

/* Nodes 0 and 1, then 2 and 3: another decision, however few pages are to follow. */
TEST(another_set_of_nodes_is_another_decision)
{
	for (uint64_t pages = 0; pages < 200; pages += 100) {
		struct np_decision d = several(0, pages ? 0 : NP_NODE_NONE, pages);
		struct np_hysteresis s = { 0 };

		judge(&s, d, 1);
		CU_ASSERT_EQUAL(judge(&s, d, 2), NP_HYSTERESIS_ACT);
		np_hysteresis_moved(&s, &rules, &d, 0, 2);
		d = several(1, pages ? 1 : NP_NODE_NONE, pages);
		CU_ASSERT_EQUAL(judge(&s, d, 3), NP_HYSTERESIS_NOT_STEADY);
		CU_ASSERT_EQUAL(judge(&s, d, 4), NP_HYSTERESIS_ACT);
	}
}

/* The share of each node follows what is counted, and is never twice the same. */
TEST(other_shares_of_the_same_nodes_are_no_other_decision)
{
	struct np_hysteresis s = { 0 };
	struct np_decision d = several(NP_NODE_NONE, 0, 3000);

	judge(&s, d, 1);
	CU_ASSERT_EQUAL(judge(&s, several(NP_NODE_NONE, 2, 3000), 2), NP_HYSTERESIS_ACT);
	np_hysteresis_moved(&s, &rules, &d, 0, 2);
	CU_ASSERT_EQUAL(judge(&s, several(NP_NODE_NONE, 0, 400), 3), NP_HYSTERESIS_DONE);
	CU_ASSERT_EQUAL(judge(&s, several(NP_NODE_NONE, 0, 600), 4), NP_HYSTERESIS_ACT);
	CU_ASSERT_EQUAL(judge(&s, several(NP_NODE_NONE, 1, 400), 5), NP_HYSTERESIS_NOT_STEADY);
}

TEST(what_was_taken_back_is_not_repeated_among_the_same)
{
	struct np_task tasks[] = { { .pid = 10 }, { .pid = 11 } };
	unsigned long long start[] = { 100, 200 }, reused[] = { 100, 201 };
	uint64_t both = np_hysteresis_among(tasks, start, 2);
	struct np_aim aim = aim_of(decision(0, 1, 2)), other = aim_of(decision(0, 2, 2));
	struct np_hysteresis s = { 0 };

	CU_ASSERT_FALSE(np_hysteresis_is_refused(&s, &aim, both));
	np_hysteresis_taken_back(&s, &aim, both);
	CU_ASSERT(np_hysteresis_is_refused(&s, &aim, both));
	CU_ASSERT_FALSE(np_hysteresis_is_refused(&s, &other, both));
	CU_ASSERT_FALSE(np_hysteresis_is_refused(&s, &aim, np_hysteresis_among(tasks, start, 1)));
	CU_ASSERT_FALSE(np_hysteresis_is_refused(&s, &aim, np_hysteresis_among(tasks, reused, 2)));
}
