// SPDX-License-Identifier: GPL-2.0-only
/* What the daemon and a flip count, and then undo. */
#include "../../lib/daemon/task_sampling.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/engine/affinity.h"
#include "../../lib/host/module_files.h"
#include "../../lib/plan/penalty_probe.h"
#include "../fake_counters.h"
#include "../fixture.h"
#include "daemon_fixture.h"

static void *wait_for_ever(void *nothing)
{
	for (;;)
		pause();
	return NULL;
}

/*
 * A process with more threads than files may be opened for, and its end as np_perf_open() is left
 * with.
 */
static pid_t start_crowd(void)
{
	int pipes[2];
	char word;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		pthread_t thread;

		for (int i = 0; i < 60; i++)
			pthread_create(&thread, NULL, wait_for_ever, NULL);
		if (write(pipes[1], "", 1) == 1)
			wait_for_ever(NULL);
	}
	CU_ASSERT_EQUAL(read(pipes[0], &word, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

/* In a child with few files: 0 when only the crowd is left out. */
static int counts_beside(pid_t crowd, pid_t spinner)
{
	const struct np_subject s[] = { { -1, crowd }, { -1, spinner } };
	struct rlimit few = { 40, 40 };
	struct np_machine m = { 0 };
	struct np_reading r[2];
	struct np_counters c;
	struct np_err err;

	if (setrlimit(RLIMIT_NOFILE, &few) || np_counters_open(&c, &m, s, 2, &err))
		return 1;
	np_counters_read(&c, r);
	if (r[0].event[NP_CYCLES].source || !strstr(r[0].event[NP_CYCLES].why, "too many files"))
		return 2;
	if (!r[1].event[NP_CYCLES].source)
		return 3;
	np_counters_close(&c);
	return np_counters_open(&c, &m, s, 1, &err) == -EMFILE ? 0 : 4;
}

TEST(one_crowd_does_not_stop_the_others)
{
	pid_t crowd = start_crowd(), spinner = daemon_fixture_start(), child;
	int status;

	fake_counters = true;
	child = fork();
	if (!child)
		_exit(counts_beside(crowd, spinner));
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
	fake_counters = false;
	fixture_end_child(crowd);
	fixture_end_child(spinner);
}

/* Below all others, so that every index becomes another node's. */
static void add_node(void)
{
	fixture_write("sys/devices/system/node/online", "0-2\n");
	fixture_write("sys/devices/system/node/has_memory", "0-2\n");
	daemon_fixture_node(0, "\n", "10 31 31\n");
	daemon_fixture_node(1, "0\n", "31 10 21\n");
	daemon_fixture_node(2, "1-8191\n", "31 21 10\n");
}

TEST(a_round_that_failed_is_followed_by_others)
{
	static const struct {
		int error;
		bool again;
	} cases[] = {
		{ EMFILE, true },      { ENOMEM, true },  { EBUSY, true },
		{ ENOSPC, true },      { EAGAIN, true },  { EACCES, false },
		{ EOPNOTSUPP, false }, { ENODEV, false }, { ENOENT, false },
	};
	pid_t pid = daemon_fixture_start();
	const char *root = fixture_begin();

	fake_counters = true;
	daemon_fixture_machine();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct np_daemon d;

		daemon_fixture_open(&d, &pid, 1, root);
		fake_counters_refuse = cases[i].error;
		np_daemon_step(&d);
		np_daemon_step(&d);
		CU_ASSERT(!d.sampling.open && d.sampling.refused == !cases[i].again);
		fake_counters_refuse = 0;
		np_daemon_step(&d);
		CU_ASSERT_EQUAL(d.sampling.open, cases[i].again);
		np_daemon_close(&d);
	}
	fake_counters = false;
	fixture_end();
	fixture_end_child(pid);
}

/* The address sanitizer's build says whether rows of two nodes are read as rows of three. */
TEST(a_node_that_comes_is_met)
{
	pid_t pid = daemon_fixture_start();
	const char *root = fixture_begin();
	struct np_daemon d;

	fake_counters = true;
	daemon_fixture_machine();
	daemon_fixture_open(&d, &pid, 1, root);
	while (!d.sampling.traffic || !d.counts.plans)
		np_daemon_step(&d);
	CU_ASSERT_EQUAL(d.machine.n_nodes, 2);
	add_node();
	d.waits = true;
	np_daemon_step(&d);
	CU_ASSERT_EQUAL(d.machine.n_nodes, 3);
	CU_ASSERT(d.model && d.machine.model == d.model && d.model->n_nodes == 3);
	for (unsigned long long plans = d.counts.plans, i = 0; d.counts.plans == plans && i < 1000;
	     i++)
		np_daemon_step(&d);
	CU_ASSERT_EQUAL(d.counts.planning_failed, 0);
	CU_ASSERT_EQUAL_FATAL(d.watch.eligible, 1);
	CU_ASSERT_EQUAL(np_task_watch_find(&d.watch, pid)->task.n, 1);
	np_daemon_close(&d);
	fake_counters = false;
	fixture_end();
	fixture_end_child(pid);
}

/* Another program has moved those of the other. */
TEST(pages_of_its_own_tasks_come_back)
{
	static const volatile sig_atomic_t never;
	pid_t mine = daemon_fixture_start(), other = daemon_fixture_start();
	const char *root = fixture_begin();
	const struct np_mover mover = { .engine = &fake_engine };
	struct np_pages_back back = { 0 };
	struct np_err err;
	struct np_daemon d;
	size_t restored;

	fake_counters = true;
	setenv("XDG_RUNTIME_DIR", root, 1);
	daemon_fixture_machine();
	daemon_fixture_open(&d, &mine, 1, root);
	np_daemon_step(&d);
	np_task_watch_find(&d.watch, mine)->placed = true;
	CU_ASSERT(fixture_note_pages(&d.machine, mine, 0) &&
		  fixture_note_pages(&d.machine, other, 0));
	CU_ASSERT_EQUAL(np_daemon_restore(&d, &restored), 0);
	CU_ASSERT_EQUAL(np_daemon_pages_back(&d, &mover, &never, &back, &err), 0);
	CU_ASSERT_EQUAL(back.tasks, 1);
	CU_ASSERT(fixture_note_pages(&d.machine, mine, 0));
	CU_ASSERT_FALSE(fixture_note_pages(&d.machine, other, 0));
	np_daemon_close(&d);
	fake_counters = false;
	fixture_end();
	fixture_end_child(mine);
	fixture_end_child(other);
}

static bool is_busy;

static int restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	*n = *kept = 0;
	return is_busy ? np_fail(err, -EBUSY, "the state is in use") : 0;
}

