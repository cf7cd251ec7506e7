// SPDX-License-Identifier: GPL-2.0-only
/* Sorts tasks into classes of alike, and sets the placement to predict. */
#include <errno.h>

#include "predict.h"

#define FINEST 8.0 /* steps an octave in which two tasks count as alike */

/* Common properties of the tasks of a class, as whole steps. */
struct kind {
	int time, lines, writes;
};

static struct kind kind_of(const struct np_demand *d, double local, double steps)
{
	return (struct kind) {
		(int)floor(log2(d->think_ns + local) * steps + 0.5),
		(int)floor(log2(d->lines) * steps + 0.5),
		(int)floor(d->writes * steps + 0.5),
	};
}

static bool same_kind(struct kind a, struct kind b)
{
	return a.time == b.time && a.lines == b.lines && a.writes == b.writes;
}

static void average_in(struct np_demand *sum, const struct np_demand *d, size_t n)
{
	sum->think_ns += (d->think_ns - sum->think_ns) / (double)n;
	sum->lines += (d->lines - sum->lines) / (double)n;
	sum->writes += (d->writes - sum->writes) / (double)n;
}

/* Sorts with this many steps an octave; false when there are too many kinds. 0: all are one. */
static bool sort(struct np_predictor *p, double local, double steps)
{
	struct kind kind[NP_PREDICT_CLASSES];
	size_t members[NP_PREDICT_CLASSES] = { 0 };

	p->n_classes = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct np_demand *d = &p->own[i];
		struct kind mine;
		size_t c = 0;

		p->class[i] = -1;
		if (!isfinite(d->think_ns))
			continue;
		mine = kind_of(d, local, steps);
		while (c < p->n_classes && !same_kind(kind[c], mine))
			c++;
		if (c == NP_PREDICT_CLASSES)
			return false;
		if (c == p->n_classes) {
			kind[p->n_classes++] = mine;
			p->demand[c] = (struct np_demand) { 0 };
		}
		average_in(&p->demand[c], d, ++members[c]);
		p->class[i] = (signed char)c;
	}
	return true;
}

/* Few tasks are each a class of their own, so that nothing is averaged. */
static void one_each(struct np_predictor *p)
{
	p->n_classes = 0;
	for (size_t i = 0; i < p->n; i++) {
		bool memory = isfinite(p->own[i].think_ns);

		p->class[i] = memory ? (signed char)p->n_classes : -1;
		if (memory)
			p->demand[p->n_classes++] = p->own[i];
	}
}

/* A core may have a rate of its own that it cannot exceed. */
static void respect_core_rate(struct np_predictor *p)
{
	double cap = INFINITY;

	for (size_t i = 0; i < p->k; i++)
		if (p->model->node[i].core_bytes_per_s > 0)
			cap = fmin(cap, p->model->node[i].core_bytes_per_s);
	for (size_t c = 0; c < p->n_classes && isfinite(cap); c++)
		p->alone_ns[c] = fmax(p->alone_ns[c],
				      p->demand[c].lines * p->model->line_bytes /
					      (1 - np_demand_posted(&p->demand[c])) * 1e9 / cap);
}

void np_predict_classes(struct np_predictor *p)
{
	double local = np_latencies(p->model).local, steps = FINEST;

	if (p->n <= NP_PREDICT_CLASSES) {
		one_each(p);
	} else {
		while (!sort(p, local, steps))
			steps = steps > 0.1 ? steps / 2 : 0;
	}
	for (size_t c = 0; c < p->n_classes; c++)
		p->alone_ns[c] = p->demand[c].think_ns + local;
	if (!p->n_classes)
		p->n_classes = 1;
	respect_core_rate(p);
}

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
