// SPDX-License-Identifier: GPL-2.0-only
/*
 * A restored thread has what it had before it was placed, whatever was placed, forked,
 * ended or changed meanwhile. Needs a machine with two CPUs.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/error.h"
#include "../../lib/daemon/daemon.h"
#include "../../lib/host/processes.h"
#include "../../lib/undo/inherited.h"
#include "subject.h"
#include "../fixture.h"

static struct np_err err;

static int place_in_series(pid_t pid, const char *list, bool follows)
{
	return subject_place_as((struct np_place_request) { .pid = pid, .follows = follows }, list);
}

static void *pinned_thread(void *unused)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(1, &one);
	sched_setaffinity(0, sizeof(one), &one);
	subject->thread = gettid();
	pause();
	return unused;
}

static void pin_a_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, pinned_thread, NULL);
}

/* Its child starts one as well. */
static void fork_twice(void)
{
	pid_t child;

	subject_await_go();
	child = fork();
	if (child == 0) {
		subject_forks();
		while (true)
			pause();
	}
	subject->thread = child;
}

TEST(a_thread_that_was_there_already)
{
	pid_t pid = subject_start(pin_a_thread), thread = subject_await(&subject->thread);
	const char *before = subject_cpus(pid);

	CU_ASSERT_EQUAL(subject_place(pid, "1"), 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "1");
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), before);
	CU_ASSERT_STRING_EQUAL(subject_cpus(thread), "1");
	fixture_end_child(pid);
}

TEST(a_thread_born_between_two_placements)
{
	pid_t pid = subject_start(subject_starts_thread);
	const char *before = subject_cpus(pid);
	pid_t thread;

	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	subject->go = 1;
	thread = subject_await(&subject->thread);
	CU_ASSERT_EQUAL(subject_place(pid, "1"), 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(thread), "1");
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(thread), before);
	fixture_end_child(pid);
}

TEST(a_child_that_is_placed_itself)
{
	pid_t pid = subject_start(subject_forks), child;
	const char *before = subject_cpus(pid);

	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	subject->go = 1;
	child = subject_await(&subject->child);
	CU_ASSERT_EQUAL(subject_place(child, "1"), 0);
	subject_restore(child, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "0");
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), before);
	kill(child, SIGKILL);
	fixture_end_child(pid);
}

/* Its parent has been elsewhere twice since: nothing of that is what the child has. */
TEST(a_child_of_an_earlier_placement)
{
	pid_t pid = subject_start(subject_forks), child;
	const char *before = subject_cpus(pid);

	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	subject->go = 1;
	child = subject_await(&subject->child);
	CU_ASSERT_EQUAL(subject_place(pid, "1"), 0);
	CU_ASSERT_EQUAL(subject_place(pid, "0-1"), 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), "0");
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
	kill(child, SIGKILL);
	fixture_end_child(pid);
}

static void *thread_that_forks(void *unused)
{
	subject->thread = gettid();
	subject_await_go();
	subject_forks();
	pause();
	return unused;
}

static void fork_from_a_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_that_forks, NULL);
}

static int place_thread(pid_t tid, const char *list)
{
	return subject_place_as((struct np_place_request) { .pid = tid,
							    .inherit = true,
							    .one_thread = true },
				list);
}

/* It has the CPUs of the thread that started it, not those of the process's first. */
TEST(a_child_of_a_thread_that_is_placed_elsewhere)
{
	pid_t pid = subject_start(fork_from_a_thread), thread = subject_await(&subject->thread);
	const char *before = subject_cpus(pid);
	pid_t child;

	CU_ASSERT_EQUAL(place_thread(pid, "0"), 0);
	CU_ASSERT_EQUAL(place_thread(thread, "1"), 0);
	subject->go = 1;
	child = subject_await(&subject->child);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), "1");
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(thread), before);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
	kill(child, SIGKILL);
	fixture_end_child(pid);
}

/* The child that inherited a place is placed elsewhere after it has started another. */
TEST(a_grandchild)
{
	pid_t pid = subject_start(fork_twice), child, grandchild, both[2];
	const char *before = subject_cpus(pid);
	size_t n, kept;

	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	subject->go = 1;
	child = subject_await(&subject->thread);
	grandchild = subject_await(&subject->child);
	both[0] = pid < child ? pid : child;
	both[1] = pid < child ? child : pid;
	usleep(20000); /* start times are in ticks of 10 ms */
	CU_ASSERT_EQUAL(subject_place(child, "1"), 0);
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { both, 2, NULL }, &n, &kept, &err),
			0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
	CU_ASSERT_STRING_EQUAL(subject_cpus(grandchild), before);
	kill(grandchild, SIGKILL);
	kill(child, SIGKILL);
	fixture_end_child(pid);
}

