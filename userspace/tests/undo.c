// SPDX-License-Identifier: GPL-2.0-only
/*
 * A restored thread has what it had before it was placed, whatever was placed, forked,
 * ended or changed meanwhile. Needs a machine with two CPUs.
 */
#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/base/cpulist.h"
#include "../lib/base/error.h"
#include "../lib/daemon/daemon.h"
#include "../lib/engine/affinity.h"
#include "../lib/engine/module.h"
#include "../lib/engine/module_files.h"
#include "../lib/host/processes.h"
#include "suites.h"

#define PATIENCE_US (60 * 1000 * 1000)

/* What a process of ours and the test tell each other. */
struct shared {
	volatile int go;		/* one step further */
	volatile pid_t child, thread;
};

static struct shared *shared;
static char err[NP_ERR_LEN];

static void await(volatile int *value, int least)
{
	for (int waited = 0; *value < least && waited < PATIENCE_US; waited += 100)
		usleep(100);
}

static pid_t await_pid(volatile pid_t *value)
{
	await(value, 1);
	CU_ASSERT_FATAL(*value > 0);
	return *value;
}

static pid_t start(void (*body)(void))
{
	pid_t child;

	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*shared = (struct shared) { 0 };
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		while (true)
			pause();
	}
	CU_ASSERT_FATAL(child > 0);	/* to be killed later: -1 is everybody */
	return child;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const char *cpus_of(pid_t tid)
{
	static char list[16][NP_LIST_LEN];
	static int turn;
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);
	char *text = list[turn++ % 16];

	np_affinity_get(tid, mask);
	np_list_format(mask, text, NP_LIST_LEN);
	numa_bitmask_free(mask);
	return text;
}

static int place_as(struct np_place_request r, const char *list)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);
	int e;

	np_list_parse_kernel(list, mask);
	r.cpus = mask;
	r.mem_mode = -1;
	r.inherit = true;
	e = np_affinity_place(&r, err, sizeof(err));
	numa_bitmask_free(mask);
	return e;
}

static int place_in_series(pid_t pid, const char *list, bool follows)
{
	return place_as((struct np_place_request) { .pid = pid, .follows = follows }, list);
}

static int place_by(const char *by, pid_t pid, const char *list)
{
	return place_as((struct np_place_request) { .pid = pid, .by = by }, list);
}

/* Places it, one step of the process further, and takes that placement back. */
static void place_and_undo(pid_t pid, const char *list, int go, volatile pid_t *number)
{
	struct np_affinity_undo *undo;

	CU_ASSERT_EQUAL_FATAL(place_as((struct np_place_request) { .pid = pid, .undo = &undo }, list), 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), list);
	shared->go = go;
	if (number)
		CU_ASSERT_STRING_EQUAL(cpus_of(await_pid(number)), list);
	CU_ASSERT_EQUAL(np_affinity_undo(&(struct np_undo) { pid, undo }, 1, err, sizeof(err)), 0);
	np_affinity_undo_free(undo);
}

static int place(pid_t pid, const char *list)
{
	return place_by(NULL, pid, list);
}

static void set(pid_t tid, const char *list)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	np_list_parse_kernel(list, mask);
	CU_ASSERT_EQUAL(np_affinity_set(tid, mask), 0);
	numa_bitmask_free(mask);
}

static size_t restore(pid_t pid, size_t *kept)
{
	size_t n, left;

	CU_ASSERT_EQUAL(np_affinity_restore(NP_WHOSE(&pid), &n, &left, err, sizeof(err)), 0);
	if (kept)
		*kept = left;
	return n;
}

static void *pinned_thread(void *unused)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(1, &one);
	sched_setaffinity(0, sizeof(one), &one);
	shared->thread = gettid();
	pause();
	return unused;
}

static void pin_a_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, pinned_thread, NULL);
}

static void *plain_thread(void *unused)
{
	shared->thread = gettid();
	pause();
	return unused;
}

static void thread_when_told(void)
{
	pthread_t thread;

	await(&shared->go, 1);
	pthread_create(&thread, NULL, plain_thread, NULL);
}

static void fork_when_told(void)
{
	pid_t child;

	await(&shared->go, 1);
	child = fork();
	if (child == 0)
		while (true)
			pause();
	shared->child = child;
}

