// SPDX-License-Identifier: GPL-2.0-only
#include "task_view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../policies/plan.h"
#include "lib/list.h"

static const char *const sort_name[] = {
	[NP_SORT_COST] = "cost", [NP_SORT_BUSY] = "busy", [NP_SORT_REMOTE] = "remote",
	[NP_SORT_MPKI] = "mpki", [NP_SORT_PENALTY] = "penalty", [NP_SORT_LOCAL] = "local",
	[NP_SORT_PAGES] = "pages", [NP_SORT_PID] = "pid",
};

#define N_SORTS (sizeof(sort_name) / sizeof(sort_name[0]))

const char *np_sort_name(enum np_sort sort)
{
	return (size_t)sort < N_SORTS ? sort_name[sort] : NULL;
}

bool np_sort_find(const char *word, enum np_sort *sort)
{
	for (size_t i = 0; i < N_SORTS; i++)
		if (!strcmp(sort_name[i], word)) {
			*sort = (enum np_sort)i;
			return true;
		}
	return false;
}

static const struct np_count *counted(const struct np_view *v, size_t task, enum np_event e)
{
	const struct np_count *c = v->t->counted ? &v->t->counted[task].event[e] : NULL;

	return c && c->source && v->t->counted[task].seconds > 0 ? c : NULL;
}

/* Lines a second from memory of other nodes; negative: not known. */
static double remote_rate(const struct np_view *v, size_t task)
{
	const struct np_count *c = counted(v, task, NP_REMOTE_DRAM);

	return c ? c->value / v->t->counted[task].seconds : -1;
}

static uint64_t pages(const struct np_view *v, size_t task, bool elsewhere)
{
	const struct np_task *t = &v->t->task[task];
	uint64_t sum = 0;

	for (size_t i = 0; i < v->m->n_nodes; i++)
		if (!elsewhere || (int)i != t->node)
			sum += t->pages[i];
	return sum;
}

double np_task_cost(const struct np_view *v, size_t task)
{
	const struct np_task *t = &v->t->task[task];
	double penalty = t->penalty_source == NP_SOURCE_NONE ? 1 : t->penalty;
	double rate = remote_rate(v, task);

	if (rate >= 0)
		return rate * penalty;
	/* Below zero, so after all that were counted; more pages nearer to it. */
	return -1 / (1 + (double)pages(v, task, true) * v->t->busy[task] * penalty);
}

static double key(const struct np_view *v, size_t task)
{
	const struct np_task *t = &v->t->task[task];
	double locality;

	switch (v->sort) {
	case NP_SORT_COST:
		return np_task_cost(v, task);
	case NP_SORT_BUSY:
		return v->t->busy[task];
	case NP_SORT_REMOTE:
		return remote_rate(v, task);
	case NP_SORT_MPKI:
		return t->mpki_source == NP_SOURCE_NONE ? -1 : t->mpki;
	case NP_SORT_PENALTY:
		return t->penalty_source == NP_SOURCE_NONE ? -1 : t->penalty;
	case NP_SORT_LOCAL:	/* the least local first; without memory last */
		locality = np_task_locality(v->m, t);
		return locality < 0 ? -2 : -locality;
	case NP_SORT_PAGES:
		return (double)pages(v, task, false);
	case NP_SORT_PID:
		return -(double)t->pid;
	}
	return 0;
}

struct keyed {
	double key;
	size_t task;
};

/* Equal ones keep their order. */
static int larger_first(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->task > y->task ? 1 : -1;
}

static bool wanted(const struct np_view *v, size_t task)
{
	const struct np_task *t = &v->t->task[task];

	if (v->comm && !strstr(t->comm, v->comm))
		return false;
	if (v->busy && !(v->t->busy[task] > 0))
		return false;
	return v->node < 0 || t->node == v->node || t->pages[v->node] > 0;
}

