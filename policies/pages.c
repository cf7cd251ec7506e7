// SPDX-License-Identifier: GPL-2.0-only
/* How many pages a plan moves, what that costs and what it should bring. */
#include <errno.h>
#include <stdlib.h>

#include "placing.h"

/* Part of a node's memory that a plan never fills: the kernel keeps a reserve. */
#define RESERVED_PART 64

/* Pages that may still come to each node. */
struct room {
	uint64_t *free;		/* [n_nodes] when nothing has moved yet */
	int64_t *excess;	/* [n_nodes] pages planned beyond what fits */
};

static uint64_t pages_in_all(const struct np_machine *m, const struct np_task *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		sum += t->pages[i];
	return sum;
}

static bool moves_all(const struct np_placing *p, size_t i)
{
	const struct np_decision *d = &p->decision[i];

	return d->pages_to_move == pages_in_all(p->m, &p->tasks[i]) -
				   p->tasks[i].pages[d->pages_to];
}

/* What task i takes away from the other nodes counts only if it moves whole. */
static void add_sources(struct np_placing *p, struct room *r, size_t i, int sign)
{
	const struct np_decision *d = &p->decision[i];

	for (int node = 0; node < (int)p->m->n_nodes; node++)
		if (node != d->pages_to && r->free[node])
			r->excess[node] += sign * (int64_t)p->tasks[i].pages[node];
}

static void want_all_pages(struct np_placing *p, struct room *r)
{
	for (size_t node = 0; node < p->m->n_nodes; node++) {
		const struct np_node *n = &p->m->node[node];
		uint64_t reserved = n->mem_total / RESERVED_PART;

		if (n->has_memory && n->mem_free > reserved)
			r->free[node] = (n->mem_free - reserved) / p->m->page_size;
		r->excess[node] = -(int64_t)r->free[node];
	}
	for (size_t i = 0; i < p->n; i++) {
		struct np_decision *d = &p->decision[i];

		if (d->pages_to == NP_NODE_NONE)
			continue;
		d->pages_to_move = pages_in_all(p->m, &p->tasks[i]) -
				   p->tasks[i].pages[d->pages_to];
		r->excess[d->pages_to] += (int64_t)d->pages_to_move;
		add_sources(p, r, i, -1);
	}
}

/* Takes from task i what its node cannot hold. Returns true if it took any. */
static bool cut(struct np_placing *p, struct room *r, size_t i)
{
	struct np_decision *d = &p->decision[i];
	int64_t *excess = &r->excess[d->pages_to];
	uint64_t take;

	if (*excess <= 0 || !d->pages_to_move)
		return false;
	if (moves_all(p, i))
		add_sources(p, r, i, +1);
	take = (uint64_t)*excess < d->pages_to_move ? (uint64_t)*excess : d->pages_to_move;
	d->pages_to_move -= take;
	*excess -= (int64_t)take;
	return true;
}

/* Tasks of low penalty first, until every node can hold what comes to it. */
static void cut_to_fit(struct np_placing *p, struct room *r)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t k = p->n; k-- > 0;)
			if (p->decision[p->order[k]].pages_to != NP_NODE_NONE)
				again |= cut(p, r, p->order[k]);
	}
}

/*
 * Run time of task i in units of its all-local run time, on cpu_node with its
 * pages where they are; averaged over the CPUs when it runs on several nodes.
 */
static double slowdown(const struct np_placing *p, size_t i, int cpu_node, const double *average)
{
	const struct np_task *t = &p->tasks[i];
	double all = (double)pages_in_all(p->m, t);
	double remote = 0;

	if (all == 0)
		return 1;
	for (int node = 0; node < (int)p->m->n_nodes; node++) {
		if (!t->pages[node])
			continue;
		remote += (double)t->pages[node] / all *
			  (cpu_node == NP_NODE_NONE ? average[node] :
			   np_remoteness(p, cpu_node, node));
	}
	return 1 + (p->decision[i].penalty - 1) * remote;
}

/* Remoteness of each node's memory as seen by all CPUs of the machine. */
static void average_remoteness(const struct np_placing *p, double *average)
{
	const struct np_machine *m = p->m;
	double cpus = 0;

	for (int i = 0; i < (int)m->n_nodes; i++)
		cpus += m->node[i].cpus;
	for (int mem = 0; mem < (int)m->n_nodes; mem++)
		for (int i = 0; i < (int)m->n_nodes; i++)
			average[mem] += m->node[i].cpus / cpus * np_remoteness(p, i, mem);
}

static void estimate(struct np_placing *p, size_t i, double rate_mib, const double *average)
{
	struct np_decision *d = &p->decision[i];
	uint64_t all = pages_in_all(p->m, &p->tasks[i]);
	double before, after, moved = 0;
	int node = d->to == NP_NODE_NONE ? d->from : d->to;

	d->cost = (double)d->pages_to_move * (double)p->m->page_size / (rate_mib * 1024 * 1024);
	if (d->pages_to_move)
		moved = (double)d->pages_to_move /
			(double)(all - p->tasks[i].pages[d->pages_to]);
	before = slowdown(p, i, d->from, average);
	after = slowdown(p, i, node, average);
	if (moved > 0 && node != NP_NODE_NONE)
		after += moved * (1 + (d->penalty - 1) * np_remoteness(p, node, d->pages_to) -
				  after);
	d->gain *= before / after;
}

static void say_what_stays(struct np_placing *p, size_t i)
{
	struct np_decision *d = &p->decision[i];

	if (d->pages_to != NP_NODE_NONE && !moves_all(p, i))
		np_reason_more(d, "; memory for %llu of its pages",
			       (unsigned long long)d->pages_to_move);
}

int np_plan_pages(struct np_placing *p, double rate_mib)
{
	size_t k = p->m->n_nodes;
	struct room r = { calloc(k, sizeof(*r.free)), calloc(k, sizeof(*r.excess)) };
	double *average = calloc(k, sizeof(*average));
	int err = -ENOMEM;

	if (r.free && r.excess && average) {
		want_all_pages(p, &r);
		cut_to_fit(p, &r);
		average_remoteness(p, average);
		for (size_t i = 0; i < p->n; i++) {
			say_what_stays(p, i);
			estimate(p, i, rate_mib, average);
		}
		err = 0;
	}
	free(r.free);
	free(r.excess);
	free(average);
	return err;
}
