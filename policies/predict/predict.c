// SPDX-License-Identifier: GPL-2.0-only
/* Iterates between the tasks' demand on each node and the bandwidth that the model grants. */
#include "predict.h"

#define NS_PER_S  1e9
#define ROUNDS	  12   /* of asking and granting, at most */
#define PRECISION 1e-4 /* of a line's time, between two rounds */
#define NO_CLASS  (-1)

static size_t cell(const struct np_predictor *p, size_t from, size_t to, int class)
{
	return (from * p->k + to) * p->n_classes + (size_t)class;
}

/* Bytes that a core on node from keeps in flight. */
static double core_bytes(const struct np_predictor *p, size_t from, const struct np_demand *d)
{
	return fmin(d->lines, np_model_stream_lines(&p->model->node[from])) * p->model->line_bytes /
	       (1 - np_demand_posted(d));
}

static double unloaded_ns(const struct np_predictor *p, size_t from, size_t to, int class)
{
	const struct np_demand *d = &p->demand[class];
	double cap = p->model->node[from].core_bytes_per_s;
	double ns = d->think_ns + np_model_unloaded_ns(p->model, (int)from, (int)to);

	return cap > 0 ? fmax(ns, core_bytes(p, from, d) * NS_PER_S / cap) : ns;
}

static void forget(struct np_predictor *p)
{
	for (size_t from = 0; from < p->k; from++)
		for (size_t to = 0; to < p->k; to++)
			for (int c = 0; c < (int)p->n_classes; c++)
				p->line_ns[cell(p, from, to, c)] = unloaded_ns(p, from, to, c);
}

/* CPUs of node that task i's cores run on; sums them over all nodes for node NP_NODE_NONE. */
static double cpus_of(const struct np_predictor *p, size_t i, int node)
{
	double cpus = 0;

	if (node != NP_NODE_NONE)
		return !p->on[i] || p->on[i][node] ? p->m->node[node].cpus : 0;
	for (size_t at = 0; at < p->k; at++)
		cpus += cpus_of(p, i, (int)at);
	return cpus;
}

static void busy_on_several(struct np_predictor *p, size_t i)
{
	double all = cpus_of(p, i, NP_NODE_NONE);

	for (size_t node = 0; node < p->k; node++)
		p->overcommit[node] += p->tasks[i].cores * cpus_of(p, i, (int)node) / all;
}

static void share_cpus(struct np_predictor *p)
{
	double floating = 0, cpus = 0;

	for (size_t node = 0; node < p->k; node++) {
		p->overcommit[node] = 0;
		cpus += p->m->node[node].cpus;
	}
	for (size_t i = 0; i < p->n; i++) {
		if (p->node[i] == NP_NODE_NONE && !p->on[i])
			floating += p->tasks[i].cores;
		else if (p->node[i] == NP_NODE_NONE)
			busy_on_several(p, i);
		else
			p->overcommit[p->node[i]] += p->tasks[i].cores;
	}
	for (size_t node = 0; node < p->k; node++) {
		double have = p->m->node[node].cpus;
		double busy = p->overcommit[node] + floating * have / cpus;

		/* A node without CPUs to give: a task that runs there has isolated CPUs of its own. */
		p->overcommit[node] = have > 0 && busy > have ? have / busy : 1;
	}
}

/* Time of task i's average line from node from. */
static double average_ns(const struct np_predictor *p, size_t i, size_t from)
{
	const unsigned short *node = p->part_node + i * p->k;
	const float *share = p->part_share + i * p->k;
	double ns = 0;

	for (unsigned int at = 0; at < p->parts[i]; at++)
		ns += share[at] * p->line_ns[cell(p, from, node[at], p->class[i])];
	return ns;
}

static void ask_from(struct np_predictor *p, size_t i, size_t from, double cores)
{
	const unsigned short *node = p->part_node + i * p->k;
	const float *share = p->part_share + i * p->k;
	double all = p->parts[i] > 1 ? average_ns(p, i, from) : 1;

	for (unsigned int at = 0; at < p->parts[i]; at++) {
		size_t c = cell(p, from, node[at], p->class[i]);

		if (p->cores[c] == 0)
			p->used[p->n_used++] = (unsigned int)c;
		p->cores[c] += cores * (p->parts[i] > 1 ? share[at] * p->line_ns[c] / all : 1);
	}
}

/* Calls the task's cores to the nodes that they run on: one, or several by their CPUs. */
static double for_each_node(struct np_predictor *p, size_t i,
			    double (*each)(struct np_predictor *p, size_t i, size_t from,
					   double cores))
{
	double sum = 0, cpus;

	if (p->node[i] != NP_NODE_NONE)
		return each(p, i, (size_t)p->node[i], p->tasks[i].cores);
	cpus = cpus_of(p, i, NP_NODE_NONE);
	for (size_t from = 0; from < p->k; from++)
		if (cpus_of(p, i, (int)from) > 0)
			sum += each(p, i, from,
				    p->tasks[i].cores * cpus_of(p, i, (int)from) / cpus);
	return sum;
}

static double ask(struct np_predictor *p, size_t i, size_t from, double cores)
{
	ask_from(p, i, from, cores * p->overcommit[from]);
	return 0;
}