/* None of its ancestors has a record; the daemon lists the tasks while its parent lives. */
TEST(an_orphan_that_a_daemon_has_met)
{
	pid_t pid = subject_start(subject_forks_and_exits), child;
	struct np_task_watch_rules rules = { .pids = &pid, .n_pids = 1 };
	const char *before = subject_cpus(pid);
	struct np_task_watch w;

	CU_ASSERT_EQUAL_FATAL(np_task_watch_open(&w, &rules, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	np_task_watch_find(&w, pid)->placed = true;
	subject->go = 1;
	child = subject_await(&subject->child);
	CU_ASSERT_EQUAL(np_task_watch_list(&w, &err), 0);
	subject->go = 2;
	waitpid(pid, NULL, 0);
	subject_restore(child, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
	np_task_watch_close(&w);
	kill(child, SIGKILL);
}

/* Restores what this program has placed, as a daemon and `run` do at their ends. */
static size_t restore_by(const char *by)
{
	size_t n, kept;

	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { .by = by }, &n, &kept, &err), 0);
	return n;
}

/* Or another is, and it is one of the others: a program of the machine's may have that CPU too. */
static bool is_named(pid_t pid)
{
	char start[64];

	snprintf(start, sizeof(start), "process %d (", pid);
	return (strstr(err.text, start) || strstr(err.text, ", as others do")) &&
	       strstr(err.text, "was not seen as its child") && strstr(err.text, "taskset -acp ");
}

TEST(an_orphan_that_was_not_seen)
{
	pid_t pid = subject_start(subject_forks_and_exits), child;

	CU_ASSERT_EQUAL(subject_place_by("test", pid, "0"), 0);
	subject->go = 1;
	child = subject_await(&subject->child);
	subject->go = 2;
	waitpid(pid, NULL, 0);
	CU_ASSERT_EQUAL(restore_by("test"), 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), "0");
	CU_ASSERT(is_named(child));
	kill(child, SIGKILL);
}

/* As numactl(8) starts a program, in a session of its own. */
static void take_cpu_0(void)
{
	setsid();
	subject_set(getpid(), "0");
	subject->child = getpid();
}

/* The same of a program that makes itself a daemon: its parent is init. */
static void leave_one_on_cpu_0(void)
{
	if (fork())
		_exit(0);
	take_cpu_0();
}

/* Younger than the placement, on the same CPUs: they are the user's choice. */
static void unrelated_processes(const char *by)
{
	static void (*const body[])(void) = { take_cpu_0, leave_one_on_cpu_0 };

	for (size_t i = 0; i < 2; i++) {
		pid_t pid = subject_start(subject_waits), other;
		const char *before = subject_cpus(pid);

		CU_ASSERT_EQUAL(subject_place_by(by, pid, "0"), 0);
		usleep(20000); /* start times are in ticks of 10 ms */
		subject_start(body[i]);
		other = subject_await(&subject->child);
		CU_ASSERT_EQUAL(np_inherited_see(&err), 0);
		CU_ASSERT_EQUAL(restore_by(by), 1);
		CU_ASSERT_STRING_EQUAL(subject_cpus(pid), before);
		CU_ASSERT_STRING_EQUAL(subject_cpus(other), "0");
		CU_ASSERT(is_named(other));
		kill(other, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		fixture_end_child(pid);
	}
}

TEST(an_unrelated_process)
{
	unrelated_processes("test");
}

/* This process is the `run` that has placed the one, and the parent of the other. */
TEST(an_unrelated_process_of_run)
{
	char by[NP_BY_LEN];

	snprintf(by, sizeof(by), NP_BY_RUN, getpid());
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	unrelated_processes(by);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* The parent has the number of one that was placed, and has exited since the state was read. */
TEST(a_child_of_a_reused_number)
{
	struct np_saved r = {
		.tid = getpid(), .pid = getpid(), .start = 1, .placed = 1, .inherit = true
	};
	struct np_saved_affinity s = { .file = { .lock = -1, .data = -1 } };
	pid_t other = subject_start(take_cpu_0);
	struct np_processes all;
	size_t exited;

	subject_await(&subject->child);
	r.set = numa_bitmask_setbit(numa_bitmask_alloc(NP_MAX_CPUS), 0);
	r.original = numa_bitmask_setall(numa_bitmask_alloc(NP_MAX_CPUS));
	CU_ASSERT_EQUAL_FATAL(np_saved_affinity_add(&s, &r), 0);
	CU_ASSERT_EQUAL_FATAL(np_processes_read(&all), 0);
	CU_ASSERT_EQUAL(np_inherited_note(&s, &all, &exited), 0);
	CU_ASSERT_PTR_NULL(np_saved_affinity_find(&s, other));
	np_processes_free(&all);
	np_saved_affinity_close(&s);
	np_saved_free(&r);
	fixture_end_child(other);
}

/* Older than the placement, it has chosen the same CPUs for itself. */
TEST(a_child_that_had_them_before)
{
	pid_t pid = subject_start(subject_forks), child;
	const char *before = subject_cpus(pid);

	subject->go = 1;
	child = subject_await(&subject->child);
	subject_set(child, "0");
	usleep(20000); /* start times are in ticks of 10 ms */
	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), before);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), "0");
	kill(child, SIGKILL);
	fixture_end_child(pid);
}