static void keep_line(const char *line, void *to)
{
	snprintf(to, 256, "%s", line);
}

static size_t adopted(void)
{
	struct np_daemon_placed p = { 0 };
	struct np_err err;
	size_t n;

	CU_ASSERT_EQUAL(np_daemon_placed_read(&p, &err), 0);
	n = p.n;
	np_daemon_placed_free(&p);
	return n;
}

/* Restoring fails: the next daemon adopts the tasks. */
TEST(what_is_not_restored_is_not_forgotten)
{
	pid_t pid = daemon_fixture_start();
	struct np_engine_ops engine = fake_engine;
	const char *root = fixture_begin();
	struct np_daemon_placed placed = { 0 };
	struct np_err err;
	struct np_daemon d;
	char line[256] = "";
	size_t n;

	fake_counters = true;
	setenv("XDG_RUNTIME_DIR", root, 1);
	daemon_fixture_machine();
	daemon_fixture_open(&d, &pid, 1, root);
	engine.restore = restore;
	d.how.engine = &engine;
	d.log = keep_line;
	d.log_arg = line;
	d.remembers = true;
	np_daemon_step(&d);
	CU_ASSERT_EQUAL(np_daemon_placed_add(&placed, pid,
					     np_task_watch_find(&d.watch, pid)->start),
			0);
	CU_ASSERT_EQUAL(np_daemon_placed_write(&placed, &err), 0);
	is_busy = true;
	CU_ASSERT_EQUAL(np_daemon_end(&d, &n), -EBUSY);
	CU_ASSERT_STRING_EQUAL(line,
			       "the state is in use; `numaplace restore --all` restores what is left");
	CU_ASSERT_EQUAL(adopted(), 1);
	is_busy = false;
	CU_ASSERT_EQUAL(np_daemon_end(&d, &n), 0);
	CU_ASSERT_EQUAL(adopted(), 0);
	np_daemon_placed_free(&placed);
	np_daemon_close(&d);
	fake_counters = false;
	fixture_end();
	fixture_end_child(pid);
}

static struct bitmask *cpus_of(const char *list)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	CU_ASSERT_EQUAL(np_list_parse_kernel(list, mask), 0);
	return mask;
}

/* Where a task runs, away from its memory, was the module's choice: that is what it has again. */
TEST(a_flip_gives_the_modules_placement_back)
{
	int distance[] = { 10, 20, 20, 10 }, cpu_node[] = { 0, 1 };
	struct np_node node[] = { { .id = 0, .cpus = 1 }, { .id = 1, .cpus = 1 } };
	const struct np_machine m = {
		.n_nodes = 2,
		.node = node,
		.distance = distance,
		.n_cpus = 2,
		.cpu_node = cpu_node,
		.page_size = 4096,
	};
	struct bitmask *own = cpus_of("0-1"), *set = cpus_of("1"),
		       *now = numa_bitmask_alloc(NP_MAX_CPUS);
	static const volatile sig_atomic_t never;
	struct np_cpi_pair pair;
	char line[128];
	struct np_err err;
	pid_t pid = fork();
	cpu_set_t mine;
	size_t n, kept;

	sched_getaffinity(0, sizeof(mine), &mine);
	while (pid == 0)
		pause();
	CU_ASSERT_FATAL(pid > 0);
	fake_counters = true;
	np_module_use_dir(fixture_begin());
	snprintf(line, sizeof(line),
		 "tid=%d pid=%d comm=a cpus=1 saved_cpus=0-1 mem=- saved_mem=- inherit=1\n", pid,
		 pid);
	fixture_write("version", "numaplace=0.1.0 abi=2\n");
	fixture_write("placements", line);
	CU_ASSERT_EQUAL(np_affinity_set(pid, set), 0);
	np_penalty_probe(&m, pid, 1, NP_FLIP_MIN_MS, &never, &pair, &err);
	CU_ASSERT(pair.home == 0 && pair.away == 1);
	CU_ASSERT(!np_affinity_get(pid, now) && numa_bitmask_equal(now, set));
	fixture_write("placements", "");
	np_affinity_restore(NP_WHOSE(&pid), &n, &kept, &err);
	CU_ASSERT(!np_affinity_get(pid, now) && numa_bitmask_equal(now, own));
	sched_setaffinity(0, sizeof(mine), &mine);
	fixture_end_child(pid);
	numa_bitmask_free(own);
	numa_bitmask_free(set);
	numa_bitmask_free(now);
	np_module_use_dir(NULL);
	fixture_end();
	fake_counters = false;
}
