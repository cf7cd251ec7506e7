// SPDX-License-Identifier: GPL-2.0-only
#include "placing.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void np_reason(struct np_decision *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->reason, sizeof(d->reason), format, args);
	va_end(args);
}

void np_reason_more(struct np_decision *d, const char *format, ...)
{
	size_t used = strlen(d->reason);
	va_list args;

	va_start(args, format);
	vsnprintf(d->reason + used, sizeof(d->reason) - used, format, args);
	va_end(args);
}

/* The smallest distances of a CPU to memory on its own node and on another. */
static void read_distances(struct np_placing *p)
{
	const struct np_machine *m = p->m;
	int local = INT_MAX, remote = INT_MAX;

	for (int i = 0; i < (int)m->n_nodes; i++) {
		for (int j = 0; j < (int)m->n_nodes; j++) {
			int d = np_distance(m, i, j);

			if (i == j && d < local)
				local = d;
			else if (i != j && m->node[i].cpus && m->node[j].has_memory && d < remote)
				remote = d;
		}
	}
	p->local = local;
	p->remote = remote == INT_MAX ? local : remote;
}

double np_remoteness(const struct np_placing *p, int cpu_node, int mem_node)
{
	double d = np_distance(p->m, cpu_node, mem_node);

	if (cpu_node == mem_node)
		return 0;
	if (p->remote <= p->local)
		return 1;
	return fmax(0, (d - p->local) / (p->remote - p->local));
}

static void set_penalty(struct np_placing *p, size_t i, double default_penalty)
{
	const struct np_task *t = &p->tasks[i];
	struct np_decision *d = &p->decision[i];

	if (t->penalty_source != NP_SOURCE_NONE) {
		d->penalty = t->penalty;
		d->penalty_source = t->penalty_source;
	} else if (default_penalty > 0) {
		d->penalty = default_penalty;
		d->penalty_source = NP_SOURCE_DECLARED;
	} else {
		d->penalty = p->remote / p->local;
		d->penalty_source = NP_SOURCE_MACHINE;
	}
	d->penalty = fmax(1, d->penalty);
}

static void leave_alone(struct np_placing *p, size_t i)
{
	p->decision[i] = (struct np_decision) {
		.from = p->tasks[i].node,
		.to = NP_NODE_NONE,
		.home = np_task_home(p->m, &p->tasks[i]),
		.pages_to = NP_NODE_NONE,
		.gain = 1,
	};
}

/* Higher penalty first, else as given. */
static int by_penalty(const void *a, const void *b, void *context)
{
	const struct np_decision *decision = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (decision[i].penalty != decision[j].penalty)
		return decision[i].penalty > decision[j].penalty ? -1 : 1;
	return i < j ? -1 : i > j;
}

int np_placing_init(struct np_placing *p, const struct np_machine *m,
		    const struct np_task *tasks, size_t n, double default_penalty,
		    struct np_plan *out)
{
	*p = (struct np_placing) { .m = m, .tasks = tasks, .n = n, .decision = out->decision };
	p->order = calloc(n + 1, sizeof(*p->order));
	p->used = calloc(m->n_nodes, sizeof(*p->used));
	if (!p->order || !p->used) {
		np_placing_free(p);
		return -ENOMEM;
	}
	read_distances(p);
	for (size_t i = 0; i < n; i++) {
		leave_alone(p, i);
		set_penalty(p, i, default_penalty);
		p->order[i] = i;
	}
	qsort_r(p->order, n, sizeof(*p->order), by_penalty, p->decision);
	return 0;
}

void np_placing_free(struct np_placing *p)
{
	free(p->order);
	free(p->used);
	p->order = NULL;
	p->used = NULL;
}

bool np_has_room(const struct np_placing *p, int node, unsigned int cores)
{
	return p->used[node] + cores <= p->m->node[node].cpus;
}

void np_place_on(struct np_placing *p, size_t i, int node)
{
	struct np_decision *d = &p->decision[i];

	if (d->to != NP_NODE_NONE)
		p->used[d->to] -= p->tasks[i].cores;
	d->to = node;
	p->used[node] += p->tasks[i].cores;
}
