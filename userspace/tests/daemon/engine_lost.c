// SPDX-License-Identifier: GPL-2.0-only
/* The module is unloaded under the daemon. */
#include <errno.h>
#include <string.h>

#include "../fixture.h"
#include "daemon_fixture.h"

static int loaded; /* what the engine's probe answers */
static unsigned int said;

static int probe(struct np_err *err)
{
	return loaded ? np_fail(err, loaded, "the numaplace module is not loaded") : 0;
}

static void count_lines(const char *line, void *arg)
{
	said += strstr(line, "not loaded any more") != NULL;
}

TEST(another_engine_is_chosen)
{
	const pid_t pid = daemon_fixture_start();
	struct np_engine_ops ops = fake_engine;
	const char *root = fixture_begin();
	struct np_watched_task *t;
	struct np_daemon d;

	ops.probe = probe;
	loaded = said = 0;
	daemon_fixture_machine();
	daemon_fixture_open(&d, &pid, 1, root);
	d.args.policy = np_policy_find("none");
	d.how.engine = &ops;
	d.log = count_lines;
	np_daemon_step(&d);
	t = np_task_watch_find(&d.watch, pid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	t->placed = t->descendant = true;
	np_daemon_step(&d);
	CU_ASSERT(d.how.engine == &ops && np_daemon_placed(&d) == 1 && !said);
	loaded = -EOPNOTSUPP;
	np_daemon_step(&d);
	np_daemon_step(&d);
	CU_ASSERT_STRING_EQUAL(d.how.engine->name, "syscall");
	t = np_task_watch_find(&d.watch, pid);
	CU_ASSERT(t && !t->placed && !t->descendant && said == 1);
	np_daemon_close(&d);
	fixture_end();
	fixture_end_child(pid);
}
