// SPDX-License-Identifier: GPL-2.0-only
#include "simulate.h"

#include <errno.h>

/* Share of all tasks' pages on the node that their task runs on; 1 without pages. */
static double locality(const struct np_machine *m, const struct np_tasks *t,
		       const struct np_plan *plan, bool after)
{
	uint64_t local = 0, all = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct np_decision *d = &plan->decision[i];
		const uint64_t *pages = after ? plan->pages_after + i * m->n_nodes
					      : t->task[i].pages;
		int node = after && d->to != NP_NODE_NONE ? d->to : t->task[i].node;

		for (size_t k = 0; k < m->n_nodes; k++) {
			all += pages[k];
			if ((int)k == node)
				local += pages[k];
		}
	}
	return all ? (double)local / (double)all : 1;
}

struct np_outcome np_simulate(const struct np_contender *c, const struct np_machine *m,
			      const struct np_tasks *t)
{
	struct np_outcome o = { 0 };
	struct np_plan plan;

	if (np_plan_init(&plan, m, t->n))
		return (struct np_outcome) { .error = -ENOMEM };
	o.error = np_policy_plan(c->policy, m, t->task, t->n, &c->options, &plan);
	for (size_t i = 0; !o.error && i < 2; i++) {
		o.throughput[i] = plan.throughput[i].value;
		o.fairness[i] = plan.fairness[i].value;
		o.locality[i] = locality(m, t, &plan, i);
		o.source = plan.throughput[i].source;
	}
	for (size_t i = 0; !o.error && i < t->n; i++) {
		o.pages_moved += plan.decision[i].pages_to_move;
		o.seconds += plan.decision[i].cost;
	}
	np_plan_free(&plan);
	return o;
}

void np_score_add(struct np_score *s, const struct np_outcome *o, double best, bool whole)
{
	double ratio;

	if (o->error || !(best > 0))
		return;
	ratio = o->throughput[1] / best;
	if (!s->cases || ratio < s->worst)
		s->worst = ratio;
	s->cases++;
	s->whole += whole;
	s->sum += ratio;
	s->within_1_percent += ratio >= 0.99;
	s->pages_moved += o->pages_moved;
}
