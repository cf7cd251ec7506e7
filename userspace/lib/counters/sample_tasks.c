// SPDX-License-Identifier: GPL-2.0-only
/* CPUs that tasks keep busy, and counters of the busiest, in the fields that policies read. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "../host/shared_pages.h"
#include "../host/tasks.h"
#include "sample.h"

struct choice {
	size_t task;
	double busy;
};

/* Tasks whose counters run. */
struct count {
	struct choice *choice; /* [n] */
	pid_t *pids;	       /* [n] */
	size_t n;
	struct np_counter_sample sample;
};

static int busier_first(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->busy != y->busy)
		return x->busy < y->busy ? 1 : -1;
	return x->task > y->task ? 1 : -1;
}

/* The tasks to count, at most that many; idle ones only when there is room for all. */
static void choose(struct count *c, const struct np_tasks *t, size_t most)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->n <= most || t->busy[i] > 0)
			c->choice[c->n++] = (struct choice) { i, t->busy[i] };
	qsort(c->choice, c->n, sizeof(*c->choice), busier_first);
	c->n = c->n < most ? c->n : most;
	for (size_t i = 0; i < c->n; i++)
		c->pids[i] = t->task[c->choice[i].task].pid;
}

static void wait_for(unsigned int ms)
{
	const struct timespec nap = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&nap, NULL);
}

static void fill(struct np_tasks *t, struct np_machine *m, struct count *c)
{
	np_counter_sample_end(&c->sample);
	for (size_t i = 0; i < c->n; i++) {
		size_t at = c->choice[i].task;

		t->counted[at] = c->sample.counted[i];
		np_counter_sample_fill(&c->sample, i, m, t->cpus[at], &t->task[at],
				       t->accesses + at * m->n_nodes);
	}
	np_counter_sample_traffic(&c->sample, m);
	np_counter_sample_free(&c->sample);
}

static void none(struct np_tasks *t, const char *why)
{
	for (size_t i = 0; i < t->n; i++)
		for (int e = 0; e < NP_EVENTS; e++)
			t->counted[i].event[e] = np_count_missing(why);
}

/* Where all are counted, one wait serves for counters and for the CPUs that they keep busy. */
static int watch(struct np_tasks *t, struct np_machine *m, struct count *c, size_t most,
		 unsigned int ms, struct np_err *err)
{
	bool all = t->n <= most;
	int e = 0;

	none(t, "it was idle, or others were busier");
	if (all) {
		choose(c, t, most);
		e = np_counter_sample_begin(&c->sample, m, c->pids, c->n, err);
	}
	wait_for(ms);
	np_tasks_measure_busy(t);
	if (!all) {
		choose(c, t, most);
		e = np_counter_sample_begin(&c->sample, m, c->pids, c->n, err);
		if (!e)
			wait_for(ms);
	}
	if (e)
		none(t, np_why("%s", err->text));
	else
		fill(t, m, c);
	return e;
}

int np_tasks_watch(struct np_tasks *t, struct np_machine *m, size_t most, unsigned int ms,
		   struct np_err *err)
{
	struct count c = { .choice = calloc(t->n + 1, sizeof(*c.choice)),
			   .pids = calloc(t->n + 1, sizeof(*c.pids)) };
	int e = -ENOMEM;

	free(t->counted);
	free(t->accesses);
	t->counted = calloc(t->n + 1, sizeof(*t->counted));
	t->accesses = calloc(t->n * m->n_nodes + 1, sizeof(*t->accesses));
	if (c.choice && c.pids && t->counted && t->accesses)
		e = watch(t, m, &c, most, ms, err);
	else
		np_fail(err, e, "out of memory");
	free(c.choice);
	free(c.pids);
	return e;
}

void np_tasks_find_shared(struct np_tasks *t, const struct np_machine *m)
{
	for (size_t i = 0; i < t->n; i++)
		t->task[i].shared_pages = np_shared_pages(t->task[i].pid, m->page_size, 0, 0);
}