int np_view_arrange(struct np_view *v)
{
	struct keyed *k = calloc(v->t->n + 1, sizeof(*k));

	free(v->row);
	v->row = calloc(v->t->n + 1, sizeof(*v->row));
	v->n = 0;
	if (!k || !v->row) {
		free(k);
		return -ENOMEM;
	}
	for (size_t i = 0; i < v->t->n; i++)
		if (wanted(v, i))
			k[v->n++] = (struct keyed) { key(v, i), i };
	qsort(k, v->n, sizeof(*k), larger_first);
	for (size_t i = 0; i < v->n; i++)
		v->row[i] = k[i].task;
	free(k);
	return 0;
}

void np_view_free(struct np_view *v)
{
	free(v->row);
	v->row = NULL;
	v->n = 0;
}

struct text {
	char *line;
	size_t len, used;
	bool full;		/* a column did not fit: none after it is tried */
};

__attribute__((format(printf, 2, 3)))
static void column(struct text *t, const char *format, ...)
{
	char cell[NP_LIST_LEN];
	va_list ap;
	size_t n;

	va_start(ap, format);
	n = (size_t)vsnprintf(cell, sizeof(cell), format, ap);
	va_end(ap);
	t->full |= t->used + n + 1 > t->len;
	if (t->full)
		return;
	memcpy(t->line + t->used, cell, n + 1);
	t->used += n;
}

void np_view_heading(const struct np_view *v, char *line, size_t len)
{
	struct text t = { line, len, 0, false };

	line[0] = '\0';
	column(&t, "%7s %-15s %4s %5s", "PID", "COMMAND", "THR", "BUSY");
	column(&t, " %4s %6s", "NODE", "LOCAL");
	column(&t, " %5s %7s", "IPC", "MPKI");
	column(&t, " %7s %6s", "REM/s", "PENLTY");
	column(&t, " %-8s", "FROM");
	for (size_t k = 0; k < v->m->n_nodes; k++)
		column(&t, " %7s%d", "N", v->m->node[k].id);
	column(&t, "  %s", "CPUS");
}

static void known(struct text *t, const char *format, int width, double value, bool is)
{
	if (is)
		column(t, format, width, value);
	else
		column(t, " %*s", width, "-");
}

static void rate(struct text *t, double r)
{
	if (r < 0)
		column(t, " %7s", "-");
	else if (r < 1e4)
		column(t, " %7.0f", r);
	else if (r < 1e7)
		column(t, " %6.0fk", r / 1e3);
	else
		column(t, " %6.0fM", r / 1e6);
}

void np_view_line(const struct np_view *v, size_t row, char *line, size_t len)
{
	size_t i = v->row[row];
	const struct np_task *task = &v->t->task[i];
	double locality = np_task_locality(v->m, task);
	char list[NP_LIST_LEN];
	struct text t = { line, len, 0, false };

	line[0] = '\0';
	column(&t, "%7d %-15s %4u %5.2f", task->pid, task->comm, task->threads, v->t->busy[i]);
	if (task->node == NP_NODE_NONE)
		column(&t, " %4s", "-");
	else
		column(&t, " %4d", v->m->node[task->node].id);
	if (locality < 0)
		column(&t, " %6s", "-");
	else
		column(&t, " %5.1f%%", locality * 100);
	known(&t, " %*.2f", 5, task->ipc.value, task->ipc.source != NP_SOURCE_NONE);
	known(&t, " %*.2f", 7, task->mpki, task->mpki_source != NP_SOURCE_NONE);
	rate(&t, remote_rate(v, i));
	known(&t, " %*.2f", 6, task->penalty, task->penalty_source != NP_SOURCE_NONE);
	column(&t, " %-8s", task->penalty_source == NP_SOURCE_NONE ? "-" :
	       np_source_name(task->penalty_source));
	for (size_t k = 0; k < v->m->n_nodes; k++)
		column(&t, " %8llu", (unsigned long long)task->pages[k]);
	column(&t, "  %s", np_list_format(v->t->cpus[i], list, sizeof(list)));
}
