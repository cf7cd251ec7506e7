// SPDX-License-Identifier: GPL-2.0-only
/* The intervals at which the daemon reads the nodes of a task's pages. */
#include "../../lib/daemon/task_watch.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/error.h"
#include "../../lib/host/proc.h"
#include "../fixture.h"
#include "daemon_fixture.h"

#define INTERVALS 200

/* In how many of the intervals from first on the pages of pid are read. */
static int reads(struct np_task_watch *w, const struct np_machine *m, pid_t pid, unsigned int first)
{
	struct np_err err;
	int n = 0;

	for (unsigned int now = first; now < first + INTERVALS; now++) {
		bool changed = false;

		CU_ASSERT_EQUAL_FATAL(np_task_watch_look(w, m, now, &changed, &err), 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(np_task_watch_find(w, pid));
		n += np_task_watch_find(w, pid)->read_at == now;
	}
	return n;
}

/* It is stale every 30th interval; to read it takes far more than these have, or far less. */
TEST(a_costly_task_is_read_seldom)
{
	pid_t pid = fixture_start_idle();
	struct np_task_watch_rules rules = {
		.pids = &pid, .n_pids = 1, .pause = INTERVALS, .read_budget = 1e-9
	};
	struct np_machine m;
	struct np_task_watch w;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_open(&w, &rules, &err), 0);
	CU_ASSERT_EQUAL(reads(&w, &m, pid, 1), 1);
	CU_ASSERT(w.debt > 0);
	rules.read_budget = 1;
	CU_ASSERT(reads(&w, &m, pid, 1 + INTERVALS) >= INTERVALS / 40);
	np_task_watch_close(&w);
	np_machine_free(&m);
	fixture_end_child(pid);
}