/* At the end of a later daemon, which restores what is by one, it stays; by hand it goes back. */
TEST(what_a_daemon_has_left)
{
	struct np_daemon d = { .how.by = "test" };
	pid_t pid = subject_start(subject_waits);
	const char *before = subject_cpus(pid);
	size_t n, kept;

	CU_ASSERT_EQUAL(subject_place_by(d.how.by, pid, "0"), 0);
	np_daemon_leave(&d);
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { .by = d.how.by }, &n, &kept, &err),
			0);
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "0");
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), before);
	fixture_end_child(pid);
}

TEST(a_choice_of_the_user_before_a_failed_placement)
{
	pid_t pid = subject_start(subject_waits);
	size_t kept;

	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	subject_set(pid, "1");
	CU_ASSERT_NOT_EQUAL(subject_place(pid, "0,8000"), 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "1");
	CU_ASSERT_EQUAL(subject_restore(pid, &kept), 0);
	CU_ASSERT_EQUAL(kept, 1);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "1");
	fixture_end_child(pid);
}

#define SERIES 8

/* Tasks that are placed elsewhere together: descendants are looked up once for all. */
TEST(a_series_searches_once_for_descendants)
{
	unsigned long before;
	pid_t pid[SERIES];

	for (size_t i = 0; i < SERIES; i++) {
		pid[i] = subject_start(subject_waits);
		CU_ASSERT_EQUAL(place_in_series(pid[i], "0", i > 0), 0);
	}
	before = np_processes_readings;
	for (size_t i = 0; i < SERIES; i++)
		CU_ASSERT_EQUAL(place_in_series(pid[i], "1", i > 0), 0);
	/* Once, and again if another process wrote the state or a task exited meanwhile. */
	CU_ASSERT(np_processes_readings - before <= SERIES / 2);
	before = np_processes_readings;
	for (size_t i = 0; i < SERIES; i++)
		CU_ASSERT_EQUAL(subject_place(pid[i], "0"), 0);
	CU_ASSERT(np_processes_readings - before >= SERIES);
	for (size_t i = 0; i < SERIES; i++) {
		subject_restore(pid[i], NULL);
		fixture_end_child(pid[i]);
	}
}

/* Its parent is placed elsewhere in a series whose look came before it was born, then twice again. */
TEST(a_child_born_within_a_series)
{
	pid_t other = subject_start(subject_waits), pid = subject_start(subject_forks), child;
	const char *before = subject_cpus(pid);

	CU_ASSERT_EQUAL(subject_place(other, "0"), 0);
	CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
	CU_ASSERT_EQUAL(place_in_series(other, "1", false), 0);
	subject->go = 1;
	child = subject_await(&subject->child);
	CU_ASSERT_EQUAL(place_in_series(pid, "1", true), 0);
	CU_ASSERT_EQUAL(place_in_series(other, "0-1", false), 0);
	CU_ASSERT_EQUAL(place_in_series(pid, "0-1", true), 0);
	CU_ASSERT_EQUAL(subject_place(pid, "1"), 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), "0");
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
	subject_restore(other, NULL);
	kill(child, SIGKILL);
	fixture_end_child(pid);
	fixture_end_child(other);
}
