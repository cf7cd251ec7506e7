// SPDX-License-Identifier: GPL-2.0-only
/* Counters of the busiest tasks, in the fields that policies read. */
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

static int busier_first(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->busy != y->busy)
		return x->busy < y->busy ? 1 : -1;
	return x->task > y->task ? 1 : -1;
}

/* The tasks to count, at most that many; idle ones only when there is room for all. */
static size_t choose(const struct np_tasks *t, size_t most, struct choice *choice)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->n <= most || t->busy[i] > 0)
			choice[n++] = (struct choice) { i, t->busy[i] };
	qsort(choice, n, sizeof(*choice), busier_first);
	return n < most ? n : most;
}

static void count(struct np_tasks *t, struct np_machine *m, struct np_counter_sample *c,
		  const struct choice *choice, unsigned int ms)
{
	struct timespec nap = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&nap, NULL);
	np_counter_sample_end(c);
	for (size_t i = 0; i < c->n; i++) {
		size_t at = choice[i].task;

		t->counted[at] = c->counted[i];
		np_counter_sample_fill(c, i, m, t->cpus[at], &t->task[at],
				       t->accesses + at * m->n_nodes);
	}
	np_counter_sample_traffic(c, m);
}

static void none(struct np_tasks *t, const char *why)
{
	for (size_t i = 0; i < t->n; i++)
		for (int e = 0; e < NP_EVENTS; e++)
			t->counted[i].event[e] = np_count_missing(why);
}

int np_tasks_count(struct np_tasks *t, struct np_machine *m, size_t most, unsigned int ms,
		   struct np_err *err)
{
	struct choice *choice = calloc(t->n + 1, sizeof(*choice));
	pid_t *pids = calloc(t->n + 1, sizeof(*pids));
	struct np_counter_sample c;
	size_t n;
	int e = -ENOMEM;

	free(t->counted);
	free(t->accesses);
	t->counted = calloc(t->n + 1, sizeof(*t->counted));
	t->accesses = calloc(t->n * m->n_nodes + 1, sizeof(*t->accesses));
	if (!choice || !pids || !t->counted || !t->accesses) {
		np_fail(err, e, "out of memory");
	} else {
		none(t, "it was idle, or others were busier");
		n = choose(t, most, choice);
		for (size_t i = 0; i < n; i++)
			pids[i] = t->task[choice[i].task].pid;
		e = np_counter_sample_begin(&c, m, pids, n, err);
		if (e) {
			none(t, np_why("%s", err->text));
		} else {
			count(t, m, &c, choice, ms);
			np_counter_sample_free(&c);
		}
	}
	free(choice);
	free(pids);
	return e;
}

void np_tasks_find_shared(struct np_tasks *t, const struct np_machine *m)
{
	for (size_t i = 0; i < t->n; i++)
		t->task[i].shared_pages = np_shared_pages(t->task[i].pid, m->page_size, 0, 0);
}