/* Its child starts one as well. */
static void fork_twice(void)
{
	pid_t child;

	await(&shared->go, 1);
	child = fork();
	if (child == 0) {
		fork_when_told();
		while (true)
			pause();
	}
	shared->thread = child;
}

/* In a session of its own: an orphan in that of the first process, which adopts it, is known to the module alone. */
static void fork_and_exit(void)
{
	setsid();
	fork_when_told();
	_exit(0);
}

static void a_thread_that_was_there_already(void)
{
	pid_t pid = start(pin_a_thread), thread = await_pid(&shared->thread);
	const char *before = cpus_of(pid);

	CU_ASSERT_EQUAL(place(pid, "1"), 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "1");
	restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), before);
	CU_ASSERT_STRING_EQUAL(cpus_of(thread), "1");
	end(pid);
}

static void a_thread_born_between_two_placements(void)
{
	pid_t pid = start(thread_when_told);
	const char *before = cpus_of(pid);
	pid_t thread;

	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	shared->go = 1;
	thread = await_pid(&shared->thread);
	CU_ASSERT_EQUAL(place(pid, "1"), 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(thread), "1");
	restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(thread), before);
	end(pid);
}

static void a_child_that_is_placed_itself(void)
{
	pid_t pid = start(fork_when_told), child;
	const char *before = cpus_of(pid);

	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	shared->go = 1;
	child = await_pid(&shared->child);
	CU_ASSERT_EQUAL(place(child, "1"), 0);
	restore(child, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), before);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "0");
	restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), before);
	kill(child, SIGKILL);
	end(pid);
}

/* Its parent has been elsewhere twice since: nothing of that is what the child has. */
static void a_child_of_an_earlier_placement(void)
{
	pid_t pid = start(fork_when_told), child;
	const char *before = cpus_of(pid);

	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	shared->go = 1;
	child = await_pid(&shared->child);
	CU_ASSERT_EQUAL(place(pid, "1"), 0);
	CU_ASSERT_EQUAL(place(pid, "0-1"), 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), "0");
	restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), before);
	kill(child, SIGKILL);
	end(pid);
}

/* The child that inherited a place is placed elsewhere after it has started another. */
static void a_grandchild(void)
{
	pid_t pid = start(fork_twice), child, grandchild, both[2];
	const char *before = cpus_of(pid);
	size_t n, kept;

	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	shared->go = 1;
	child = await_pid(&shared->thread);
	grandchild = await_pid(&shared->child);
	both[0] = pid < child ? pid : child;
	both[1] = pid < child ? child : pid;
	usleep(20000);		/* start times are in ticks of 10 ms */
	CU_ASSERT_EQUAL(place(child, "1"), 0);
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { both, 2, NULL }, &n, &kept, err,
					    sizeof(err)), 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), before);
	CU_ASSERT_STRING_EQUAL(cpus_of(grandchild), before);
	kill(grandchild, SIGKILL);
	kill(child, SIGKILL);
	end(pid);
}

/* Its parent, which was placed, has exited: it descends from nobody who has a record. */
static void an_orphan(void)
{
	pid_t pid = start(fork_and_exit), child;
	const char *before = cpus_of(pid);

	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	shared->go = 1;
	child = await_pid(&shared->child);
	waitpid(pid, NULL, 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), "0");
	restore(child, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), before);
	kill(child, SIGKILL);
}

/* Older than the placement, it has chosen the same CPUs for itself. */
static void a_child_that_had_them_before(void)
{
	pid_t pid = start(fork_when_told), child;
	const char *before = cpus_of(pid);

	shared->go = 1;
	child = await_pid(&shared->child);
	set(child, "0");
	usleep(20000);		/* start times are in ticks of 10 ms */
	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), before);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), "0");
	kill(child, SIGKILL);
	end(pid);
}

static void nothing(void)
{
}

/* Neither the child of the first placement nor whose it was is the second's to take off. */
static void an_earlier_placement_and_its_child(void)
{
	pid_t pid = start(fork_when_told), child;
	const char *before = cpus_of(pid);
	size_t n, kept;

	CU_ASSERT_EQUAL(place_by("test", pid, "0"), 0);
	shared->go = 1;
	child = await_pid(&shared->child);
	place_and_undo(pid, "1", 1, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), "0");
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "0");
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { .by = "test" }, &n, &kept, err,
					    sizeof(err)), 0);
	CU_ASSERT(n == 2 && !kept);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), before);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), before);
	kill(child, SIGKILL);
	end(pid);
}

