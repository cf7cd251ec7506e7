// SPDX-License-Identifier: GPL-2.0-only
#include "plan_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../files/penalty.h"
#include "task_sampling.h"

static int allocate(struct np_request *p, size_t n)
{
	size_t nodes = p->machine.n_nodes;

	p->tasks.task = calloc(n + 1, sizeof(*p->tasks.task));
	p->tasks.pages = calloc(n * nodes + 1, sizeof(*p->tasks.pages));
	p->tasks.shm_pages = calloc(n * nodes + 1, sizeof(*p->tasks.shm_pages));
	p->tasks.start = calloc(n + 1, sizeof(*p->tasks.start));
	p->tasks.cpus = calloc(n + 1, sizeof(*p->tasks.cpus));
	p->limits.cpus = calloc(n + 1, sizeof(*p->limits.cpus));
	p->limits.pinned = calloc(n + 1, sizeof(*p->limits.pinned));
	return p->tasks.task && p->tasks.pages && p->tasks.shm_pages && p->tasks.start &&
			       p->tasks.cpus && p->limits.cpus && p->limits.pinned ?
		       0 :
		       -ENOMEM;
}

static void add(struct np_request *p, const struct np_watched_task *t,
		const struct np_task *assumed)
{
	size_t i = p->tasks.n++, nodes = p->machine.n_nodes;
	struct np_task *task = &p->tasks.task[i];

	*task = t->task.task[0];
	np_task_sampling_fill(t, task);
	task->pages = memcpy(p->tasks.pages + i * nodes, t->task.pages,
			     nodes * sizeof(*p->tasks.pages));
	task->shm_pages = memcpy(p->tasks.shm_pages + i * nodes, t->task.shm_pages,
				 nodes * sizeof(*p->tasks.shm_pages));
	if (assumed->penalty_source != NP_PROVENANCE_NONE) {
		task->penalty = assumed->penalty;
		task->penalty_source = assumed->penalty_source;
	}
	if (assumed->mpki_source != NP_PROVENANCE_NONE) {
		task->mpki = assumed->mpki;
		task->mpki_source = assumed->mpki_source;
	}
	p->tasks.start[i] = t->start;
	p->tasks.cpus[i] = t->task.cpus[0];
	p->limits.pinned[p->limits.n] = t->limits.pinned[0];
	p->limits.cpus[p->limits.n++] = t->limits.cpus[0];
}

int np_plan_input(struct np_request *p, const struct np_task_watch *w, unsigned int now,
		  const struct np_task *assumed, struct np_err *err)
{
	int e;

	if (allocate(p, w->eligible + 1)) {
		np_plan_input_free(p);
		return np_fail(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < w->n && p->tasks.n <= w->eligible; i++)
		if (np_task_eligible(w, &w->task[i], now) && !w->task[i].gone)
			add(p, &w->task[i], assumed);
	if (np_penalties_apply(&p->tasks, err))
		e = -EBADMSG;
	else
		e = np_request_ask(p, err);
	if (e)
		np_plan_input_free(p);
	return e;
}

void np_plan_input_free(struct np_request *p)
{
	np_plan_free(&p->plan);
	free(p->tasks.task);
	free(p->tasks.pages);
	free(p->tasks.shm_pages);
	free(p->tasks.start);
	free(p->tasks.cpus);
	free(p->limits.cpus);
	free(p->limits.pinned);
	memset(p, 0, sizeof(*p));
}
