// SPDX-License-Identifier: GPL-2.0-only
#include "placer.h"

#include <errno.h>

/* Higher penalty first, else as given. */
static int by_penalty(const void *a, const void *b, void *context)
{
	const struct np_decision *decision = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (decision[i].penalty != decision[j].penalty)
		return decision[i].penalty > decision[j].penalty ? -1 : 1;
	return i < j ? -1 : i > j;
}

void np_plan_by_penalty(const struct np_plan *plan, size_t *order)
{
	for (size_t i = 0; i < plan->n; i++)
		order[i] = i;
	qsort_r(order, plan->n, sizeof(*order), by_penalty, plan->decision);
}

int np_placer_init(struct np_placer *p, const struct np_machine *m, const struct np_task *tasks,
		   size_t n, struct np_plan *out)
{
	*p = (struct np_placer) {
		.m = m,
		.tasks = tasks,
		.n = n,
		.plan = out,
		.decision = out->decision,
	};
	p->order = malloc((n + 1) * sizeof(*p->order));
	p->used = calloc(m->n_nodes, sizeof(*p->used));
	if (!p->order || !p->used) {
		np_placer_free(p);
		return -ENOMEM;
	}
	p->distances = np_distances(m);
	np_plan_by_penalty(out, p->order);
	return 0;
}

void np_placer_free(struct np_placer *p)
{
	free(p->order);
	free(p->used);
	p->order = NULL;
	p->used = NULL;
}

bool np_has_room(const struct np_placer *p, int node, size_t i)
{
	const struct np_task *t = &p->tasks[i];

	return np_may_run(p->m, t, node) && p->used[node] + t->cores <= p->m->node[node].cpus;
}

void np_place_on(struct np_placer *p, size_t i, int node)
{
	struct np_decision *d = &p->decision[i];

	if (d->to != NP_NODE_NONE)
		p->used[d->to] -= p->tasks[i].cores;
	d->to = node;
	p->used[node] += p->tasks[i].cores;
}

void np_use_cpus(struct np_placer *p, const uint8_t *in, int64_t cores)
{
	int64_t cpus = 0, so_far = 0, given = 0;

	for (size_t node = 0; node < p->m->n_nodes; node++)
		cpus += in[node] ? p->m->node[node].cpus : 0;
	for (size_t node = 0; node < p->m->n_nodes && cpus; node++) {
		int64_t upto;

		if (!in[node])
			continue;
		so_far += p->m->node[node].cpus;
		upto = so_far * cores / cpus;
		p->used[node] += (uint64_t)(upto - given);
		given = upto;
	}
}

void np_nodes_now(const struct np_placer *p, size_t i, uint8_t *in)
{
	const struct np_task *t = &p->tasks[i];

	for (int node = 0; node < (int)p->m->n_nodes; node++)
		in[node] = t->node != NP_NODE_NONE ? node == t->node : !t->on || t->on[node];
}

/* Whether memory is nearer to node on a than on b, or as near with more of the task's pages on it. */
static bool is_better(const struct np_placer *p, size_t i, int node, int a, int b)
{
	int nearer = np_distance(p->m, node, b) - np_distance(p->m, node, a);

	return nearer > 0 || (!nearer && p->tasks[i].pages[a] > p->tasks[i].pages[b]);
}

int np_nearest_memory(const struct np_placer *p, size_t i, int node)
{
	int best = NP_NODE_NONE;

	for (int other = 0; other < (int)p->m->n_nodes; other++) {
		if (!np_may_hold(p->m, &p->tasks[i], other))
			continue;
		if (other == node)
			return node;
		if (best == NP_NODE_NONE || is_better(p, i, node, other, best))
			best = other;
	}
	return best;
}