/* What it starts while it is placed a second time has what it had at first, with or without a first. */
static void a_child_of_the_placement_that_is_undone(void)
{
	for (int placed = 0; placed < 2; placed++) {
		pid_t pid = start(fork_when_told), child;
		const char *before = cpus_of(pid);
		size_t n;

		if (placed)
			CU_ASSERT_EQUAL(place(pid, "0"), 0);
		place_and_undo(pid, "1", 1, &shared->child);
		child = shared->child;
		CU_ASSERT_STRING_EQUAL(cpus_of(pid), placed ? "0" : before);
		CU_ASSERT_STRING_EQUAL(cpus_of(child), placed ? "0" : before);
		if (placed) {
			n = restore(pid, NULL);
			CU_ASSERT_EQUAL(n, 2);
		}
		CU_ASSERT_EQUAL(np_affinity_restore(NP_WHOSE(&pid), &n, &n, err, sizeof(err)), -ENOENT);
		CU_ASSERT_STRING_EQUAL(cpus_of(child), before);
		kill(child, SIGKILL);
		end(pid);
	}
}

/* Only one of its threads had been placed. */
static void a_placement_of_one_thread(void)
{
	pid_t pid = start(thread_when_told), thread;
	const char *before = cpus_of(pid);

	shared->go = 1;
	thread = await_pid(&shared->thread);
	CU_ASSERT_EQUAL(place_as((struct np_place_request) { .pid = thread, .one_thread = true }, "0"), 0);
	place_and_undo(pid, "1", 1, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(thread), "0");
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), before);
	CU_ASSERT_EQUAL(restore(thread, NULL), 1);
	CU_ASSERT_STRING_EQUAL(cpus_of(thread), before);
	end(pid);
}

/* The module has set CPUs by system calls and is refused the memory policy: what was there stays, and whose. */
static void an_earlier_placement_when_the_module_refuses(void)
{
	struct bitmask *both = numa_bitmask_alloc(NP_MAX_CPUS);
	pid_t pid = start(fork_when_told), child;
	struct np_place_request r = { .pid = pid, .cpus = both, .mem_mode = MPOL_DEFAULT, .inherit = true };
	size_t n, kept;

	np_list_parse_kernel("0-1", both);
	CU_ASSERT_EQUAL(place_by("test", pid, "0"), 0);
	shared->go = 1;
	child = await_pid(&shared->child);
	np_module_use_dir(fixture_begin());
	fixture_write("version", "numaplace=0.1.0 abi=1\n");
	fixture_write("place/folder", "");	/* cannot be written */
	CU_ASSERT_EQUAL(np_module_place(&r, err, sizeof(err)), -EISDIR);
	np_module_use_dir(NULL);
	fixture_end();
	CU_ASSERT_STRING_EQUAL(cpus_of(child), "0");
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "0");
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { .by = "test" }, &n, &kept, err,
					    sizeof(err)), 0);
	CU_ASSERT_EQUAL(n, 2);
	numa_bitmask_free(both);
	kill(child, SIGKILL);
	end(pid);
}

static void a_choice_of_the_user_after_the_placement_that_is_undone(void)
{
	pid_t pid = start(nothing);
	struct np_affinity_undo *undo;
	size_t kept;

	CU_ASSERT_EQUAL(place(pid, "0-1"), 0);
	CU_ASSERT_EQUAL_FATAL(place_as((struct np_place_request) { .pid = pid, .undo = &undo }, "1"), 0);
	set(pid, "0");
	CU_ASSERT_EQUAL(np_affinity_undo(&(struct np_undo) { pid, undo }, 1, err, sizeof(err)), 0);
	np_affinity_undo_free(undo);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "0");
	CU_ASSERT_EQUAL(restore(pid, &kept), 0);
	CU_ASSERT_EQUAL(kept, 1);
	end(pid);
}

