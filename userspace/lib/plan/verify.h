/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether tasks run faster or slower than before: user instructions a second by hardware counters,
 * before and after a plan is carried out.
 */
#ifndef NUMAPLACE_LIB_VERIFY_H
#define NUMAPLACE_LIB_VERIFY_H

#include <signal.h>

#include "request.h"

#define NP_VERIFY_MOST	 64   /* tasks that are counted: those that the plan acts on first */
#define NP_VERIFY_SLICES 5    /* of the time, each counted by itself */
#define NP_VERIFY_LEAST	 0.01 /* relative; a smaller difference counts as none */

struct np_speeds {
	size_t n;
	size_t task[NP_VERIFY_MOST];		       /* of the request */
	double rate[NP_VERIFY_MOST][NP_VERIFY_SLICES]; /* instructions a second; NAN: not counted */
	double cycles[NP_VERIFY_MOST];		       /* a second; NAN: not counted */
	const char *why; /* a task was not counted; NULL: none such. Lives as long as the program */
};

struct np_verify {
	double seconds; /* before, and after; 0: not verified */
	bool needed;	/* nothing is done where no task can be counted before */
	/* np_speeds_read() where it is NULL. */
	int (*read)(struct np_speeds *s, const struct np_request *p, const struct np_verify *how,
		    const volatile sig_atomic_t *stop, struct np_err *err);
};

/*
 * Counts the n tasks of s->task. 0, -EINTR once *stop is set, or -errno of
 * np_counters_open_user(), with one line in err.
 */
int np_speeds_read(struct np_speeds *s, const struct np_request *p, const struct np_verify *how,
		   const volatile sig_atomic_t *stop, struct np_err *err);

struct np_effect {
	size_t tasks; /* that were counted before and after; 0: the rest is not known */
	double speed; /* afterwards / before: the average of the tasks by their cycles before */
	double noise; /* of it: half of the interval of 95 % (Student's t), NP_VERIFY_LEAST at least */
	const char *why; /* no task was counted both times */
	bool taken_back; /* it was worse by more than its noise */
};

/* Of the same tasks. */
struct np_effect np_speeds_compare(const struct np_speeds *before, const struct np_speeds *after);

#endif
