// SPDX-License-Identifier: GPL-2.0-only
/* The nodes of tasks' pages: read as seldom as their changes allow, within a budget. */
#include "task_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"

/* Intervals. Pages may move without a change of RSS: they are read again after this. */
#define REREAD 30
/* A task that grew or shrank by more than a tenth is read again. */
#define GROWTH 0.1

static bool matters(const struct np_task_watch *w, const struct np_watched_task *t,
		    unsigned int now)
{
	return t->watched && !t->denied && t->ever_busy && now - t->last_busy <= w->rules->pause &&
	       t->rss >= w->rules->min_pages;
}

bool np_task_eligible(const struct np_task_watch *w, const struct np_watched_task *t,
		      unsigned int now)
{
	return t->have && !t->excluded && matters(w, t, now);
}

static int node_of(const struct np_machine *m, int cpu)
{
	return cpu >= 0 && (size_t)cpu < m->n_cpus ? m->cpu_node[cpu] : NP_NODE_NONE;
}

/* Several threads, of which only the leader's CPU is looked at: it is elsewhere now. */
static bool may_run_elsewhere(const struct np_machine *m, const struct np_watched_task *t)
{
	return node_of(m, t->cpu) != node_of(m, t->read_cpu) &&
	       (t->threads > 1 || t->task.task[0].threads > 1);
}

static bool is_stale(const struct np_machine *m, const struct np_watched_task *t, unsigned int now)
{
	double change = (double)t->rss - (double)t->read_rss;

	if (!t->have || now - t->read_at >= REREAD)
		return true;
	if (change < 0)
		change = -change;
	return change > GROWTH * (double)t->read_rss || may_run_elsewhere(m, t);
}

/* Of one thread that may run on several nodes it is enough to know where it did last. */
bool np_task_watch_follow(const struct np_machine *m, struct np_watched_task *t)
{
	struct np_task *task = t->have ? &t->task.task[0] : NULL;
	int node = node_of(m, t->cpu);

	if (!task || task->threads > 1 || t->threads > 1 || node == task->node ||
	    np_machine_node_of_cpus(m, t->task.cpus[0]) != NP_NODE_NONE)
		return false;
	task->node = node;
	t->read_cpu = t->cpu;
	return true;
}

unsigned int np_watched_task_cores(const struct np_task_watch *w, const struct np_watched_task *t)
{
	return w->rules->one_core || t->busy < 1.5 ? 1 : (unsigned int)(t->busy + 0.5);
}

static void forget_rows(struct np_watched_task *t)
{
	if (t->have) {
		np_tasks_free(&t->task);
		np_task_limits_free(&t->limits);
	}
	t->have = false;
	free(t->accesses);
	t->accesses = NULL;
}

void np_task_watch_forget(struct np_watched_task *t)
{
	if (t->stat >= 0)
		close(t->stat);
	forget_rows(t);
}

void np_task_watch_drop_rows(struct np_task_watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		forget_rows(&w->task[i]);
		w->task[i].sampled = (struct np_task) { 0 };
		w->task[i].hysteresis = (struct np_hysteresis) { 0 };
	}
	w->eligible = 0;
}

bool np_task_watch_read(struct np_task_watch *w, const struct np_machine *m,
			struct np_watched_task *t, unsigned int now)
{
	double began = np_clock(CLOCK_PROCESS_CPUTIME_ID);
	struct np_task_limits limits;
	struct np_tasks task;
	struct np_err err;
	int e = np_tasks_read(&task, m, &t->pid, 1, &err);

	t->denied |= e == -EPERM || e == -EACCES;
	if (!e && task.start[0] != t->start) {
		np_tasks_free(&task);
		e = -ESRCH;
	}
	if (!e && np_task_limits_read(&limits, m, &task, w->cpusets,
				      w->rules->override ? NULL : w->reserved)) {
		np_tasks_free(&task);
		e = -ENOMEM;
	}
	if (!e && t->have && !t->task.task[0].shared_pages)
		task.task[0].shared_pages = 0; /* what fork() left shared only becomes less */
	else if (!e)
		np_tasks_find_shared(&task, m);
	if (t->have && !e) {
		np_tasks_free(&t->task);
		np_task_limits_free(&t->limits);
	}
	t->read_at = now;
	t->read_cost = np_clock(CLOCK_PROCESS_CPUTIME_ID) - began;
	t->read_rss = t->rss;
	t->read_cpu = t->cpu;
	if (e)
		return false;
	t->task = task;
	t->task.task[0].cores = np_watched_task_cores(w, t);
	t->excluded = np_excluded(&w->rules->exclude, t->pid, task.task[0].comm);
	t->limits = limits;
	t->have = true;
	return true;
}

/* Part of the read budget for tasks that were read before. */
static double reread_budget(const struct np_task_watch *w)
{
	return w->rules->read_budget / 4;
}

/* Reading it takes more than an interval's budget: it waits until earlier reads are paid off. */
static bool is_costly(const struct np_task_watch *w, const struct np_watched_task *t)
{
	return t->have && t->read_cost > reread_budget(w);
}

/* The one to read next: one that is new, else the one that was read longest ago. */
static struct np_watched_task *next_to_read(const struct np_task_watch *w,
					    const struct np_machine *m, unsigned int now)
{
	struct np_watched_task *next = NULL;

	for (size_t i = 0; i < w->n; i++) {
		struct np_watched_task *t = &w->task[i];

		if (!matters(w, t, now) || t->read_at == now || !is_stale(m, t, now) ||
		    (is_costly(w, t) && w->debt > 0))
			continue;
		if (!next || (next->have && (!t->have || t->read_at < next->read_at)))
			next = t;
	}
	return next;
}

/* Reads the task again. False when that does not change a plan's input. */
static bool read_differs(struct np_task_watch *w, const struct np_machine *m,
			 struct np_watched_task *t, unsigned int now)
{
	uint64_t *before = t->have ? malloc(m->n_nodes * sizeof(*before)) : NULL;
	int node = t->have ? t->task.task[0].node : NP_NODE_NONE;
	bool same;

	if (before)
		memcpy(before, t->task.pages, m->n_nodes * sizeof(*before));
	same = np_task_watch_read(w, m, t, now) && before && t->task.task[0].node == node &&
	       !memcmp(before, t->task.pages, m->n_nodes * sizeof(*before));
	free(before);
	return !same;
}

/*
 * As long as the budget lasts, a quarter of it for tasks that were read before; at least one an
 * interval. A costly one is read so seldom that it takes no more than that quarter on average.
 */
bool np_task_watch_read_stale(struct np_task_watch *w, const struct np_machine *m, unsigned int now)
{
	double began = np_clock(CLOCK_PROCESS_CPUTIME_ID), budget = w->rules->read_budget;
	struct np_watched_task *t;
	bool changed = false, any = false;

	w->debt = w->debt > reread_budget(w) ? w->debt - reread_budget(w) : 0;
	while ((t = next_to_read(w, m, now))) {
		if (any &&
		    np_clock(CLOCK_PROCESS_CPUTIME_ID) - began >= (t->have ? budget / 4 : budget))
			break;
		changed |= read_differs(w, m, t, now);
		any = true;
		if (is_costly(w, t))
			w->debt += t->read_cost;
	}
	return changed;
}
