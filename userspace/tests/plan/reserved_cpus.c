// SPDX-License-Identifier: GPL-2.0-only
/* User-set affinity: of this process and its threads, on a machine that is written down. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/engine/affinity.h"
#include "../../lib/host/exclude.h"
#include "../../lib/host/module_files.h"
#include "../../lib/plan/cpuset_limits.h"
#include "../../lib/undo/inherited.h"
#include "../engine/subject.h"
#include "../fixture.h"

/* CPU 0 on node 0, CPU 1 on node 1: every machine that runs this has them. */
static int cpu_node[] = { 0, 1 };
static struct np_node node[] = { { .id = 0, .cpus = 1 }, { .id = 1, .cpus = 1 } };
static struct np_machine machine = {
	.n_nodes = 2,
	.node = node,
	.n_cpus = 2,
	.cpu_node = cpu_node,
};

static bool enough_cpus(cpu_set_t *before)
{
	return !sched_getaffinity(0, sizeof(*before), before) && CPU_ISSET(0, before) &&
	       CPU_ISSET(1, before);
}

static enum np_pinned narrow_process(const char *root, pid_t pid, char *list, size_t len)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_reserved *reserved = np_reserved_open(root);
	enum np_pinned pinned;

	numa_bitmask_setall(cpus);
	pinned = np_reserved_narrow(reserved, &machine, pid, cpus);
	np_list_format(cpus, list, len);
	np_reserved_close(reserved);
	numa_bitmask_free(cpus);
	return pinned;
}

static enum np_pinned narrow(const char *root, char *list, size_t len)
{
	return narrow_process(root, getpid(), list, len);
}

/* A thread that was joined is listed until the kernel has taken it out, a moment later. */
static void await_gone(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	while (!access(path, F_OK))
		usleep(100);
}

static pid_t waiting;

static void *wait_here(void *barrier)
{
	waiting = gettid();
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

/* fixture_begin() with the state file in it, so that what that says is known. */
static const char *own_state(void)
{
	const char *root = fixture_begin();

	setenv("XDG_RUNTIME_DIR", root, 1);
	return root;
}

TEST(what_was_chosen_is_kept)
{
	const char *root = own_state();
	cpu_set_t before;
	char list[64];

	if (enough_cpus(&before)) {
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_NOT);
		CU_ASSERT_STRING_EQUAL(list, "0-1");
		subject_set(0, "1");
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_TASK);
		CU_ASSERT_STRING_EQUAL(list, "1");
		sched_setaffinity(0, sizeof(before), &before);
	}
	fixture_end();
}

static volatile sig_atomic_t alarms;

static void count_alarm(int signal)
{
	alarms++;
}

/* Each alarm interrupts one wait for the lock: none is left for a second one. */
TEST(held_state_is_waited_for_once)
{
	const struct itimerval soon = { { 0, 0 }, { 0, 50000 } };
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	const char *root = own_state();
	struct np_reserved *reserved;
	cpu_set_t before;
	pid_t holder;

	if (enough_cpus(&before)) {
		reserved = np_reserved_open(root);
		holder = fixture_hold_state(NULL);
		subject_set(0, "1");
		signal(SIGALRM, count_alarm);
		setitimer(ITIMER_REAL, &soon, NULL);
		for (int i = 0; i < 3; i++) {
			numa_bitmask_setall(cpus);
			CU_ASSERT_EQUAL(np_reserved_narrow(reserved, &machine, getpid(), cpus),
					NP_PINNED_TASK);
			alarm(5); /* a wait takes 10 s */
		}
		alarm(0);
		CU_ASSERT_EQUAL(alarms, 1);
		signal(SIGALRM, SIG_DFL);
		fixture_end_child(holder);
		np_reserved_close(reserved);
		sched_setaffinity(0, sizeof(before), &before);
	}
	numa_bitmask_free(cpus);
	fixture_end();
}

/* Until it has done more than ten times the work of a thread that only waits. */
static void work(void)
{
	while (clock() < CLOCKS_PER_SEC / 10)
		;
}

