// SPDX-License-Identifier: GPL-2.0-only
/* A move that the daemon takes back after its trial: when it is repeated, and when it is not. */
#include <limits.h>

#include "../fake_counters.h"
#include "../fixture.h"
#include "daemon_fixture.h"

static bool moves;   /* the policy moves every task to the second node; else it leaves all alone */
static double speed; /* of every task after the move; 1 before */
static unsigned int times_read;

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	for (size_t i = 0; moves && i < n; i++)
		out->decision[i].to = 1;
	return 0;
}

static const struct np_policy to_the_second = {
	.name = "to-the-second",
	.summary = "",
	.origin = "control",
	.needs = "nothing",
	.plan = plan,
};

static int written_speeds(struct np_speeds *s, const struct np_request *p,
			  const struct np_verify *how, const volatile sig_atomic_t *stop,
			  struct np_err *err)
{
	double rate = times_read++ % 2 ? speed : 1;

	for (size_t i = 0; i < s->n; i++) {
		s->cycles[i] = 1e9;
		for (int slice = 0; slice < NP_VERIFY_SLICES; slice++)
			s->rate[i][slice] = rate;
	}
	return 0;
}

/* Plans again, as after SIGHUP. */
static void plan_again(struct np_daemon *d)
{
	d->waits = true;
	np_daemon_step(d);
}

static void step_until_eligible(struct np_daemon *d, size_t n)
{
	for (int i = 0; d->watch.eligible != n && i < 100000; i++)
		np_daemon_step(d);
	CU_ASSERT_EQUAL_FATAL(d->watch.eligible, n);
}

/* Both tasks may run on both nodes. */
TEST(what_was_taken_back_is_repeated_among_others_only)
{
	const pid_t pids[] = { daemon_fixture_start(), daemon_fixture_start() };
	const char *root = fixture_begin();
	struct np_daemon d;

	fake_counters = true;
	daemon_fixture_machine();
	daemon_fixture_open(&d, pids, 2, root);
	d.args.policy = &to_the_second;
	d.watch_rules.pause = UINT_MAX / 2;
	d.how.verify = (struct np_verify) { .seconds = 1, .read = written_speeds };
	moves = false;
	step_until_eligible(&d, 2);
	moves = true;
	speed = 0.5;
	plan_again(&d);
	CU_ASSERT(d.counts.trials[1] == 1 && !d.counts.moved_tasks);
	plan_again(&d);
	CU_ASSERT_EQUAL(d.counts.decisions[NP_HYSTERESIS_TAKEN_BACK], 2);
	CU_ASSERT(d.counts.trials[1] == 1 && times_read == 2);
	speed = 2;
	fixture_end_child(pids[1]);
	step_until_eligible(&d, 1);
	CU_ASSERT(d.counts.trials[0] == 1 && d.counts.trials[1] == 1 && d.counts.moved_tasks == 1);
	np_daemon_close(&d);
	fake_counters = false;
	fixture_end();
	fixture_end_child(pids[0]);
}
