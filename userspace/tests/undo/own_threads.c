// SPDX-License-Identifier: GPL-2.0-only
/* Placing and restoring this machine's own threads, with their originals on disk before a change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/base/error.h"
#include "../engine/subject.h"
#include "../fixture.h"

/* An idle child, and the CPUs that it had. The state goes to XDG_RUNTIME_DIR; root's own file is used as root. */
struct idle {
	pid_t pid;
	char before[NP_LIST_LEN];
};

static struct idle idle_begin(void)
{
	struct idle c = { subject_start(subject_waits), "" };

	setenv("XDG_RUNTIME_DIR", fixture_begin(), 1);
	snprintf(c.before, sizeof(c.before), "%s", subject_cpus(c.pid));
	return c;
}

static void idle_end(const struct idle *c)
{
	fixture_end_child(c->pid);
	fixture_end();
}

/* Gives the child its CPUs back, once. */
static void check_restore(const struct idle *c)
{
	size_t kept;

	CU_ASSERT_EQUAL(subject_restore(c->pid, &kept), 1);
	CU_ASSERT_EQUAL(kept, 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(c->pid), c->before);
}

static void check_nothing_to_restore(const struct idle *c)
{
	struct np_err err = { "" };
	size_t n, kept;

	CU_ASSERT_EQUAL(np_affinity_restore(NP_WHOSE(&c->pid), &n, &kept, &err), -ENOENT);
}

/* CPUs that are not there: the kernel refuses, and nothing is remembered. */
TEST(a_refused_placement_leaves_nothing)
{
	struct idle c = idle_begin();

	CU_ASSERT_NOT_EQUAL(subject_place(c.pid, "8000-8001"), 0);
	CU_ASSERT_NOT_EQUAL(subject_place(c.pid, "0,8000"), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(subject_err.text, "allows only CPUs 0 of 0,8000"));
	CU_ASSERT_STRING_EQUAL(subject_cpus(c.pid), c.before);
	check_nothing_to_restore(&c);
	idle_end(&c);
}

/* A second placement was noted, but the tool was killed before it touched the thread. */
TEST(an_untouched_second_placement_is_restored)
{
	struct idle c = idle_begin();

	CU_ASSERT_EQUAL(subject_place(c.pid, "0"), 0);
	if (!subject_place(c.pid, "1")) { /* two CPUs */
		subject_set(c.pid, "0");
		check_restore(&c);
	}
	idle_end(&c);
}

#define VICTIMS	   64
#define TIMEOUT_US (60 * 1000 * 1000)

/* All of them on CPU 0, then on CPU 1 where there is one, for ever. */
static void place_all(const pid_t *victim)
{
	for (size_t i = 0;; i++)
		subject_place(victim[i % VICTIMS], i / VICTIMS % 2 ? "1" : "0");
}

/* Waits until the tool has come to a victim: false when it takes too long. */
static bool is_changed(pid_t victim, const char *before)
{
	for (int waited = 0; waited < TIMEOUT_US; waited += 100) {
		if (strcmp(subject_cpus(victim), before))
			return true;
		usleep(100);
	}
	return false;
}

/* Whatever the moment: one whose CPUs are changed can be given them back. */
TEST(a_killed_tool_loses_no_original)
{
	char before[NP_LIST_LEN];
	pid_t victim[VICTIMS], tool;
	struct np_err err = { "" };
	size_t n, kept;

	setenv("XDG_RUNTIME_DIR", fixture_begin(), 1);
	for (size_t i = 0; i < VICTIMS; i++)
		victim[i] = fixture_start_idle();
	snprintf(before, sizeof(before), "%s", subject_cpus(victim[0]));
	tool = fork();
	if (tool == 0)
		place_all(victim);
	CU_ASSERT(!strpbrk(before, ",-") || is_changed(victim[VICTIMS / 2], before));
	usleep((unsigned int)(getpid() % 64) * 1000); /* another moment each time */
	fixture_end_child(tool);
	for (size_t i = 0; i < VICTIMS; i++) {
		np_affinity_restore(NP_WHOSE(&victim[i]), &n, &kept, &err);
		CU_ASSERT_STRING_EQUAL(subject_cpus(victim[i]), before);
		fixture_end_child(victim[i]);
	}
	fixture_end();
}
