// SPDX-License-Identifier: GPL-2.0-only
/* Tasks as the policies see them. */
#include "../../lib/host/tasks.h"

#include <errno.h>
#include <numaif.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../policies/plan/plan.h"
#include "../../lib/base/error.h"
#include "../../lib/host/shared_pages.h"
#include "../fixture.h"

TEST(reads_itself_on_this_machine)
{
	pid_t pids[] = { getpid(), getpid() };
	struct np_machine m;
	struct np_tasks t;
	struct np_err err;
	uint64_t pages = 0;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_tasks_read(&t, &m, pids, 2, &err), 0);
	CU_ASSERT_EQUAL(t.n, 1);
	CU_ASSERT(t.task[0].pid == getpid() && t.task[0].threads == 1 && t.task[0].cores == 1);
	for (size_t i = 0; i < m.n_nodes; i++)
		pages += t.task[0].pages[i];
	CU_ASSERT(pages > 10);
	np_tasks_free(&t);
	np_machine_free(&m);
}

TEST(names_the_process_that_is_not_there)
{
	pid_t pids[] = { getpid(), 0x7fffffff };
	struct np_machine m;
	struct np_tasks t;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	CU_ASSERT_EQUAL(np_tasks_read(&t, &m, pids, 2, &err), -ESRCH);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "2147483647"));
	CU_ASSERT_EQUAL(t.n, 0);
	np_machine_free(&m);
}

TEST(a_busy_process_keeps_a_core_busy)
{
	pid_t pid = fork();
	struct np_machine m;
	struct np_tasks t;
	struct np_err err;

	if (pid == 0)
		for (volatile unsigned int i = 0;; i++)
			;
	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_tasks_read(&t, &m, &pid, 1, &err), 0);
	usleep(100000);
	np_tasks_measure_busy(&t);
	CU_ASSERT(t.busy[0] > 0);
	CU_ASSERT_EQUAL(t.task[0].cores, 1);
	np_tasks_free(&t);
	np_machine_free(&m);
	fixture_end_child(pid);
}

TEST(assumptions)
{
	static const char *const bad[] = {
		"",
		"pid=7",
		"pid=7,penalty=0.5",
		"pid=7,mpki=-1",
		"pid=7,penalty=x",
		"pid=0,mpki=1",
		"pid=7,mpki=1x",
		"pid=7,mpki=nan",
		"pid=7,mpki=inf",
		"pid=1.5,mpki=1",
		"pid=7,penalty=1e99",
		"pid=7,speed=1",
		"7,mpki=1",
	};
	struct np_task task = { .pid = 7, .penalty = 1, .penalty_distance = 31 };
	struct np_tasks t = { .n = 1, .task = &task };
	struct np_err err;

	CU_ASSERT_EQUAL(np_tasks_assume(&t, "pid=7,penalty=1.5,mpki=30", &err), 0);
	CU_ASSERT_EQUAL(task.penalty_distance, 0);
	CU_ASSERT(task.penalty > 1.49 && task.penalty < 1.51 && task.mpki > 29.9);
	CU_ASSERT_EQUAL(task.penalty_source, NP_PROVENANCE_DECLARED);
	CU_ASSERT_EQUAL(task.mpki_source, NP_PROVENANCE_DECLARED);
	CU_ASSERT_STRING_EQUAL(np_provenance_name(task.mpki_source), "declared");
	CU_ASSERT_EQUAL(np_tasks_assume(&t, "mpki=0,pid=7", &err), 0);
	CU_ASSERT(task.mpki < 0.1 && task.penalty > 1.49);
	CU_ASSERT_EQUAL(np_tasks_assume(&t, "pid=8,mpki=1", &err), -ESRCH);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(np_tasks_assume(&t, bad[i], &err), -EINVAL);
	CU_ASSERT(task.penalty > 1.49 && task.penalty < 1.51);
}

TEST(an_assumption_of_every_task)
{
	struct np_task task[] = { { .pid = 7, .penalty = 1 }, { .pid = 8, .penalty = 1 } };
	struct np_tasks t = { .n = 2, .task = task };
	struct np_err err;

	CU_ASSERT_EQUAL(np_tasks_assume(&t, "penalty=1.5,mpki=30", &err), 0);
	for (size_t i = 0; i < t.n; i++) {
		CU_ASSERT(task[i].penalty > 1.49 && task[i].penalty < 1.51 && task[i].mpki > 29.9);
		CU_ASSERT_EQUAL(task[i].mpki_source, NP_PROVENANCE_DECLARED);
	}
	t.n = 0;
	CU_ASSERT_EQUAL(np_tasks_assume(&t, "penalty=1.5", &err), 0);
}

