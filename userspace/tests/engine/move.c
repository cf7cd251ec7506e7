// SPDX-License-Identifier: GPL-2.0-only
/* How the statuses of move_pages(2) are read; how pages come back. */
#include "../../lib/engine/move_pages.h"

#include <errno.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/engine/page_sender.h"
#include "../../lib/engine/spread_pages.h"
#include "../../lib/plan/saved_pages.h"
#include "../fixture.h"

#define U NP_STATUS_UNSET

TEST(a_failed_call_tells_how_far_it_got)
{
	/* The last batch failed: everything was tried. */
	static const int at_end[] = { 0, 0, U, U };
	/* One batch of all, failed. */
	static const int whole[] = { U, U, U, U };
	/* A batch that page 2, whose status is stored, ended: the rest was not tried. */
	static const int middle[] = { U, U, -ENOENT, U, U, U };
	static const int later[] = { 0, -EACCES, U, U, 0, U, U };
	static const int one[7] = { 0 };
	/* Batches by node: the one for node 1 was tried, those for 2 and 3 were not. */
	static const int four[] = { 1, 1, 2, 2, 3, 3 };
	static const int second_fails[] = { 1, 1, U, U, U, U };

	CU_ASSERT_EQUAL(np_sender_tried(one, at_end, 4), 4);
	CU_ASSERT_EQUAL(np_sender_tried(one, whole, 4), 4);
	CU_ASSERT_EQUAL(np_sender_tried(one, middle, 6), 3);
	CU_ASSERT_EQUAL(np_sender_tried(one, later, 7), 5);
	CU_ASSERT_EQUAL(np_sender_tried(one, whole, 1), 1);
	CU_ASSERT_EQUAL(np_sender_tried(four, middle, 6), 2);
	CU_ASSERT_EQUAL(np_sender_tried(four, whole, 4), 2);
	CU_ASSERT_EQUAL(np_sender_tried(four, second_fails, 6), 4);
}

TEST(every_refusal_has_a_name)
{
	struct np_migrate_result r = { 0 };

	np_sender_count(&r, -ENOENT, 1);
	np_sender_count(&r, -EFAULT, 2);
	np_sender_count(&r, -EACCES, 4);
	np_sender_count(&r, -ENOMEM, 8);
	np_sender_count(&r, -EBUSY, 16);
	np_sender_count(&r, -EIO, 32);
	np_sender_count(&r, -EAGAIN, 512);
	CU_ASSERT(r.absent == 3 && r.shared == 4 && r.no_memory == 8 && r.busy == 560);
	CU_ASSERT_EQUAL(r.asked, 575);
}

/* 20 GiB at 1 MiB/s take more than five hours, a terabyte twelve days. */
TEST(a_rate_holds_for_any_amount)
{
	const uint64_t mib = 1024 * 1024, second = 1000000000;

	CU_ASSERT_EQUAL(np_sender_due_ns(mib / 2, 1), second / 2);
	CU_ASSERT_EQUAL(np_sender_due_ns(mib * 20480, 1), second * 20480);
	CU_ASSERT_EQUAL(np_sender_due_ns(mib << 20, 1), second << 20);
	CU_ASSERT_EQUAL(np_sender_due_ns(mib << 30, 1024), second << 20);
	CU_ASSERT_EQUAL(np_sender_due_ns(mib << 20, 1u << 31), second >> 11);
}

