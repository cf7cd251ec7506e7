// SPDX-License-Identifier: GPL-2.0-only
/* What the daemon tells a policy of tasks that exchange messages. */
#include <limits.h>
#include <unistd.h>

#include "../fixture.h"
#include "daemon_fixture.h"

static struct np_task told[2];

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	(void)m, (void)o, (void)out;
	for (size_t i = 0; n == 2 && i < n; i++)
		told[i] = tasks[i];
	return 0;
}

static const struct np_policy listening = {
	.name = "listening",
	.summary = "",
	.origin = "control",
	.needs = "nothing",
	.plan = plan,
};

/* Two busy processes; with a pipe each has both of its ends. */
static void tell(bool with_pipe)
{
	int fds[2] = { -1, -1 };
	const char *root;
	struct np_daemon d;
	pid_t pids[2];

	CU_ASSERT_FATAL(!with_pipe || !pipe(fds));
	memset(told, 0, sizeof(told));
	for (int i = 0; i < 2; i++)
		pids[i] = daemon_fixture_start();
	root = fixture_begin();
	daemon_fixture_machine();
	daemon_fixture_open(&d, pids, 2, root);
	d.args.policy = &listening;
	d.watch_rules.pause = UINT_MAX / 2;
	for (int i = 0; d.watch.eligible != 2 && i < 100000; i++)
		np_daemon_step(&d);
	d.waits = true;
	np_daemon_step(&d);
	np_daemon_close(&d);
	fixture_end();
	for (int i = 0; i < 2; i++)
		daemon_fixture_end(pids[i]);
	for (int i = 0; with_pipe && i < 2; i++)
		close(fds[i]);
}

static void tasks_with_a_pipe_are_a_group(void)
{
	tell(true);
	CU_ASSERT(told[0].group == 1 && told[1].group == 1);
	CU_ASSERT(told[0].busy.source == NP_PROVENANCE_KERNEL);
	tell(false);
	CU_ASSERT(told[0].pid && !told[0].group && !told[1].group);
}

static CU_TestInfo plan_input_tests[] = {
	TEST(tasks_with_a_pipe_are_a_group),
	CU_TEST_INFO_NULL,
};

TEST_SUITE("plan input", plan_input_tests);