/* A plan that is made right after reading its pages has to know it. */
TEST(reading_pages_keeps_the_busy_cpus)
{
	pid_t pid = fixture_start_idle();
	struct np_task_watch_rules rules = {
		.pids = &pid, .n_pids = 1, .pause = INTERVALS, .read_budget = 1
	};
	struct np_machine m;
	struct np_task_watch w;
	struct np_watched_task *t;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_open(&w, &rules, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	t = np_task_watch_find(&w, pid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	t->busy = 2.7;
	CU_ASSERT_TRUE_FATAL(np_task_watch_read(&w, &m, t, 1));
	CU_ASSERT_EQUAL(t->task.task[0].cores, 3);
	np_task_watch_close(&w);
	np_machine_free(&m);
	fixture_end_child(pid);
}

/* Watches the tasks of rules, of which a new child of this process is one. */
static struct np_watched_task *watch_a_child(struct np_task_watch *w,
					     const struct np_task_watch_rules *rules, pid_t *pid)
{
	struct np_watched_task *t;
	struct np_err err;

	*pid = fixture_start_idle();
	CU_ASSERT_EQUAL_FATAL(np_task_watch_open(w, rules, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(w, &err), 0);
	t = np_task_watch_find(w, *pid);
	CU_ASSERT_FATAL(t && t->watched);
	return t;
}

/*
 * Its parent was there when it was listed and is not any more, and it has been given to a task that
 * is watched.
 */
TEST(the_child_of_a_parent_that_has_exited)
{
	pid_t self = getpid(), pid;
	struct np_task_watch_rules rules = { .pids = &self, .n_pids = 1, .pause = INTERVALS };
	struct np_task_watch w;
	struct np_watched_task *t = watch_a_child(&w, &rules, &pid);
	struct np_err err;

	t->watched = false;
	t->ppid = INT_MAX; /* no task's */
	w.last_pid = 0;
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	t = np_task_watch_find(&w, pid);
	CU_ASSERT_FATAL(t && t->watched);
	np_task_watch_close(&w);
	fixture_end_child(pid);
}

/* The kernel allocates a pid before its task is in /proc: a listing in between does not see it. */
TEST(a_task_that_was_not_in_proc_yet)
{
	pid_t self = getpid(), pid;
	struct np_task_watch_rules rules = { .pids = &self, .n_pids = 1, .pause = INTERVALS };
	struct np_task_watch w;
	struct np_err err;
	FILE *file;

	CU_ASSERT_EQUAL_FATAL(np_task_watch_open(&w, &rules, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	pid = fixture_start_idle();
	file = fopen("/proc/loadavg", "re");
	CU_ASSERT_FATAL(file && fscanf(file, "%*s %*s %*s %*s %lu", &w.last_pid) == 1);
	fclose(file);
	w.listings = 1;
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(np_task_watch_find(&w, pid));
	np_task_watch_close(&w);
	fixture_end_child(pid);
}

/* Never returns: starts a process that starts another once this one has exited; writes both pids. */
static void start_orphan(int out)
{
	pid_t self = getpid(), pid = fork();

	if (pid)
		write(out, &pid, sizeof(pid));
	else {
		while (getppid() == self)
			usleep(1000);
		pid = fork();
		if (pid)
			write(out, &pid, sizeof(pid));
	}
	for (;;)
		pause();
}

/* The tasks that an orphan starts are watched as it is; its first parent is no longer listed. */
TEST(the_child_of_an_orphan)
{
	pid_t parent, orphan, child, self = getpid();
	struct np_task_watch_rules rules = { .pids = &self, .n_pids = 1, .pause = INTERVALS };
	struct np_task_watch w;
	struct np_watched_task *t;
	struct np_err err;
	int pids[2];

	CU_ASSERT_EQUAL_FATAL(pipe(pids), 0);
	parent = fork();
	if (parent == 0)
		start_orphan(pids[1]);
	CU_ASSERT_EQUAL_FATAL(read(pids[0], &orphan, sizeof(orphan)), sizeof(orphan));
	CU_ASSERT_EQUAL_FATAL(np_task_watch_open(&w, &rules, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	fixture_end_child(parent);
	CU_ASSERT_EQUAL_FATAL(read(pids[0], &child, sizeof(child)), sizeof(child));
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	t = np_task_watch_find(&w, orphan);
	CU_ASSERT(t && t->watched);
	t = np_task_watch_find(&w, child);
	CU_ASSERT(t && t->watched);
	np_task_watch_close(&w);
	kill(child, SIGKILL);
	kill(orphan, SIGKILL);
	close(pids[0]);
	close(pids[1]);
}

/* The pid was that of a task of somebody else when it was listed. */
TEST(a_reused_pid_of_a_task_that_was_not_watched)
{
	pid_t self = getpid(), pid;
	struct np_task_watch_rules rules = { .pids = &self, .n_pids = 1, .pause = INTERVALS };
	struct np_task_watch w;
	struct np_watched_task *t = watch_a_child(&w, &rules, &pid);
	struct np_err err;

	t->watched = false;
	t->ppid = 1;
	t->start--;
	w.last_pid = (unsigned long)pid - 1;
	w.listings = 0;
	CU_ASSERT_EQUAL_FATAL(np_task_watch_list(&w, &err), 0);
	t = np_task_watch_find(&w, pid);
	CU_ASSERT(t && t->watched && t->ppid == self);
	np_task_watch_close(&w);
	fixture_end_child(pid);
}

/* Writes pages, lets a child share them, and waits; the child waits, too. */
static void share_pages(char *memory, size_t bytes, int told)
{
	pid_t child;

	memset(memory, 1, bytes);
	child = fork();
	if (child && write(told, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	for (;;)
		pause();
}

/* What a child shared with a task is the task's own again when the child has gone. */
TEST(pages_that_are_shared_no_more)
{
	size_t bytes = 1000 * (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	int told[2];
	pid_t pid, child;
	struct np_task_watch_rules rules = { .pids = &pid, .n_pids = 1, .read_budget = 1 };
	struct np_watched_task *t;
	struct np_proc_stat st;
	struct np_task_watch w;
	struct np_machine m;
	struct np_err err;
	uint64_t before;
	bool changed = false;

	CU_ASSERT_FATAL(memory != MAP_FAILED && !pipe(told));
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	pid = fork();
	if (pid == 0)
		share_pages(memory, bytes, told[1]);
	CU_ASSERT_EQUAL_FATAL(read(told[0], &child, sizeof(child)), sizeof(child));
	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_open(&w, &rules, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_task_watch_look(&w, &m, 1, &changed, &err), 0);
	t = np_task_watch_find(&w, pid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	np_task_watch_read(&w, &m, t, 1);
	before = t->task.task[0].shared_pages;
	CU_ASSERT(before >= 1000);
	kill(child, SIGKILL);
	/* A zombie, which its parent does not reap, maps nothing. */
	for (int i = 0; i < 1000 && !np_proc_stat(child, &st) && !np_proc_has_ended(&st); i++)
		usleep(10000);
	np_task_watch_read(&w, &m, t, 2);
	CU_ASSERT(t->task.task[0].shared_pages + 1000 <= before);
	np_task_watch_close(&w);
	np_machine_free(&m);
	fixture_end_child(pid);
	munmap(memory, bytes);
	close(told[0]);
	close(told[1]);
}

/* More tasks than it may have open files: 0 where none is lost and others can be opened. */
static int watch_many(void)
{
	enum { TASKS = 100 };
	struct rlimit few = { TASKS - 20, TASKS - 20 };
	pid_t pid[TASKS];
	struct np_task_watch_rules rules = { .pids = pid, .n_pids = TASKS, .read_budget = 1 };
	struct np_task_watch w;
	struct np_machine m;
	struct np_err err;
	bool changed = false;
	int lost = 0;
	FILE *f;

	for (size_t i = 0; i < TASKS; i++)
		pid[i] = fixture_start_idle();
	if (np_machine_read(&m, "", &err) || np_task_watch_open(&w, &rules, &err) ||
	    setrlimit(RLIMIT_NOFILE, &few))
		return 100;
	for (unsigned int now = 1; now < 4; now++)
		np_task_watch_look(&w, &m, now, &changed, &err);
	for (size_t i = 0; i < TASKS; i++) {
		const struct np_watched_task *t = np_task_watch_find(&w, pid[i]);

		lost += !t || t->gone;
	}
	f = fopen("/proc/self/stat", "re");
	lost += !f;
	for (size_t i = 0; i < TASKS; i++)
		kill(pid[i], SIGKILL);
	return lost;
}

TEST(more_tasks_than_open_files)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(watch_many());
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}