TEST(threads_with_cpus_of_their_own_are_left)
{
	const char *root = own_state();
	pthread_barrier_t barrier;
	pthread_t thread;
	cpu_set_t before;
	char list[64];

	if (enough_cpus(&before)) {
		pthread_barrier_init(&barrier, NULL, 2);
		subject_set(0, "1");
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, wait_here, &barrier), 0);
		pthread_barrier_wait(&barrier);
		subject_set(getpid(), "0");
		work();
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_THREADS);
		CU_ASSERT_STRING_EQUAL(list, "0"); /* the other thread does nothing */
		sched_setaffinity(0, sizeof(before), &before);
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_THREADS);
		CU_ASSERT_STRING_EQUAL(list, "");
		pthread_barrier_wait(&barrier);
		pthread_join(thread, NULL);
		await_gone(waiting);
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_NOT);
		pthread_barrier_destroy(&barrier);
	}
	fixture_end();
}

/* CPUs that numaplace has set are no user-set affinity; those from before may be. */
TEST(what_we_have_placed_was_not_chosen)
{
	const char *root = own_state();
	cpu_set_t before;
	char list[64];

	if (enough_cpus(&before)) {
		CU_ASSERT_EQUAL(subject_place(getpid(), "1"), 0);
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_NOT);
		CU_ASSERT_STRING_EQUAL(list, "0-1");
		subject_restore(getpid(), NULL);
		sched_setaffinity(0, sizeof(before), &before);
	}
	fixture_end();
}

/* This process on CPU 1, as if the module had placed it there; returns what is found. */
static enum np_pinned placed_by_module(const char *root, const char *saved, char *list, size_t len)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "tid=%d pid=%d comm=us cpus=1 saved_cpus=%s mem=- saved_mem=- "
		 "inherit=1\n",
		 getpid(), getpid(), saved);
	fixture_write("placements", line);
	return narrow(root, list, len);
}

/* The same of the module: its table says what was there before. */
TEST(what_the_module_has_placed_was_not_chosen)
{
	const char *root = own_state();
	cpu_set_t before;
	char list[64];

	np_module_use_dir(root);
	if (enough_cpus(&before)) {
		subject_set(0, "1");
		CU_ASSERT_EQUAL(placed_by_module(root, "0-1", list, sizeof(list)), NP_PINNED_NOT);
		CU_ASSERT_STRING_EQUAL(list, "0-1");
		CU_ASSERT_EQUAL(placed_by_module(root, "0", list, sizeof(list)), NP_PINNED_TASK);
		CU_ASSERT_STRING_EQUAL(list, "0");
		subject_set(0, "0"); /* changed by another program since */
		CU_ASSERT_EQUAL(placed_by_module(root, "0-1", list, sizeof(list)), NP_PINNED_TASK);
		sched_setaffinity(0, sizeof(before), &before);
	}
	np_module_use_dir(NULL);
	fixture_end();
}

/* The orphan of a process that was placed on CPU 1, seen while that lived or not. */
static pid_t make_orphan(bool seen)
{
	pid_t parent = subject_start(subject_forks_and_exits), orphan;

	CU_ASSERT_EQUAL(subject_place(parent, "1"), 0);
	subject->go = 1;
	orphan = subject_await(&subject->child);
	if (seen)
		CU_ASSERT_EQUAL(np_inherited_see(&subject_err), 0);
	subject->go = 2;
	CU_ASSERT_EQUAL(waitpid(parent, NULL, 0), parent);
	return orphan;
}

/* What nobody has seen inherit its CPUs may have been given them by the user. */
TEST(what_an_orphan_inherits_was_not_chosen)
{
	const char *root = own_state();
	cpu_set_t before;
	char list[64];
	struct np_err err;
	size_t n, kept;

	for (int seen = 0; seen < 2 && enough_cpus(&before); seen++) {
		pid_t orphan = make_orphan(seen);

		CU_ASSERT_EQUAL(narrow_process(root, orphan, list, sizeof(list)),
				seen ? NP_PINNED_NOT : NP_PINNED_TASK);
		np_affinity_restore(NP_WHOSE(&orphan), &n, &kept, &err);
		kill(orphan, SIGKILL);
	}
	fixture_end();
}

