// SPDX-License-Identifier: GPL-2.0-only
/* Takes what a task's cpuset forbids out of its decision, for every policy. */
#include "cpuset_limits.h"

#include <errno.h>

/* "what the policy said; it may use no CPUs of node 1". */
static void add_reason(struct np_decision *d, const char *what, const struct np_machine *m,
		       int node)
{
	size_t at = strlen(d->reason);
	char text[80];

	snprintf(text, sizeof(text), "%sit may use no %s node %d", at ? "; " : "", what,
		 m->node[node].id);
	/* The limit is what decided: the policy's own words make room for it. */
	if (at + strlen(text) >= NP_REASON_LEN)
		at = NP_REASON_LEN - 1 - strlen(text);
	snprintf(d->reason + at, NP_REASON_LEN - at, "%s", text);
}

/* A row without the nodes that t may not use, a row of its own; none left: NP_NODE_NONE. */
static int reduce(const struct np_machine *m, const struct np_task *t, struct np_plan *plan,
		  struct np_decision *d, int *row, bool cpus)
{
	uint8_t *weight = malloc(m->n_nodes);
	unsigned int left = 0, taken = 0;

	if (!weight)
		return -ENOMEM;
	memcpy(weight, plan->spread + (size_t)*row * m->n_nodes, m->n_nodes);
	for (size_t node = 0; node < m->n_nodes; node++) {
		bool may = cpus ? np_may_run(m, t, (int)node) : np_may_hold(m, t, (int)node);

		if (weight[node] && !may) {
			weight[node] = 0;
			taken++;
			add_reason(d, cpus ? "CPUs of" : "memory of", m, (int)node);
		}
		left += weight[node];
	}
	if (taken)
		*row = left ? np_plan_spread(plan, m->n_nodes, weight) : NP_NODE_NONE;
	free(weight);
	return taken && left && *row == NP_NODE_NONE ? -ENOMEM : 0;
}

int np_plan_cpuset_limits(const struct np_machine *m, const struct np_task *tasks,
			  struct np_plan *plan)
{
	int e = 0;

	for (size_t i = 0; !e && i < plan->n; i++) {
		struct np_decision *d = &plan->decision[i];
		const struct np_task *t = &tasks[i];

		if (!t->may)
			continue;
		if (d->to != NP_NODE_NONE && !np_may_run(m, t, d->to)) {
			add_reason(d, "CPUs of", m, d->to);
			d->to = NP_NODE_NONE;
		}
		if (d->pages_to != NP_NODE_NONE && !np_may_hold(m, t, d->pages_to)) {
			add_reason(d, "memory of", m, d->pages_to);
			d->pages_to = NP_NODE_NONE;
		}
		if (d->nodes != NP_NODE_NONE)
			e = reduce(m, t, plan, d, &d->nodes, true);
		if (!e && d->spread != NP_NODE_NONE)
			e = reduce(m, t, plan, d, &d->spread, false);
	}
	return e;
}