/* True when some task's time is divided between nodes, so that the answer shifts it. */
static bool ask_all(struct np_predictor *p)
{
	bool mixed = false;

	for (size_t at = 0; at < p->n_used; at++)
		p->cores[p->used[at]] = 0;
	p->n_used = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (p->class[i] == NO_CLASS || !p->parts[i])
			continue;
		mixed |= p->parts[i] > 1;
		for_each_node(p, i, ask)
			;
	}
	return mixed;
}

static struct np_model_flow flow_of(const struct np_predictor *p, unsigned int c)
{
	size_t class = c % p->n_classes, to = c / p->n_classes % p->k;
	size_t from = c / p->n_classes / p->k;
	const struct np_demand *d = &p->demand[class];
	double ns = d->think_ns + np_model_unloaded_ns(p->model, (int)from, (int)to);

	return (struct np_model_flow) {
		.from = (int)from,
		.to = (int)to,
		.cores = p->cores[c],
		.outstanding = d->lines,
		.demand_bytes_per_s = core_bytes(p, from, d) * NS_PER_S / ns,
		.write_fraction = np_demand_posted(d),
		.posted_fraction = np_demand_posted(d),
		.streams = 1,
	};
}

/* Joins what all classes ask of one pair of nodes: the average core of them. */
static void join(struct np_model_flow *sum, const struct np_model_flow *f)
{
	double all = sum->cores + f->cores, part = f->cores / all;

	sum->outstanding += part * (f->outstanding - sum->outstanding);
	sum->demand_bytes_per_s += part * (f->demand_bytes_per_s - sum->demand_bytes_per_s);
	sum->write_fraction += part * (f->write_fraction - sum->write_fraction);
	sum->posted_fraction = sum->write_fraction;
	sum->cores = all;
}

static int by_number(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

/* Flows of the used cells; classes are joined where there are too many. Returns their number. */
static size_t make_flows(struct np_predictor *p, bool *joined)
{
	size_t n = 0;

	*joined = p->n_used > NP_MODEL_FLOWS;
	if (*joined)
		qsort(p->used, p->n_used, sizeof(*p->used), by_number);
	for (size_t at = 0; at < p->n_used; at++) {
		struct np_model_flow f = flow_of(p, p->used[at]);

		if (*joined && n && p->flow[n - 1].from == f.from && p->flow[n - 1].to == f.to)
			join(&p->flow[n - 1], &f);
		else
			p->flow[n++] = f;
	}
	return n;
}

/* Returns by which part a line's time has changed at most. */
static double take_answer(struct np_predictor *p, bool joined)
{
	double change = 0;
	size_t f = 0;

	for (size_t at = 0; at < p->n_used; at++) {
		unsigned int c = p->used[at];
		size_t to = c / p->n_classes % p->k, from = c / p->n_classes / p->k;
		const struct np_demand *d = &p->demand[c % p->n_classes];
		double ns;

		while (joined && (p->flow[f].from != (int)from || p->flow[f].to != (int)to))
			f++;
		if (joined)
			ns = d->think_ns + p->result[f].latency_ns;
		else
			ns = p->cores[c] * core_bytes(p, from, d) * NS_PER_S /
			     p->result[at].bytes_per_s;
		change = fmax(change, fabs(ns / p->line_ns[c] - 1));
		p->line_ns[c] = ns;
	}
	return change;
}

/* Speed of the cores that task i has on node from. */
static double speed_from(struct np_predictor *p, size_t i, size_t from, double cores)
{
	const struct np_demand *d = &p->demand[p->class[i]];
	double part = cores / p->tasks[i].cores * p->overcommit[from];
	double bytes = fmin(d->lines, np_model_stream_lines(&p->model->node[from])) / d->lines;

	return part * bytes * p->alone_ns[p->class[i]] / average_ns(p, i, from);
}

static double free_speed(struct np_predictor *p, size_t i, size_t from, double cores)
{
	return cores / p->tasks[i].cores * p->overcommit[from];
}

static void measure(struct np_predictor *p)
{
	p->throughput = 0;
	p->fairness = p->n ? INFINITY : 1;
	for (size_t i = 0; i < p->n; i++) {
		bool memory = p->class[i] != NO_CLASS && p->parts[i];
		double speed = for_each_node(p, i, memory ? speed_from : free_speed);

		p->speed[i] = (float)speed;
		p->throughput += p->tasks[i].cores * speed;
		p->fairness = fmin(p->fairness, speed);
	}
}

void np_predict(struct np_predictor *p, bool restart)
{
	double change = 1;
	bool mixed = true, joined;

	if (restart)
		forget(p);
	share_cpus(p);
	for (int round = 0; mixed && round < ROUNDS && change > PRECISION; round++) {
		size_t n;

		mixed = ask_all(p);
		n = make_flows(p, &joined);
		if (!n || np_model_solve(p->model, p->flow, n, p->result))
			break;
		change = take_answer(p, joined);
	}
	measure(p);
}

double np_predict_cpu_share(struct np_predictor *p, size_t i)
{
	return for_each_node(p, i, free_speed);
}

double np_predict_traffic(const struct np_predictor *p, size_t i)
{
	const struct np_demand *d;

	if (p->class[i] == NO_CLASS || !p->parts[i])
		return 0;
	d = &p->demand[p->class[i]];
	return p->speed[i] * p->tasks[i].cores * d->lines * p->model->line_bytes * NS_PER_S /
	       (1 - np_demand_posted(d)) / p->alone_ns[p->class[i]];
}
