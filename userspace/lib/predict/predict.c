// SPDX-License-Identifier: GPL-2.0-only
#include "predict.h"

#include <errno.h>
#include <stdlib.h>

#include "../../../policies/predict/predict.h"

/* The nodes that task i is given, where these are several; else NULL. */
static const uint8_t *nodes_given(const struct np_machine *m, const struct np_plan *plan, size_t i)
{
	int nodes = plan->decision[i].nodes;

	return nodes == NP_NODE_NONE ? NULL : plan->spread + (size_t)nodes * m->n_nodes;
}

static bool changes_nodes(const struct np_machine *m, const struct np_task *t,
			  const struct np_decision *d, const uint8_t *given)
{
	if (!given)
		return d->to != NP_NODE_NONE && d->to != d->from;
	for (int node = 0; node < (int)m->n_nodes; node++) {
		bool on = t->node != NP_NODE_NONE ? node == t->node : !t->on || t->on[node];

		if (on != (given[node] != 0) && m->node[node].cpus)
			return true;
	}
	return false;
}

/* Share of all tasks' pages on the node, or nodes, that their task is to run on; 1 without pages. */
static double locality(const struct np_machine *m, const struct np_tasks *t,
		       const struct np_plan *plan, bool after)
{
	uint64_t local = 0, all = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct np_decision *d = &plan->decision[i];
		const uint64_t *pages = after ? plan->pages_after + i * m->n_nodes :
						t->task[i].pages;
		const uint8_t *given = after ? nodes_given(m, plan, i) : NULL;
		int node = after && d->to != NP_NODE_NONE ? d->to : t->task[i].node;

		for (size_t k = 0; k < m->n_nodes; k++) {
			all += pages[k];
			if (given ? given[k] : (int)k == node)
				local += pages[k];
		}
	}
	return all ? (double)local / (double)all : 1;
}

/* A page counts as every other of its task, so accesses lie as the pages do. */
static void spread_accesses(const struct np_machine *m, struct np_task *t, double per_s,
			    double *row)
{
	double pages = 0;

	for (size_t k = 0; k < m->n_nodes; k++)
		pages += (double)t->pages[k];
	for (size_t k = 0; k < m->n_nodes; k++)
		row[k] = pages > 0 ? per_s * (double)t->pages[k] / pages : 0;
	t->accesses = row;
	t->accesses_source = NP_PROVENANCE_MODEL;
}

static int count_accesses(const struct np_machine *m, struct np_tasks *t, struct np_plan *plan,
			  double *accesses)
{
	const struct np_policy *none = np_policy_find("none");
	struct np_options options;
	struct np_predictor p;
	int e;

	np_options_defaults(none, &options);
	e = np_plan_begin(none, m, t->task, &options, plan);
	if (!e)
		e = np_predictor_init(&p, m, t->task, plan->decision, t->n);
	if (e)
		return e;
	np_predict(&p, true);
	for (size_t i = 0; i < t->n; i++)
		spread_accesses(m, &t->task[i], np_predict_traffic(&p, i) / m->model->line_bytes,
				accesses + i * m->n_nodes);
	np_predictor_free(&p);
	return 0;
}

int np_predict_counters(const struct np_machine *m, struct np_tasks *t, double **accesses)
{
	struct np_plan plan;
	int e = np_plan_init(&plan, m, t->n);

	*accesses = e ? NULL : calloc(t->n * m->n_nodes + 1, sizeof(**accesses));
	if (!e && !*accesses)
		e = -ENOMEM;
	if (!e)
		e = count_accesses(m, t, &plan, *accesses);
	np_plan_free(&plan);
	/* A machine or tasks that make no sense: every policy says so itself. */
	return e == -ENOMEM ? e : 0;
}

struct np_outcome np_predict_policy(const struct np_contender *c, const struct np_machine *m,
				    const struct np_tasks *t)
{
	struct np_outcome o = { 0 };
	struct np_plan plan;

	if (np_plan_init(&plan, m, t->n))
		return (struct np_outcome) { .error = -ENOMEM };
	o.error = np_policy_plan(c->policy, m, t->task, t->n, &c->options, &plan);
	memcpy(o.fault, plan.fault, sizeof(o.fault));
	for (size_t i = 0; !o.error && i < 2; i++) {
		o.throughput[i] = plan.throughput[i].value;
		o.fairness[i] = plan.fairness[i].value;
		o.locality[i] = locality(m, t, &plan, i);
		o.source = plan.throughput[i].source;
	}
	for (size_t i = 0; !o.error && i < t->n; i++) {
		const struct np_decision *d = &plan.decision[i];

		o.pages_moved += d->pages_to_move;
		o.seconds += d->cost;
		o.acted |= d->pages_to_move ||
			   changes_nodes(m, &t->task[i], d, nodes_given(m, &plan, i));
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
	s->acted += o->acted;
	s->pages_moved += o->pages_moved;
}