/* On any machine: asking for the node where everything is already moves nothing. */
TEST(counts_sum_up_on_this_machine)
{
	struct np_migrate_request r = { .to = 0 };
	struct np_migrate_result out;
	struct np_err err = { "" };
	uint64_t sum = 0;
	int started[2];
	char byte;

	CU_ASSERT_EQUAL_FATAL(pipe(started), 0);
	r.pid = fork();
	if (r.pid == 0) {
		setpgid(0, 0);
		dup2(started[1], STDOUT_FILENO);
		execlp("sh", "sh", "-c", "echo; while :; do sleep 1000; done", NULL);
		_exit(127);
	}
	close(started[1]);
	CU_ASSERT_EQUAL(read(started[0], &byte, 1), 1);
	close(started[0]);
	CU_ASSERT_EQUAL(np_move_pages(&r, &out, &err), 0);
#define X(name) sum += out.name;
	NUMAPLACE_COUNTS(X)
#undef X
	CU_ASSERT_EQUAL(out.asked, sum);
	CU_ASSERT(out.already + out.moved + out.shared >= 10);
	kill(-r.pid, SIGKILL);
	waitpid(r.pid, NULL, 0);
	CU_ASSERT_EQUAL(np_move_pages(&r, &out, &err), -ESRCH);
}

static bool never_go_on(const struct np_migrate_result *so_far, void *arg)
{
	return false;
}

/* On any machine, since nothing moves: of this process, to a node where none of its pages are. */
TEST(a_dry_run_can_be_ended)
{
	const struct np_migrate_request r = {
		.pid = getpid(), .to = INT_MAX, .dry = true, .progress = never_go_on
	};
	struct np_migrate_result out;
	struct np_err err = { "" };

	CU_ASSERT_EQUAL(np_move_pages(&r, &out, &err), -ECANCELED);
	CU_ASSERT(out.asked > 0);
}

/* As the call itself names them: pages of files that several map are those of a file. */
TEST(a_dry_run_names_pages_of_files)
{
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *again = mremap(memory, 0, 8192, MREMAP_MAYMOVE); /* maps it once more */
	struct np_migrate_request r = { .pid = getpid(), .to = INT_MAX, .dry = true, .files = true };
	struct np_migrate_result out;
	struct np_err err = { "" };

	CU_ASSERT_FATAL(memory != MAP_FAILED && again != MAP_FAILED);
	memory[0] = memory[4096] = again[0] = 1;
	r.start = (uintptr_t)memory;
	r.end = r.start + 8192;
	CU_ASSERT_EQUAL(np_move_pages(&r, &out, &err), 0);
	CU_ASSERT(out.asked == 2 && out.moved == 1 && out.file == 1);
	munmap(again, 8192);
	munmap(memory, 8192);
}

/* Pages that move when n of them are all on node 0 of two, of which share1 belong on node 1. */
static size_t chosen(size_t n, double share1, int *to)
{
	const double share[] = { 1 - share1, share1 }, placed[] = { 0, 0 };
	int node[512] = { 0 };
	size_t moved = 0;

	np_spread_choose(node, n, share, placed, 0, 2, to);
	for (size_t i = 0; i < n; i++)
		moved += to[i] == 1;
	return moved;
}

TEST(a_spread_is_fine_grained)
{
	int to[512], node[512];
	const double half[] = { 0.5, 0.5 }, none[] = { 0, 0 }, all_there[] = { 0, 512 };

	CU_ASSERT_EQUAL(chosen(512, 0.5, to), 256);
	for (size_t i = 0; i < 512; i += 2)
		CU_ASSERT_EQUAL((to[i] == 1) + (to[i + 1] == 1), 1);
	CU_ASSERT_EQUAL(chosen(512, 0.25, to), 128);
	CU_ASSERT_EQUAL(chosen(512, 1, to), 512);
	CU_ASSERT_EQUAL(chosen(512, 0, to), 0);
	for (size_t i = 0; i < 512; i++)
		node[i] = i % 2 ? -2 : i % 4 == 0;
	np_spread_choose(node, 512, half, none, 0, 2, to);
	for (size_t i = 0; i < 512; i++)
		CU_ASSERT_EQUAL(to[i], -1);
	/* After a huge page that went to node 1 the next one stays. */
	memset(node, 0, sizeof(node));
	np_spread_choose(node, 512, half, all_there, 512, 2, to);
	for (size_t i = 0; i < 512; i++)
		CU_ASSERT_EQUAL(to[i], -1);
}

/*
 * A process that does nothing, with this number (0: any); -1 where the kernel or our rights do not
 * allow it.
 */