TEST(isolated_cpus_are_kept_free)
{
	const char *root = own_state();
	struct np_machine m = machine;
	struct np_node nodes[2];
	struct np_reserved *reserved;
	cpu_set_t before;
	char list[64];

	memcpy(nodes, node, sizeof(nodes));
	m.node = nodes;
	fixture_write("sys/devices/system/cpu/isolated", "1\n");
	fixture_write("sys/devices/system/cpu/nohz_full", "  (null)\n");
	reserved = np_reserved_open(root);
	CU_ASSERT_STRING_EQUAL(np_list_format(np_reserved_isolated(reserved), list, sizeof(list)),
			       "1");
	np_reserved_subtract(reserved, &m);
	CU_ASSERT(nodes[0].cpus == 1 && nodes[1].cpus == 0);
	np_reserved_close(reserved);
	if (enough_cpus(&before)) {
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_NOT);
		CU_ASSERT_STRING_EQUAL(list, "0");
		subject_set(0, "0"); /* as isolcpus leaves every task */
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_NOT);
		subject_set(0, "1");
		CU_ASSERT_EQUAL(narrow(root, list, sizeof(list)), NP_PINNED_TASK);
		CU_ASSERT_STRING_EQUAL(list, "");
		sched_setaffinity(0, sizeof(before), &before);
	}
	fixture_end();
}

/* Before Linux 6.7 the root group does not name them. */
TEST(partitions_are_isolated_too)
{
	const char *root = fixture_begin();
	char list[64];

	for (int old = 1; old >= 0; old--) {
		struct np_reserved *reserved;

		fixture_write("sys/fs/cgroup/rt/cpuset.cpus.partition", "isolated\n");
		fixture_write("sys/fs/cgroup/rt/cpuset.cpus.effective", "1\n");
		fixture_write("sys/fs/cgroup/own/cpuset.cpus.partition", "root\n");
		fixture_write("sys/fs/cgroup/own/cpuset.cpus.effective", "0\n");
		if (!old)
			fixture_write("sys/fs/cgroup/cpuset.cpus.isolated", "0-1\n");
		reserved = np_reserved_open(root);
		np_list_format(np_reserved_isolated(reserved), list, sizeof(list));
		CU_ASSERT_STRING_EQUAL(list, old ? "1" : "0-1");
		np_reserved_close(reserved);
	}
	fixture_end();
}

TEST(the_reason_says_what_is_kept)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	enum np_pinned pinned = NP_PINNED_TASK;
	struct np_task_limits c = { .n = 1, .cpus = &cpus, .pinned = &pinned };
	struct np_decision d = { .reason = "home" };
	struct np_task t = { 0 };

	numa_bitmask_setbit(cpus, 1);
	np_task_limits_explain(&c, 0, &t, 0, false, &d);
	CU_ASSERT_STRING_EQUAL(d.reason, "home; its CPUs 1 were chosen for it and are kept");
	memset(d.reason, 'x', NP_REASON_LEN - 1);
	pinned = NP_PINNED_THREADS;
	np_task_limits_explain(&c, 0, &t, 0, false, &d);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(d.reason, "x; its threads have CPUs of their own, which are kept"));
	CU_ASSERT_EQUAL(strlen(d.reason), NP_REASON_LEN - 1);
	d.reason[0] = '\0';
	pinned = NP_PINNED_NOT;
	np_task_limits_explain(&c, 0, &t, 0, false, &d);
	CU_ASSERT_STRING_EQUAL(d.reason, "");
	numa_bitmask_free(cpus);
}

TEST(the_reason_says_what_stays_in_mappings_with_a_policy)
{
	const struct np_task t = { 0 };
	struct np_task_limits none = { 0 };
	struct np_decision d = { .pages_to = NP_NODE_NONE, .spread = NP_NODE_NONE };

	np_task_limits_explain(&none, 0, &t, 8 << 20, true, &d);
	CU_ASSERT(!d.reason[0]);
	d.pages_to = 0;
	np_task_limits_explain(&none, 0, &t, 8 << 20, true, &d);
	CU_ASSERT_STRING_EQUAL(d.reason,
			       "8192 KiB stay in mappings with a memory policy of their own");
}

TEST(tasks_are_excluded_by_number_or_name)
{
	static const char *const words[] = { "redis*", "71" };
	const struct np_exclude x = { words, 2 };

	CU_ASSERT(np_excluded(&x, 1, "redis-server") && np_excluded(&x, 71, "sh"));
	CU_ASSERT(!np_excluded(&x, 7, "sh") && !np_excluded(&x, 711, "71") &&
		  !np_excluded(&x, 2, "my-redis"));
}
