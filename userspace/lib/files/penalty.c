// SPDX-License-Identifier: GPL-2.0-only
/* Penalties: the fit, and the list of measured tasks. */
#include "penalty.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double np_penalty_predict(const struct np_penalty_fit *fit, double mpki)
{
	return (1 + fit->remote * mpki) / (1 + fit->local * mpki);
}

static double largest_error(const struct np_penalty_fit *fit, const struct np_penalty_task *task,
			    size_t n)
{
	double largest = 0;

	for (size_t i = 0; i < n; i++)
		if (task[i].mpki >= 0)
			largest = fmax(largest, fabs(np_penalty_predict(fit, task[i].mpki) /
							     task[i].penalty -
						     1));
	return largest;
}

int np_penalty_fit_distance(const struct np_penalty_task *task, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (task[i].mpki >= 0)
			return task[i].distance;
	return 0;
}

/*
 * Linear in both unknowns: p - 1 = remote * m - local * m p. No latency is below
 * zero and none lets a task gain by being remote, so 0 <= local <= remote.
 */
int np_penalty_fit(const struct np_penalty_task *task, size_t n, struct np_penalty_fit *fit)
{
	double mm = 0, mq = 0, qq = 0, my = 0, qy = 0, det;

	memset(fit, 0, sizeof(*fit));
	fit->distance = np_penalty_fit_distance(task, n);
	for (size_t i = 0; i < n; i++) {
		double m = task[i].mpki, q = m * task[i].penalty, y = task[i].penalty - 1;

		if (m < 0)
			continue;
		fit->tasks++;
		mm += m * m;
		mq += m * q;
		qq += q * q;
		my += m * y;
		qy += q * y;
	}
	if (fit->tasks < NP_PENALTY_FIT_TASKS || !(mm > 0))
		return -EINVAL;
	det = mm * qq - mq * mq;
	if (det > 1e-9 * mm * qq) {
		fit->remote = (my * qq - mq * qy) / det;
		fit->local = (my * mq - mm * qy) / det;
	}
	if (!(fit->local > 0)) {
		fit->local = 0;
		fit->remote = my / mm;
	}
	if (!(fit->remote > fit->local))
		fit->remote = fit->local;
	fit->error = largest_error(fit, task, n);
	return 0;
}

void np_penalties_free(struct np_penalties *p)
{
	free(p->task);
	memset(p, 0, sizeof(*p));
}

static struct np_penalty_task *find(const struct np_penalties *p, const struct np_penalty_key *key)
{
	for (size_t i = 0; i < p->n; i++)
		if (np_penalty_key_same(&p->task[i].key, key))
			return &p->task[i];
	return NULL;
}

int np_penalties_add(struct np_penalties *p, const struct np_penalty_task *task)
{
	struct np_penalty_task *known = find(p, &task->key);

	if (!known) {
		void *bigger = realloc(p->task, (p->n + 1) * sizeof(*p->task));

		if (!bigger)
			return -ENOMEM;
		p->task = bigger;
		known = &p->task[p->n++];
	}
	*known = *task;
	np_penalty_fit(p->task, p->n, &p->fit);
	return 0;
}
