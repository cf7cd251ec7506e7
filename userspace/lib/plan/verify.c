// SPDX-License-Identifier: GPL-2.0-only
#include "verify.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "../base/clock.h"
#include "../counters/counters.h"
#include "../host/proc.h"

#define NS_PER_S 1e9
#define NAP_S	 0.05
/* Student's t of 97.5 % with the 2 * (NP_VERIFY_SLICES - 1) degrees of freedom of two means. */
#define STUDENT_T 2.306

_Static_assert(NP_VERIFY_SLICES == 5, "STUDENT_T is of eight degrees of freedom");

/* False once *stop is set. */
static bool wait_for(double seconds, const volatile sig_atomic_t *stop)
{
	double end = np_clock(CLOCK_MONOTONIC) + seconds, left = seconds;

	for (; left > 0 && !*stop; left = end - np_clock(CLOCK_MONOTONIC)) {
		struct timespec nap = { 0, (long)(fmin(left, NAP_S) * NS_PER_S) };

		nanosleep(&nap, NULL);
	}
	return !*stop;
}

static double rate_of(const struct np_reading *r, enum np_event event)
{
	return r->event[event].source && r->seconds > 0 ? r->event[event].value / r->seconds : NAN;
}

static void note_slice(struct np_speeds *s, size_t slice, const struct np_reading *before,
		       const struct np_reading *after)
{
	for (size_t i = 0; i < s->n; i++) {
		struct np_reading r = np_reading_between(&before[i], &after[i]);

		s->rate[i][slice] = rate_of(&r, NP_INSTRUCTIONS);
		s->cycles[i] += rate_of(&r, NP_CYCLES) / NP_VERIFY_SLICES;
		if (!r.event[NP_INSTRUCTIONS].source)
			s->why = r.event[NP_INSTRUCTIONS].why;
	}
}

/* Also one that nobody has waited for yet; its leader may have ended before other threads. */
static bool has_exited(const struct np_request *p, size_t task)
{
	struct np_proc_stat st;

	return np_proc_stat(p->tasks.task[task].pid, &st) || st.start != p->tasks.start[task] ||
	       np_proc_has_ended(&st);
}

/* Counters of one that has exited stand still: it was not slowed down. */
static void leave_out_exited(struct np_speeds *s, const struct np_request *p)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!has_exited(p, s->task[i]))
			continue;
		s->cycles[i] = NAN;
		s->why = "it has exited";
	}
}

int np_speeds_read(struct np_speeds *s, const struct np_request *p, const struct np_verify *how,
		   const volatile sig_atomic_t *stop, struct np_err *err)
{
	struct np_subject subject[NP_VERIFY_MOST];
	struct np_reading reading[2][NP_VERIFY_MOST];
	struct np_counters c;
	bool whole = true;
	int e;

	for (size_t i = 0; i < s->n; i++) {
		subject[i] = (struct np_subject) { -1, p->tasks.task[s->task[i]].pid };
		s->cycles[i] = 0;
	}
	s->why = NULL;
	e = np_counters_open_user(&c, &p->machine, subject, s->n, err);
	if (e)
		return e;
	np_counters_read(&c, reading[0]);
	for (size_t slice = 0; whole && slice < NP_VERIFY_SLICES; slice++) {
		whole = wait_for(how->seconds / NP_VERIFY_SLICES, stop);
		np_counters_read(&c, reading[(slice + 1) % 2]);
		note_slice(s, slice, reading[slice % 2], reading[(slice + 1) % 2]);
	}
	np_counters_close(&c);
	leave_out_exited(s, p);
	return whole ? 0 : np_fail(err, -EINTR, "interrupted");
}

static double mean(const double *x)
{
	double sum = 0;

	for (size_t i = 0; i < NP_VERIFY_SLICES; i++)
		sum += x[i];
	return sum / NP_VERIFY_SLICES;
}

/* Of the mean of the slices. */
static double variance_of_mean(const double *x)
{
	double m = mean(x), sum = 0;

	for (size_t i = 0; i < NP_VERIFY_SLICES; i++)
		sum += (x[i] - m) * (x[i] - m);
	return sum / (NP_VERIFY_SLICES - 1) / NP_VERIFY_SLICES;
}

/* Adds the task's speed in each slice, relative to its own before, by its weight. */
static bool add_task(double *sum, const double *rate, double own, double weight)
{
	bool counted = isfinite(weight) && isfinite(mean(rate)) && own > 0;

	for (size_t i = 0; counted && i < NP_VERIFY_SLICES; i++)
		sum[i] += weight * rate[i] / own;
	return counted;
}

struct np_effect np_speeds_compare(const struct np_speeds *before, const struct np_speeds *after)
{
	double then[NP_VERIFY_SLICES] = { 0 }, now[NP_VERIFY_SLICES] = { 0 };
	struct np_effect effect = { .why = after->why ? after->why : before->why };
	double was;

	for (size_t i = 0; i < before->n; i++) {
		double own = mean(before->rate[i]), weight = before->cycles[i];

		if (!isfinite(after->cycles[i]) || !isfinite(mean(after->rate[i])) ||
		    !add_task(then, before->rate[i], own, weight))
			continue;
		add_task(now, after->rate[i], own, weight);
		effect.tasks++;
	}
	was = mean(then);
	if (!(was > 0))
		effect.tasks = 0;
	if (!effect.tasks)
		return effect;
	effect.speed = mean(now) / was;
	effect.noise = fmax(NP_VERIFY_LEAST,
			    STUDENT_T * sqrt(variance_of_mean(then) + variance_of_mean(now)) / was);
	effect.taken_back = effect.speed < 1 - effect.noise;
	return effect;
}