TEST(locality)
{
	uint64_t pages[] = { 100, 300 };
	struct np_task task = { .node = 1, .pages = pages };
	struct np_machine m = { .n_nodes = 2 };

	CU_ASSERT_DOUBLE_EQUAL(np_task_locality(&m, &task), 0.75, 1e-9);
	task.node = NP_NODE_NONE;
	CU_ASSERT(np_task_locality(&m, &task) < 0);
	pages[0] = pages[1] = 0;
	task.node = 0;
	CU_ASSERT(np_task_locality(&m, &task) < 0);
}

#define SHARED_TEST_PAGES 2000

/* Of this process, in a mapping of its own: a sanitizer has large ones. */
static uint64_t shared_in(const char *memory, size_t bytes)
{
	return np_shared_pages(getpid(), (uint64_t)sysconf(_SC_PAGESIZE), (uintptr_t)memory,
			       (uintptr_t)memory + bytes);
}

/* Half of the pages, which it shares until it has written to them too. */
static void write_in_two_halves(char *memory, size_t bytes, int ready, int go)
{
	char word;

	for (int half = 0; half < 2; half++) {
		memset(memory + (size_t)half * bytes / 2, 2, bytes / 2);
		if (write(ready, "", 1) != 1 || read(go, &word, 1) != 1)
			break;
	}
	_exit(0);
}

/* A child shares what it has not written to since fork(); what it wrote is its own. */
TEST(pages_are_shared_until_written)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = SHARED_TEST_PAGES * page;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	uint64_t shared[2];
	int ready[2], go[2];
	pid_t child;
	char word;

	CU_ASSERT_FATAL(memory != MAP_FAILED && !pipe(ready) && !pipe(go));
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes);
	child = fork();
	if (child == 0)
		write_in_two_halves(memory, bytes, ready[1], go[0]);
	for (int half = 0; half < 2; half++) {
		CU_ASSERT_EQUAL(read(ready[0], &word, 1), 1);
		shared[half] = shared_in(memory, bytes);
		CU_ASSERT_EQUAL(write(go[1], "", 1), 1);
	}
	waitpid(child, NULL, 0);
	CU_ASSERT_DOUBLE_EQUAL((double)shared[0], (double)shared[1] + SHARED_TEST_PAGES / 2,
			       SHARED_TEST_PAGES / 20);
	munmap(memory, bytes);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

/* Pages of a 4 GiB mapping of which some are in use, and which a child shares, as those of a task. */
static uint64_t shared_with_a_child(size_t used, bool chosen)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)4 << 30;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const unsigned long node = 1;
	uint64_t shared;
	pid_t child;

	CU_ASSERT_FATAL(memory != MAP_FAILED);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	CU_ASSERT(!chosen || !mbind(memory, bytes, MPOL_BIND, &node, 2, 0));
	memset(memory, 1, used * page);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	shared = shared_in(memory, bytes);
	munmap(memory, bytes);
	fixture_end_child(child);
	return shared;
}

/* Some pages of a mapping that is too large to be looked at whole count as what they are. */
TEST(few_shared_pages_of_a_large_mapping)
{
	CU_ASSERT_EQUAL(shared_with_a_child(400, false), 400);
}

/* They stay for the mapping's sake, and are counted so. */
TEST(shared_pages_of_a_mapping_with_a_policy)
{
	/* A container's filter of system calls may refuse to set a policy. */
	if (set_mempolicy(MPOL_DEFAULT, NULL, 0))
		return;
	CU_ASSERT_EQUAL(shared_with_a_child(400, true), 0);
}

TEST(age_is_since_the_start)
{
	pid_t pids[] = { getpid(), 1 };
	struct np_machine m;
	struct np_tasks t;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_tasks_read_some(&t, &m, pids, 2, &err), 0);
	CU_ASSERT_EQUAL(t.task[0].age_s.source, NP_PROVENANCE_KERNEL);
	CU_ASSERT(t.task[0].age_s.value >= 0 && t.task[0].age_s.value < 3600);
	CU_ASSERT(t.n < 2 || t.task[1].age_s.value >= t.task[0].age_s.value);
	np_tasks_free(&t);
	np_machine_free(&m);
}

/* As an unprivileged user: a process of root's and its own. */
static int what_is_denied(void)
{
	pid_t pids[] = { 1, getpid() };
	struct np_machine m;
	struct np_tasks t;
	struct np_err err = { "" };

	if (np_machine_read(&m, "", &err) || (!getuid() && setuid(65534)))
		return 1;
	if (np_tasks_read_some(&t, &m, pids, 2, &err))
		return 2;
	if (t.n != 1 || t.task[0].pid != getpid() || t.denied != 1 || t.denied_pid != 1)
		return 3;
	return !np_tasks_denied(&t, &err) ||
	       !strstr(err.text, "1 process left out: not permitted") ||
	       !strstr(err.text, "process 1 of user root; run as that user or as root");
}

TEST(who_may_not_be_read_is_said)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(what_is_denied());
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}