static pid_t start_sleeper(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = number ? (uint64_t)(uintptr_t)&number : 0,
		.set_tid_size = number != 0,
	};
	/* Six arguments: task_sampling.c has a syscall() of its own, which passes on as many. */
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args), 0L, 0L, 0L, 0L);

	if (pid == 0)
		while (true)
			pause();
	return pid;
}

static struct np_node two_nodes[] = { { .id = 0, .cpus = 1 }, { .id = 1, .cpus = 1 } };
static int cpu_node[] = { 0, 1 };
static const struct np_machine two = {
	.n_nodes = 2,
	.node = two_nodes,
	.n_cpus = 2,
	.cpu_node = cpu_node,
	.page_size = 4096,
};

/*
 * Whose pages an engine was asked to move, the last of them; and whose number it then gives to
 * another.
 */
static pid_t asked, to_reuse;

static int migrate_notes(const struct np_migrate_request *r, struct np_migrate_result *out,
			 struct np_err *err)
{
	*out = (struct np_migrate_result) { .asked = 1, .moved = 1, .engine = "notes" };
	asked = r->pid;
	if (!to_reuse)
		return 0;
	fixture_end_child(to_reuse);
	usleep(20000); /* start times are in ticks of 10 ms */
	CU_ASSERT_EQUAL(start_sleeper(to_reuse), to_reuse);
	to_reuse = 0;
	return 0;
}

static const struct np_engine_ops notes = { .name = "notes", .migrate = migrate_notes };

static pid_t not_allowed; /* whose pages cannot go back */

static int migrate_some(const struct np_migrate_request *r, struct np_migrate_result *out,
			struct np_err *err)
{
	return r->pid == not_allowed ? np_fail(err, -EACCES, "not allowed") :
				       migrate_notes(r, out, err);
}

static const struct np_engine_ops some = { .name = "some", .migrate = migrate_some };

static int bring_back(const pid_t *pids, size_t n, struct np_pages_back *back)
{
	static const volatile sig_atomic_t never;
	const struct np_mover mover = { .engine = not_allowed ? &some : &notes };
	struct np_err err;

	*back = (struct np_pages_back) { 0 };
	asked = 0;
	return np_saved_pages_restore(&two, pids, n, &mover, &never, back, &err);
}

/* Those of one that cannot go back are no reason to leave the others'. */
TEST(pages_of_the_others_go_back)
{
	pid_t one = start_sleeper(0), other = start_sleeper(0), both[] = { one, other };
	struct np_pages_back back;

	setenv("XDG_RUNTIME_DIR", fixture_begin(), 1);
	CU_ASSERT(fixture_note_pages(&two, one, 100000));
	CU_ASSERT(fixture_note_pages(&two, other, 100000));
	not_allowed = one;
	CU_ASSERT_EQUAL(bring_back(both, 2, &back), -EACCES);
	CU_ASSERT(asked == other && back.tasks == 1);
	not_allowed = 0;
	CU_ASSERT_EQUAL(bring_back(both, 2, &back), 0); /* its record is still there */
	CU_ASSERT(asked == one && back.tasks == 1);
	fixture_end_child(other);
	fixture_end_child(one);
	fixture_end();
}

/* While the pages of one task move, another exits and its number is given to a third. */
TEST(pages_of_a_reused_pid_stay)
{
	pid_t one = start_sleeper(0), other = start_sleeper(0), both[] = { one, other };
	struct np_pages_back back;

	setenv("XDG_RUNTIME_DIR", fixture_begin(), 1);
	fixture_end_child(other);
	if (start_sleeper(other) == other) { /* else we may not choose a number */
		CU_ASSERT(fixture_note_pages(&two, one, 100000));
		CU_ASSERT(fixture_note_pages(&two, other, 100000));
		to_reuse = other;
		CU_ASSERT_EQUAL(bring_back(both, 2, &back), 0);
		CU_ASSERT(asked == one && !to_reuse && back.tasks == 1);
		fixture_end_child(other);
	}
	fixture_end_child(one);
	fixture_end();
}
