// SPDX-License-Identifier: GPL-2.0-only
/* Placing and restoring this machine's own threads, with their originals on disk before a change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/base/error.h"
#include "../../lib/engine/affinity.h"
#include "../fixture.h"

static int place_on(pid_t pid, const struct bitmask *cpus, struct np_err *err)
{
	const struct np_place_request r = {
		.pid = pid,
		.cpus = cpus,
		.mem_mode = -1,
		.inherit = true,
	};

	return np_affinity_place(&r, err);
}

static void set_list(struct bitmask *mask, const char *list)
{
	np_list_parse_kernel(list, mask);
}

/* An idle child, and the CPUs that it had. The state goes to XDG_RUNTIME_DIR; root's own file is used as root. */
struct idle {
	pid_t pid;
	struct bitmask *before;
};

static struct idle idle_begin(void)
{
	struct idle c = { fixture_start_idle(), numa_bitmask_alloc(NP_MAX_CPUS) };

	setenv("XDG_RUNTIME_DIR", fixture_begin(), 1);
	np_affinity_get(c.pid, c.before);
	return c;
}

static void idle_end(struct idle *c)
{
	fixture_end_child(c->pid);
	numa_bitmask_free(c->before);
	fixture_end();
}

static int idle_place(const struct idle *c, const char *list, struct np_err *err)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	int e;

	set_list(cpus, list);
	e = place_on(c->pid, cpus, err);
	numa_bitmask_free(cpus);
	return e;
}

static bool has_cpus(pid_t pid, const struct bitmask *cpus)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	bool same;

	np_affinity_get(pid, now);
	same = numa_bitmask_equal(now, cpus);
	numa_bitmask_free(now);
	return same;
}

/* Gives the child its CPUs back, once. */
static void check_restore(const struct idle *c)
{
	struct np_err err = { "" };
	size_t n, kept;

	CU_ASSERT_EQUAL(np_affinity_restore(NP_WHOSE(&c->pid), &n, &kept, &err), 0);
	CU_ASSERT(n == 1 && kept == 0);
	CU_ASSERT(has_cpus(c->pid, c->before));
}

static void check_nothing_to_restore(const struct idle *c)
{
	struct np_err err = { "" };
	size_t n, kept;

	CU_ASSERT_EQUAL(np_affinity_restore(NP_WHOSE(&c->pid), &n, &kept, &err), -ENOENT);
}

TEST(places_and_restores_a_process)
{
	struct bitmask *want = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_err err = { "" };
	struct idle c = idle_begin();

	set_list(want, "0");
	CU_ASSERT_EQUAL(place_on(c.pid, want, &err), 0);
	CU_ASSERT(has_cpus(c.pid, want));
	check_restore(&c);
	check_nothing_to_restore(&c);
	numa_bitmask_free(want);
	idle_end(&c);
}

/* CPUs that are not there: the kernel refuses, and nothing is remembered. */
TEST(a_refused_placement_leaves_nothing)
{
	struct np_err err = { "" };
	struct idle c = idle_begin();

	CU_ASSERT_NOT_EQUAL(idle_place(&c, "8000-8001", &err), 0);
	CU_ASSERT_NOT_EQUAL(idle_place(&c, "0,8000", &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "allows only CPUs 0 of 0,8000"));
	CU_ASSERT(has_cpus(c.pid, c.before));
	check_nothing_to_restore(&c);
	idle_end(&c);
}

/* A second placement was noted, but the tool was killed before it touched the thread. */
TEST(an_untouched_second_placement_is_restored)
{
	struct bitmask *first = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_err err = { "" };
	struct idle c = idle_begin();

	set_list(first, "0");
	CU_ASSERT_EQUAL(place_on(c.pid, first, &err), 0);
	if (!idle_place(&c, "1", &err)) { /* two CPUs */
		np_affinity_set(c.pid, first);
		check_restore(&c);
	}
	numa_bitmask_free(first);
	idle_end(&c);
}

#define VICTIMS	   64
#define TIMEOUT_US (60 * 1000 * 1000)

/* All of them on CPU 0, then on CPU 1 where there is one, for ever. */
static void place_all(const pid_t *victim)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_err err;

	for (size_t i = 0;; i++) {
		set_list(cpus, i / VICTIMS % 2 ? "1" : "0");
		place_on(victim[i % VICTIMS], cpus, &err);
	}
}

/* Waits until the tool has come to a victim: false when it takes too long. */
static bool is_changed(pid_t victim, const struct bitmask *before)
{
	for (int waited = 0; waited < TIMEOUT_US; waited += 100) {
		if (!has_cpus(victim, before))
			return true;
		usleep(100);
	}
	return false;
}

/* Whatever the moment: one whose CPUs are changed can be given them back. */
TEST(a_killed_tool_loses_no_original)
{
	struct bitmask *before = numa_bitmask_alloc(NP_MAX_CPUS);
	pid_t victim[VICTIMS], tool;
	struct np_err err = { "" };
	size_t n, kept;

	setenv("XDG_RUNTIME_DIR", fixture_begin(), 1);
	for (size_t i = 0; i < VICTIMS; i++)
		victim[i] = fixture_start_idle();
	np_affinity_get(victim[0], before);
	tool = fork();
	if (tool == 0)
		place_all(victim);
	CU_ASSERT(numa_bitmask_weight(before) == 1 || is_changed(victim[VICTIMS / 2], before));
	usleep((unsigned int)(getpid() % 64) * 1000); /* another moment each time */
	fixture_end_child(tool);
	for (size_t i = 0; i < VICTIMS; i++) {
		np_affinity_restore(NP_WHOSE(&victim[i]), &n, &kept, &err);
		CU_ASSERT(has_cpus(victim[i], before));
		fixture_end_child(victim[i]);
	}
	numa_bitmask_free(before);
	fixture_end();
}
