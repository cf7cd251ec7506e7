// SPDX-License-Identifier: GPL-2.0-only
/*
 * Expected speed-up of each task by a plan: by the contention model, where the machine
 * has one. Else from penalties and distances alone: run time in units of the
 * all-local one is 1 + (penalty - 1) x how remote its pages are.
 */
#include <errno.h>

#include "../predict/predict.h"
#include "pages.h"

struct prospect {
	const struct np_machine *m;
	struct np_distances d;
	double *average; /* [n_nodes] remoteness of its memory seen by all CPUs */
};

/* Where a task runs: on one node, else on those of on, else on all. */
struct place {
	int node;
	const uint8_t *on;
};

/* How remote mem is, on average, from the CPUs of the nodes of on; NULL: of all. */
static double remoteness_from(const struct prospect *p, const uint8_t *on, int mem)
{
	const struct np_machine *m = p->m;
	double cpus = 0, sum = 0;

	for (int i = 0; i < (int)m->n_nodes; i++) {
		if (on && !on[i])
			continue;
		cpus += m->node[i].cpus;
		sum += m->node[i].cpus * np_remoteness(m, p->d, i, mem);
	}
	return sum / cpus;
}

static void average_remoteness(struct prospect *p)
{
	for (int mem = 0; mem < (int)p->m->n_nodes; mem++)
		p->average[mem] = remoteness_from(p, NULL, mem);
}

/* Run time there with its pages as given; averaged when it runs on several nodes. */
static double slowdown(const struct prospect *p, double penalty, struct place at,
		       const uint64_t *pages)
{
	double all = 0, remote = 0;

	for (int node = 0; node < (int)p->m->n_nodes; node++) {
		if (!pages[node])
			continue;
		all += (double)pages[node];
		remote += (double)pages[node] * (at.node != NP_NODE_NONE ?
							 np_remoteness(p->m, p->d, at.node, node) :
						 at.on ? remoteness_from(p, at.on, node) :
							 p->average[node]);
	}
	return all > 0 ? 1 + (penalty - 1) * remote / all : 1;
}

static void know(struct np_plan *plan, int when, const struct np_predictor *p)
{
	plan->throughput[when] = (struct np_known) { p->throughput, NP_PROVENANCE_MODEL };
	plan->fairness[when] = (struct np_known) { p->fairness, NP_PROVENANCE_MODEL };
}

/* A gain is no better known than the least known of its factors. */
static enum np_provenance source(const struct np_decision *d, enum np_provenance predicted)
{
	return d->bonus == 1 ? predicted : NP_PROVENANCE_ASSUMED;
}

/* Of the placement that was predicted last; bonus included. */
static void divide_by_speed(struct np_plan *plan, const struct np_predictor *p)
{
	for (size_t i = 0; i < plan->n; i++) {
		struct np_decision *d = &plan->decision[i];

		d->gain = d->bonus / p->speed[i];
		d->traffic = (struct np_known) { np_predict_traffic(p, i), NP_PROVENANCE_MODEL };
	}
}

static void place_as_planned(struct np_predictor *p, const struct np_plan *plan)
{
	size_t k = p->k;

	for (size_t i = 0; i < plan->n; i++) {
		const struct np_decision *d = &plan->decision[i];

		if (d->to != NP_NODE_NONE)
			np_predict_run_on(p, i, d->to);
		if (d->nodes != NP_NODE_NONE)
			np_predict_run_on_nodes(p, i, plan->spread + (size_t)d->nodes * k);
		if (d->pages_to_move)
			np_predict_pages(p, i, plan->pages_after + i * k);
	}
}

static void multiply_by_speed(struct np_plan *plan, const struct np_predictor *p)
{
	for (size_t i = 0; i < plan->n; i++) {
		plan->decision[i].gain *= p->speed[i];
		plan->decision[i].gain_source = source(&plan->decision[i], NP_PROVENANCE_MODEL);
	}
}

static int gain_by_model(const struct np_machine *m, const struct np_task *tasks,
			 struct np_plan *plan)
{
	struct np_predictor p;
	int e = np_predictor_init(&p, m, tasks, plan->decision, plan->n);

	if (e)
		return e;
	np_predict(&p, true);
	know(plan, 0, &p);
	divide_by_speed(plan, &p);
	place_as_planned(&p, plan);
	np_predict(&p, true);
	know(plan, 1, &p);
	multiply_by_speed(plan, &p);
	np_predictor_free(&p);
	return 0;
}

static int gain_by_penalty(const struct np_machine *m, const struct np_task *tasks,
			   struct np_plan *plan)
{
	struct prospect p = { m, np_distances(m), calloc(m->n_nodes, sizeof(double)) };

	if (!p.average)
		return -ENOMEM;
	average_remoteness(&p);
	for (size_t i = 0; i < plan->n; i++) {
		struct np_decision *d = &plan->decision[i];
		struct place before = { d->from, np_predict_nodes_of(m, &tasks[i]) },
			     after = before;

		if (d->to != NP_NODE_NONE)
			after.node = d->to;
		else if (d->nodes != NP_NODE_NONE)
			after = (struct place) { NP_NODE_NONE,
						 plan->spread + (size_t)d->nodes * m->n_nodes };
		d->gain = d->bonus * slowdown(&p, d->penalty, before, tasks[i].pages) /
			  slowdown(&p, d->penalty, after, plan->pages_after + i * m->n_nodes);
		d->gain_source = source(d, NP_PROVENANCE_PENALTY);
		d->traffic = (struct np_known) { 0 };
	}
	free(p.average);
	return 0;
}

int np_plan_gain(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan)
{
	for (int when = 0; when < 2; when++)
		plan->throughput[when] = plan->fairness[when] = (struct np_known) { 0 };
	if (m->model && m->model->n_nodes == m->n_nodes)
		return gain_by_model(m, tasks, plan);
	return gain_by_penalty(m, tasks, plan);
}
