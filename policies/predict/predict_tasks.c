// SPDX-License-Identifier: GPL-2.0-only
/* Begins and ends a prediction, and sets the placement to predict. */
#include <errno.h>

#include "predict.h"

static int allocate(struct np_predictor *p)
{
	size_t cells = p->k * p->k * (p->n < NP_PREDICT_CLASSES ? p->n + 1 : NP_PREDICT_CLASSES);

	p->class = calloc(p->n + 1, sizeof(*p->class));
	p->own = calloc(p->n + 1, sizeof(*p->own));
	p->stride = calloc(p->n + 1, sizeof(*p->stride));
	p->line_ns = calloc(cells, sizeof(*p->line_ns));
	p->cores = calloc(cells, sizeof(*p->cores));
	p->used = calloc(cells, sizeof(*p->used));
	p->overcommit = calloc(p->k, sizeof(*p->overcommit));
	p->node = calloc(p->n + 1, sizeof(*p->node));
	p->on = calloc(p->n + 1, sizeof(*p->on));
	p->parts = calloc(p->n + 1, sizeof(*p->parts));
	p->part_node = calloc(p->n * p->k + 1, sizeof(*p->part_node));
	p->part_share = calloc(p->n * p->k + 1, sizeof(*p->part_share));
	p->speed = calloc(p->n + 1, sizeof(*p->speed));
	p->flow = calloc(NP_MODEL_FLOWS, sizeof(*p->flow));
	p->result = calloc(NP_MODEL_FLOWS, sizeof(*p->result));
	return p->class && p->own && p->stride && p->line_ns && p->cores && p->used &&
			       p->overcommit && p->node && p->on && p->parts && p->part_node &&
			       p->part_share && p->speed && p->flow && p->result ?
		       0 :
		       -ENOMEM;
}

int np_predictor_init(struct np_predictor *p, const struct np_machine *m,
		      const struct np_task *tasks, const struct np_decision *decision, size_t n)
{
	struct np_latencies l;
	int e;

	*p = (struct np_predictor) {
		.m = m,
		.model = m->model,
		.tasks = tasks,
		.n = n,
		.k = m->n_nodes,
	};
	if (!m->model || m->model->n_nodes != m->n_nodes)
		return -EINVAL;
	e = allocate(p);
	if (e) {
		np_predictor_free(p);
		return e;
	}
	l = np_latencies(p->model);
	for (size_t i = 0; i < n; i++) {
		p->own[i] = np_demand_of(m, l, &tasks[i], &decision[i]);
		np_predict_run_on(p, i, tasks[i].node);
		np_predict_pages(p, i, tasks[i].pages);
	}
	np_predict_classes(p);
	np_predict_present(p);
	return 0;
}

void np_predictor_free(struct np_predictor *p)
{
	free(p->class);
	free(p->own);
	free(p->stride);
	free(p->line_ns);
	free(p->cores);
	free(p->used);
	free(p->overcommit);
	free(p->node);
	free(p->on);
	free(p->parts);
	free(p->part_node);
	free(p->part_share);
	free(p->speed);
	free(p->flow);
	free(p->result);
	*p = (struct np_predictor) { 0 };
}

const uint8_t *np_predict_nodes_of(const struct np_machine *m, const struct np_task *t)
{
	for (size_t node = 0; t->on && node < m->n_nodes; node++)
		if (t->on[node] && m->node[node].cpus)
			return t->on;
	return NULL;
}

void np_predict_run_on(struct np_predictor *p, size_t i, int node)
{
	p->node[i] = node;
	p->on[i] = node == NP_NODE_NONE ? np_predict_nodes_of(p->m, &p->tasks[i]) : NULL;
}

void np_predict_run_on_nodes(struct np_predictor *p, size_t i, const uint8_t *in)
{
	p->node[i] = NP_NODE_NONE;
	p->on[i] = in;
}

void np_predict_pages(struct np_predictor *p, size_t i, const uint64_t *pages)
{
	unsigned short *node = p->part_node + i * p->k;
	float *share = p->part_share + i * p->k;
	unsigned short parts = 0;
	double all = 0;

	for (size_t at = 0; at < p->k; at++)
		all += p->model->node[at].dram_bytes_per_s > 0 ? (double)pages[at] : 0;
	for (size_t at = 0; at < p->k; at++) {
		if (!pages[at] || !(p->model->node[at].dram_bytes_per_s > 0))
			continue;
		node[parts] = (unsigned short)at;
		share[parts++] = (float)((double)pages[at] / all);
	}
	p->parts[i] = parts;
}

void np_predict_pages_on(struct np_predictor *p, size_t i, int node)
{
	p->parts[i] = 1;
	p->part_node[i * p->k] = (unsigned short)node;
	p->part_share[i * p->k] = 1;
}

void np_predict_spread(struct np_predictor *p, size_t i, const uint8_t *weight)
{
	unsigned short parts = 0;
	float sum = 0;

	for (size_t at = 0; at < p->k; at++)
		sum += weight[at];
	for (size_t at = 0; at < p->k; at++) {
		if (!weight[at])
			continue;
		p->part_node[i * p->k + parts] = (unsigned short)at;
		p->part_share[i * p->k + parts++] = weight[at] / sum;
	}
	p->parts[i] = parts;
}
