// SPDX-License-Identifier: GPL-2.0-only
/* What tasks do to memory, as counters see it, in the fields that policies read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tasks.h"

#define LINE_BYTES 64.0

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

static struct np_known known(const struct np_count *c, double factor)
{
	struct np_known k = { 0 };

	if (c->source)
		k = (struct np_known) { c->value * factor, !strcmp(c->source, "resctrl") ?
					NP_SOURCE_RESCTRL : NP_SOURCE_COUNTERS };
	return k;
}

static void fill_task(struct np_task *task, const struct np_reading *r)
{
	struct np_count ipc = np_reading_ipc(r), mpki = np_reading_mpki(r);
	struct np_count local = np_reading_local_share(r), dram = r->event[NP_REMOTE_DRAM];
	struct np_known k = known(&mpki, 1);

	task->ipc = known(&ipc, 1);
	task->local_access = known(&local, 1);
	if (r->event[NP_LOCAL_DRAM].source && dram.source && r->seconds > 0) {
		dram.value += r->event[NP_LOCAL_DRAM].value;
		task->bandwidth = known(&dram, LINE_BYTES / r->seconds);
	}
	if (k.source != NP_SOURCE_NONE) {
		task->mpki = k.value;
		task->mpki_source = k.source;
	}
}

static void count(struct np_tasks *t, struct np_counters *c, const struct choice *choice, size_t n,
		  unsigned int ms, struct np_reading *before, struct np_reading *after)
{
	struct timespec nap = { ms / 1000, (long)(ms % 1000) * 1000000 };

	np_counters_read(c, before);
	nanosleep(&nap, NULL);
	np_counters_read(c, after);
	for (size_t i = 0; i < n; i++) {
		size_t at = choice[i].task;

		t->counted[at] = np_reading_between(&before[i], &after[i]);
		fill_task(&t->task[at], &t->counted[at]);
	}
}

static void none(struct np_tasks *t, const char *why)
{
	for (size_t i = 0; i < t->n; i++)
		for (int e = 0; e < NP_EVENTS; e++)
			t->counted[i].event[e] = np_count_missing(why);
}

int np_tasks_count(struct np_tasks *t, const struct np_machine *m, size_t most, unsigned int ms,
		   char *err, size_t err_len)
{
	struct choice *choice = calloc(t->n + 1, sizeof(*choice));
	struct np_subject *subject = calloc(t->n + 1, sizeof(*subject));
	struct np_reading *readings = NULL;
	struct np_counters c;
	size_t n = 0;
	int e = -ENOMEM;

	free(t->counted);
	t->counted = calloc(t->n + 1, sizeof(*t->counted));
	if (choice && subject && t->counted) {
		none(t, "it was idle, or others were busier");
		n = choose(t, most, choice);
		readings = calloc(2 * n + 1, sizeof(*readings));
	}
	for (size_t i = 0; i < n; i++)
		subject[i] = (struct np_subject) { -1, t->task[choice[i].task].pid };
	if (!readings) {
		np_fail(err, err_len, e, "out of memory");
	} else if ((e = np_counters_open(&c, m, subject, n, err, err_len))) {
		none(t, np_why("%s", err));
	} else {
		count(t, &c, choice, n, ms, readings, readings + n);
		np_counters_close(&c);
	}
	free(choice);
	free(subject);
	free(readings);
	return e;
}
