// SPDX-License-Identifier: GPL-2.0-only
#include "task_sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"

/* A rate that differs by more than this share makes another plan worth making. */
#define CHANGE 0.2

/* The one counted longest ago, of those the busiest. */
static bool goes_before(const struct np_watched_task *a, const struct np_watched_task *b)
{
	if (a->sampling_round != b->sampling_round)
		return a->sampling_round < b->sampling_round;
	return a->busy > b->busy;
}

static struct np_watched_task *next_to_count(const struct np_task_watch *w, unsigned int now,
					     unsigned long long round)
{
	struct np_watched_task *next = NULL;

	for (size_t i = 0; i < w->n; i++) {
		struct np_watched_task *t = &w->task[i];

		if (t->sampling_round != round && !t->gone && np_task_eligible(w, t, now) &&
		    (!next || goes_before(t, next)))
			next = t;
	}
	return next;
}

static int begin(struct np_task_sampling *k, const struct np_task_watch *w,
		 const struct np_machine *m, unsigned int now, struct np_err *err)
{
	struct np_watched_task *t;
	size_t n = 0;
	int e;

	if (!k->pids)
		k->pids = calloc(k->most, sizeof(*k->pids));
	if (!k->pids)
		return np_fail(err, -ENOMEM, "out of memory");
	k->rounds++;
	while (n < k->most && (t = next_to_count(w, now, k->rounds))) {
		t->sampling_round = k->rounds;
		k->pids[n++] = t->pid;
	}
	if (!n)
		return 0;
	e = np_counter_sample_begin(&k->c, m, k->pids, n, err);
	k->open = !e;
	return e;
}

static bool differs(double a, double b)
{
	return fabs(a - b) > CHANGE * fmax(fabs(a), fabs(b));
}

static bool task_differs(const struct np_task *a, const struct np_task *b)
{
	return a->bandwidth.source != b->bandwidth.source || a->mpki_source != b->mpki_source ||
	       differs(a->bandwidth.value, b->bandwidth.value) || differs(a->mpki, b->mpki) ||
	       differs(a->local_access.value, b->local_access.value);
}

static bool note(struct np_task_sampling *k, size_t i, struct np_watched_task *t,
		 const struct np_machine *m)
{
	struct np_task task = { .node = t->task.task[0].node };

	if (!t->accesses)
		t->accesses = calloc(m->n_nodes, sizeof(*t->accesses));
	np_counter_sample_fill(&k->c, i, m, t->task.cpus[0], &task, t->accesses);
	if (!task_differs(&task, &t->sampled))
		return false;
	t->sampled = task;
	return true;
}

static bool end(struct np_task_sampling *k, struct np_task_watch *w, const struct np_machine *m)
{
	struct np_machine with_traffic = *m;
	bool changed = false;

	np_counter_sample_end(&k->c);
	for (size_t i = 0; i < k->c.n; i++) {
		struct np_watched_task *t = np_task_watch_find(w, k->pids[i]);

		if (t && t->have && !t->gone)
			changed |= note(k, i, t, m);
	}
	with_traffic.node = calloc(m->n_nodes, sizeof(*with_traffic.node));
	if (!k->traffic)
		k->traffic = calloc(m->n_nodes, sizeof(*k->traffic));
	if (with_traffic.node && k->traffic) {
		np_counter_sample_traffic(&k->c, &with_traffic);
		for (size_t node = 0; node < m->n_nodes; node++)
			k->traffic[node] = with_traffic.node[node].traffic;
	}
	free(with_traffic.node);
	np_counter_sample_free(&k->c);
	k->open = false;
	return changed;
}

int np_task_sampling_step(struct np_task_sampling *k, struct np_task_watch *w,
			  const struct np_machine *m, unsigned int now, bool *changed,
			  struct np_err *err)
{
	double began = np_clock(CLOCK_PROCESS_CPUTIME_ID);
	int e = 0;

	if (!k->most || k->refused)
		return 0;
	if (k->open) {
		*changed |= end(k, w, m);
		k->spent += np_clock(CLOCK_PROCESS_CPUTIME_ID) - began;
		k->cpu_seconds += k->spent;
		k->ended++;
		k->next = now + (k->budget > 0 ? (unsigned int)(k->spent / k->budget) : 0);
		k->spent = 0;
		began = np_clock(CLOCK_PROCESS_CPUTIME_ID);
	}
	if (now < k->next || !w->eligible)
		return 0;
	e = begin(k, w, m, now, err);
	k->refused = e == -EACCES || e == -EOPNOTSUPP;
	k->spent = np_clock(CLOCK_PROCESS_CPUTIME_ID) - began;
	return e;
}

void np_task_sampling_drop(struct np_task_sampling *k)
{
	if (k->open) {
		np_counters_close(&k->c.counters);
		np_counter_sample_free(&k->c);
	}
	k->open = false;
	free(k->traffic);
	k->traffic = NULL;
}

void np_task_sampling_close(struct np_task_sampling *k)
{
	np_task_sampling_drop(k);
	free(k->pids);
	*k = (struct np_task_sampling) { 0 };
}

size_t np_task_sampling_known(const struct np_task_watch *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += !w->task[i].gone &&
		     (w->task[i].sampled.mpki_source != NP_PROVENANCE_NONE ||
		      w->task[i].sampled.bandwidth.source != NP_PROVENANCE_NONE);
	return n;
}

void np_task_sampling_fill(const struct np_watched_task *t, struct np_task *task)
{
	const struct np_task *c = &t->sampled;

	task->ipc = c->ipc;
	task->cycles = c->cycles;
	task->bandwidth = c->bandwidth;
	task->local_access = c->local_access;
	task->writes = c->writes;
	task->accesses = c->accesses;
	task->accesses_source = c->accesses_source;
	if (c->mpki_source != NP_PROVENANCE_NONE) {
		task->mpki = c->mpki;
		task->mpki_source = c->mpki_source;
	}
}

void np_task_sampling_traffic(const struct np_task_sampling *k, struct np_machine *m)
{
	for (size_t node = 0; k->traffic && node < m->n_nodes; node++)
		m->node[node].traffic = k->traffic[node];
}
