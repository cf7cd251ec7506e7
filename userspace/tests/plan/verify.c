// SPDX-License-Identifier: GPL-2.0-only
/* A plan whose tasks are counted before and after: when it stays, and when it is taken back. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "../fake_counters.h"
#include "plan_fixture.h"

static struct plan_fixture f;
static volatile sig_atomic_t stop;
static struct np_applied applied;
static struct np_err err;

static void finish(struct plan_fixture *f)
{
	np_applied_free(&applied);
	plan_fixture_free(f);
}

/* Rates of the first task, before and after; -1: not counted. */
static double rates[2];
static size_t times_read;
static int read_error; /* of the second time; 0: none */

static int written_speeds(struct np_speeds *s, const struct np_request *p,
			  const struct np_verify *how, const volatile sig_atomic_t *asked_to_stop,
			  struct np_err *e)
{
	double rate = rates[times_read++];

	if (read_error && times_read == 2)
		return np_fail(e, read_error, "told to fail");
	for (size_t i = 0; i < s->n; i++) {
		s->cycles[i] = rate < 0 ? NAN : 1e9;
		for (int slice = 0; slice < NP_VERIFY_SLICES; slice++)
			s->rate[i][slice] = rate < 0 ? NAN : rate * (1 + 0.01 * (slice - 2));
	}
	s->why = rate < 0 ? "it is written so" : NULL;
	return 0;
}

static int verified(struct plan_fixture *f, double before, double after, bool needed)
{
	const struct np_apply_how how = {
		.engine = &engine,
		.stop = &stop,
		.verify = { .seconds = 1, .needed = needed, .read = written_speeds },
	};

	plan_fixture_init(f, 1000, 1000);
	plan_fixture_start(f, 1, 0, 0, 500);
	plan_fixture_own_cpus(f);
	engine_reset(f, 0, 0, true);
	plan_fixture_order(f);
	rates[0] = before;
	rates[1] = after;
	times_read = 0;
	return np_apply(&applied, &f->p, &how, &err);
}

TEST(what_is_slower_is_undone)
{
	CU_ASSERT_EQUAL(verified(&f, 1e9, 0.9e9, true), -ERANGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "1 tasks run at 0.900 of their speed before"));
	CU_ASSERT(applied.undone && applied.effect.taken_back);
	CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_UNDONE);
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, "undo 0; "));
	finish(&f);
}

/* The mean of five slices 1 % apart is known to 2.306 * sqrt(2 * 0.025 % / 5) = 2.3 %. */
TEST(what_is_within_the_noise_stays)
{
	CU_ASSERT_EQUAL(verified(&f, 1e9, 0.98e9, true), 0);
	CU_ASSERT_DOUBLE_EQUAL(applied.effect.noise, 0.0231, 0.0003);
	CU_ASSERT_DOUBLE_EQUAL(applied.effect.speed, 0.98, 1e-9);
	CU_ASSERT(!applied.undone && !applied.effect.taken_back);
	finish(&f);
	CU_ASSERT_EQUAL(verified(&f, 1e9, 0.97e9, true), -ERANGE);
	finish(&f);
}

TEST(nothing_is_done_that_cannot_be_verified)
{
	CU_ASSERT_EQUAL(verified(&f, -1, 1e9, true), -EOPNOTSUPP);
	CU_ASSERT_STRING_EQUAL(err.text, "the plan cannot be verified: it is written so");
	CU_ASSERT_STRING_EQUAL(engine_notes, "");
	CU_ASSERT_FALSE(applied.undone);
	finish(&f);
	CU_ASSERT_EQUAL(verified(&f, 1e9, -1, true), 0);
	CU_ASSERT_STRING_EQUAL(applied.note.text, "not verified: it is written so");
	finish(&f);
	CU_ASSERT_EQUAL(verified(&f, -1, 1e9, false), 0);
	CU_ASSERT_STRING_NOT_EQUAL(engine_notes, "");
	CU_ASSERT_EQUAL(times_read, 1);
	finish(&f);
}