/* At the end of a later daemon, which restores what is by one, it stays; by hand it goes back. */
static void what_a_daemon_has_left(void)
{
	struct np_daemon d = { .how.by = "test" };
	pid_t pid = start(nothing);
	const char *before = cpus_of(pid);
	size_t n, kept;

	CU_ASSERT_EQUAL(place_by(d.how.by, pid, "0"), 0);
	np_daemon_leave(&d);
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { .by = d.how.by }, &n, &kept, err,
					    sizeof(err)), 0);
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "0");
	restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), before);
	end(pid);
}

static void a_choice_of_the_user_before_a_failed_placement(void)
{
	pid_t pid = start(nothing);
	size_t kept;

	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	set(pid, "1");
	CU_ASSERT_NOT_EQUAL(place(pid, "0,8000"), 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "1");
	CU_ASSERT_EQUAL(restore(pid, &kept), 0);
	CU_ASSERT_EQUAL(kept, 1);
	CU_ASSERT_STRING_EQUAL(cpus_of(pid), "1");
	end(pid);
}

#define SERIES 8

/* Tasks that are placed elsewhere together: who inherited something is looked up once for all. */
static void a_series_looks_once_for_heirs(void)
{
	unsigned long before;
	pid_t pid[SERIES];

	for (size_t i = 0; i < SERIES; i++) {
		pid[i] = start(nothing);
		CU_ASSERT_EQUAL(place_in_series(pid[i], "0", i > 0), 0);
	}
	before = np_processes_readings;
	for (size_t i = 0; i < SERIES; i++)
		CU_ASSERT_EQUAL(place_in_series(pid[i], "1", i > 0), 0);
	/* Once, and again if another process has written the state or somebody exited meanwhile. */
	CU_ASSERT(np_processes_readings - before <= SERIES / 2);
	before = np_processes_readings;
	for (size_t i = 0; i < SERIES; i++)
		CU_ASSERT_EQUAL(place(pid[i], "0"), 0);
	CU_ASSERT(np_processes_readings - before >= SERIES);
	for (size_t i = 0; i < SERIES; i++) {
		restore(pid[i], NULL);
		end(pid[i]);
	}
}

/* Its parent is placed elsewhere in a series whose look came before it was born, then twice again. */
static void a_child_born_within_a_series(void)
{
	pid_t other = start(nothing), pid = start(fork_when_told), child;
	const char *before = cpus_of(pid);

	CU_ASSERT_EQUAL(place(other, "0"), 0);
	CU_ASSERT_EQUAL(place(pid, "0"), 0);
	CU_ASSERT_EQUAL(place_in_series(other, "1", false), 0);
	shared->go = 1;
	child = await_pid(&shared->child);
	CU_ASSERT_EQUAL(place_in_series(pid, "1", true), 0);
	CU_ASSERT_EQUAL(place_in_series(other, "0-1", false), 0);
	CU_ASSERT_EQUAL(place_in_series(pid, "0-1", true), 0);
	CU_ASSERT_EQUAL(place(pid, "1"), 0);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), "0");
	restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(cpus_of(child), before);
	restore(other, NULL);
	kill(child, SIGKILL);
	end(pid);
	end(other);
}

CU_TestInfo undo_tests[] = {
	{ "a thread that was there already", a_thread_that_was_there_already },
	{ "a thread born between two placements", a_thread_born_between_two_placements },
	{ "a child that is placed itself", a_child_that_is_placed_itself },
	{ "a child of an earlier placement", a_child_of_an_earlier_placement },
	{ "a grandchild", a_grandchild },
	{ "an orphan", an_orphan },
	{ "a child that had them before", a_child_that_had_them_before },
	{ "an earlier placement and its child", an_earlier_placement_and_its_child },
	{ "a child of the placement that is undone", a_child_of_the_placement_that_is_undone },
	{ "a placement of one thread", a_placement_of_one_thread },
	{ "an earlier placement when the module refuses", an_earlier_placement_when_the_module_refuses },
	{ "a choice of the user after the placement that is undone",
	  a_choice_of_the_user_after_the_placement_that_is_undone },
	{ "what a daemon has left", what_a_daemon_has_left },
	{ "a choice of the user before a failed placement",
	  a_choice_of_the_user_before_a_failed_placement },
	{ "a series looks once for heirs", a_series_looks_once_for_heirs },
	{ "a child born within a series", a_child_born_within_a_series },
	CU_TEST_INFO_NULL,
};
