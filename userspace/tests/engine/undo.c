// SPDX-License-Identifier: GPL-2.0-only
/*
 * A placement that is taken back leaves what was there just before it, whatever was placed,
 * forked or changed meanwhile. Needs a machine with two CPUs.
 */
#include <errno.h>
#include <numaif.h>
#include <signal.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/base/error.h"
#include "../../lib/engine/module.h"
#include "../../lib/host/module_files.h"
#include "subject.h"
#include "../fixture.h"

static struct np_err err;

/* Places it, one step of the process further, and takes that placement back. */
static void place_and_undo(pid_t pid, const char *list, int go, volatile pid_t *number)
{
	struct np_affinity_undo *undo;

	CU_ASSERT_EQUAL_FATAL(subject_place_as((struct np_place_request) { .pid = pid,
									   .undo = &undo },
					       list),
			      0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), list);
	subject->go = go;
	if (number)
		CU_ASSERT_STRING_EQUAL(subject_cpus(subject_await(number)), list);
	CU_ASSERT_EQUAL(np_affinity_undo(&(struct np_undo) { pid, undo }, 1, &err), 0);
	np_affinity_undo_free(undo);
}

/* Neither the child of the first placement nor whose it was is the second's to take off. */
TEST(an_earlier_placement_and_its_child)
{
	pid_t pid = subject_start(subject_forks), child;
	const char *before = subject_cpus(pid);
	size_t n, kept;

	CU_ASSERT_EQUAL(subject_place_by("test", pid, "0"), 0);
	subject->go = 1;
	child = subject_await(&subject->child);
	place_and_undo(pid, "1", 1, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), "0");
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "0");
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { .by = "test" }, &n, &kept, &err),
			0);
	CU_ASSERT(n == 2 && !kept);
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), before);
	kill(child, SIGKILL);
	fixture_end_child(pid);
}

/*
 * What it starts while it is placed a second time has what it had at first, with or without a
 * first.
 */
TEST(a_child_of_the_placement_that_is_undone)
{
	for (int placed = 0; placed < 2; placed++) {
		pid_t pid = subject_start(subject_forks), child;
		const char *before = subject_cpus(pid);
		size_t n;

		if (placed)
			CU_ASSERT_EQUAL(subject_place(pid, "0"), 0);
		place_and_undo(pid, "1", 1, &subject->child);
		child = subject->child;
		CU_ASSERT_STRING_EQUAL(subject_cpus(pid), placed ? "0" : before);
		CU_ASSERT_STRING_EQUAL(subject_cpus(child), placed ? "0" : before);
		if (placed) {
			n = subject_restore(pid, NULL);
			CU_ASSERT_EQUAL(n, 2);
		}
		CU_ASSERT_EQUAL(np_affinity_restore(NP_WHOSE(&pid), &n, &n, &err), -ENOENT);
		CU_ASSERT_STRING_EQUAL(subject_cpus(child), before);
		kill(child, SIGKILL);
		fixture_end_child(pid);
	}
}

/* Only one of its threads had been placed. */
TEST(a_placement_of_one_thread)
{
	pid_t pid = subject_start(subject_starts_thread), thread;
	const char *before = subject_cpus(pid);

	subject->go = 1;
	thread = subject_await(&subject->thread);
	CU_ASSERT_EQUAL(subject_place_as((struct np_place_request) { .pid = thread,
								     .one_thread = true },
					 "0"),
			0);
	place_and_undo(pid, "1", 1, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(thread), "0");
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), before);
	CU_ASSERT_EQUAL(subject_restore(thread, NULL), 1);
	CU_ASSERT_STRING_EQUAL(subject_cpus(thread), before);
	fixture_end_child(pid);
}

/*
 * The module has set CPUs by system calls and is refused the memory policy: what was there stays,
 * and whose.
 */
TEST(an_earlier_placement_when_the_module_refuses)
{
	struct bitmask *both = numa_bitmask_alloc(NP_MAX_CPUS);
	pid_t pid = subject_start(subject_forks), child;
	struct np_place_request r = {
		.pid = pid, .cpus = both, .mem_mode = MPOL_DEFAULT, .inherit = true
	};
	size_t n, kept;

	np_list_parse_kernel("0-1", both);
	CU_ASSERT_EQUAL(subject_place_by("test", pid, "0"), 0);
	subject->go = 1;
	child = subject_await(&subject->child);
	np_module_use_dir(fixture_begin());
	fixture_write("version", "numaplace=0.1.0 abi=2\n");
	fixture_write("place/folder", ""); /* cannot be written */
	CU_ASSERT_EQUAL(np_module_place(&r, &err), -EISDIR);
	np_module_use_dir(NULL);
	fixture_end();
	CU_ASSERT_STRING_EQUAL(subject_cpus(child), "0");
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "0");
	CU_ASSERT_EQUAL(np_affinity_restore(&(struct np_whose) { .by = "test" }, &n, &kept, &err),
			0);
	CU_ASSERT_EQUAL(n, 2);
	numa_bitmask_free(both);
	kill(child, SIGKILL);
	fixture_end_child(pid);
}

TEST(a_choice_of_the_user_after_the_placement_that_is_undone)
{
	pid_t pid = subject_start(subject_waits);
	struct np_affinity_undo *undo;
	size_t kept;

	CU_ASSERT_EQUAL(subject_place(pid, "0-1"), 0);
	CU_ASSERT_EQUAL_FATAL(subject_place_as((struct np_place_request) { .pid = pid,
									   .undo = &undo },
					       "1"),
			      0);
	subject_set(pid, "0");
	CU_ASSERT_EQUAL(np_affinity_undo(&(struct np_undo) { pid, undo }, 1, &err), 0);
	np_affinity_undo_free(undo);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "0");
	CU_ASSERT_EQUAL(subject_restore(pid, &kept), 0);
	CU_ASSERT_EQUAL(kept, 1);
	fixture_end_child(pid);
}