/* What cannot be counted a second time has not been found to be slower. */
TEST(what_cannot_be_counted_again_stays)
{
	static const int errors[] = { -EMFILE, -EBUSY, -ENOMEM };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		read_error = errors[i];
		CU_ASSERT_EQUAL(verified(&f, 1e9, 1e9, true), 0);
		CU_ASSERT_STRING_EQUAL(applied.note.text, "not verified: told to fail");
		CU_ASSERT(!applied.undone && !applied.effect.tasks);
		CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_DONE);
		finish(&f);
	}
	read_error = 0;
}

/* Who exits while the tasks are counted the second time, and who of these stays a zombie. */
static struct plan_fixture *exiting;
static size_t n_exiting, n_zombies;

static void let_exit(void)
{
	for (size_t i = 0; times_read == 2 && i < n_exiting; i++) {
		siginfo_t ended;

		if (!exiting->start[i])
			continue;
		if (i >= n_zombies) {
			plan_fixture_kill(exiting, i);
			continue;
		}
		kill(exiting->task[i].pid, SIGKILL);
		waitid(P_PID, (id_t)exiting->task[i].pid, &ended, WEXITED | WNOWAIT);
	}
}

/* As np_speeds_read(), but those that run keep their speed, and counters of others stand still. */
static int counted_speeds(struct np_speeds *s, const struct np_request *p,
			  const struct np_verify *how, const volatile sig_atomic_t *asked_to_stop,
			  struct np_err *e)
{
	int error;

	times_read++;
	let_exit();
	error = np_speeds_read(s, p, how, asked_to_stop, e);
	for (size_t i = 0; i < s->n; i++) {
		s->cycles[i] = isfinite(s->cycles[i]) ? 1e9 : NAN;
		for (int slice = 0; slice < NP_VERIFY_SLICES; slice++)
			s->rate[i][slice] = times_read == 2 && s->task[i] < n_exiting ? 0 : 1e9;
	}
	return error;
}

/* Of three tasks the first few exit meanwhile. */
static int verified_while_they_exit(struct plan_fixture *f, size_t n, size_t zombies)
{
	const struct np_apply_how how = {
		.engine = &engine,
		.stop = &stop,
		.verify = { .seconds = 0.01, .read = counted_speeds },
	};

	plan_fixture_init(f, 1000, 1000);
	for (int i = 0; i < 3; i++)
		plan_fixture_start(f, 1, 0, 0, 100);
	engine_reset(f, 0, 0, true);
	plan_fixture_order(f);
	exiting = f;
	n_exiting = n;
	n_zombies = zombies;
	times_read = 0;
	return np_apply(&applied, &f->p, &how, &err);
}

TEST(the_verdict_is_of_those_that_remain)
{
	fake_counters = true;
	for (size_t zombies = 0; zombies < 2; zombies++) {
		CU_ASSERT_EQUAL(verified_while_they_exit(&f, 1, zombies), 0);
		CU_ASSERT(times_read == 2 && applied.effect.tasks == 2);
		CU_ASSERT_DOUBLE_EQUAL(applied.effect.speed, 1, 1e-9);
		CU_ASSERT(!applied.undone && !applied.note.text[0]);
		finish(&f);
	}
	fake_counters = false;
}

TEST(where_all_have_exited_there_is_no_verdict)
{
	fake_counters = true;
	CU_ASSERT_EQUAL(verified_while_they_exit(&f, 3, 1), 0);
	CU_ASSERT(times_read == 2 && !applied.effect.tasks && !applied.undone);
	CU_ASSERT_STRING_EQUAL(applied.note.text, "not verified: it has exited");
	finish(&f);
	fake_counters = false;
}

/* Who needs more of it, because its pages are elsewhere, has not done more. */
TEST(the_kernels_work_is_not_counted)
{
	const struct np_verify how = { .seconds = 0.01 };
	struct np_speeds s = { .n = 1 };

	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 1, 0, 0, 500);
	fake_counters = true;
	fake_counters_of_kernel = false;
	CU_ASSERT_EQUAL(np_speeds_read(&s, &f.p, &how, &stop, &err), 0);
	CU_ASSERT(isfinite(s.rate[0][0]) && !fake_counters_of_kernel);
	fake_counters = false;
	plan_fixture_free(&f);
}
