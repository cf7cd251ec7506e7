// SPDX-License-Identifier: GPL-2.0-only
#include "demand.h"

#include "distances.h"

#define ASSUMED_IPC 1.0 /* where only the MPKI is known */
#define ASSUMED_HZ  2.4e9

struct np_latencies np_latencies(const struct np_model *model)
{
	struct np_latencies l = { INFINITY, INFINITY };

	for (int i = 0; i < (int)model->n_nodes; i++) {
		if (!(model->node[i].core_outstanding > 0))
			continue;
		for (int j = 0; j < (int)model->n_nodes; j++) {
			double ns = np_model_unloaded_ns(model, i, j);

			if (!(ns > 0))
				continue;
			if (i == j)
				l.local = fmin(l.local, ns);
			else
				l.remote = fmin(l.remote, ns);
		}
	}
	if (!isfinite(l.local))
		l.local = isfinite(l.remote) ? l.remote : 1;
	if (!isfinite(l.remote))
		l.remote = l.local;
	return l;
}

static double most_lines(const struct np_model *model)
{
	double most = 1;

	for (size_t i = 0; i < model->n_nodes; i++)
		most = fmax(most, np_model_stream_lines(&model->node[i]));
	return most;
}

double np_latency_idle(const struct np_model *model, const struct np_task *t, double local)
{
	double sum = 0, pages = 0;

	for (int j = 0; t->node != NP_NODE_NONE && j < (int)model->n_nodes; j++) {
		sum += (double)t->pages[j] * np_model_unloaded_ns(model, t->node, j);
		pages += (double)t->pages[j];
	}
	return pages > 0 && sum > 0 ? sum / pages : local;
}

double np_demand_posted(const struct np_demand *d)
{
	return fmin(0.5, d->writes);
}

/* Local latency, and that of nodes as far from each other as t's penalty was measured at. */
static struct np_latencies measured_at(const struct np_machine *m, struct np_latencies l,
				       const struct np_task *t)
{
	double wanted = t->penalty_distance ? np_penalty_distance(m, np_distances(m), t) : 0;
	double nearest = INFINITY, sum = 0, n = 0;

	for (int i = 0; wanted > 0 && i < (int)m->n_nodes; i++) {
		for (int j = 0; j < (int)m->n_nodes; j++) {
			double ns = np_model_unloaded_ns(m->model, i, j);
			double off = fabs(np_distance(m, i, j) - wanted);

			if (i == j || !m->node[i].cpus || !(ns > 0) || off > nearest)
				continue;
			sum = off < nearest ? ns : sum + ns;
			n = off < nearest ? 1 : n + 1;
			nearest = off;
		}
	}
	return n > 0 ? (struct np_latencies) { l.local, sum / n } : l;
}

static double think_by_penalty(struct np_latencies l, double penalty)
{
	if (penalty <= 1 || l.remote <= l.local)
		return INFINITY;
	return fmax(0, (l.remote - l.local) / (penalty - 1) - l.local);
}

/* Bytes a second of all its cores now, and what says so; no source when nothing does. */
static struct np_known traffic_of(const struct np_model *model, const struct np_task *t)
{
	double cycles, ipc;

	if (t->bandwidth.source != NP_PROVENANCE_NONE)
		return t->bandwidth;
	/* IPC depends on memory: none is assumed where a penalty says more. */
	if (t->mpki_source == NP_PROVENANCE_NONE ||
	    (t->ipc.source == NP_PROVENANCE_NONE && t->penalty_source != NP_PROVENANCE_NONE))
		return (struct np_known) { 0 };
	ipc = t->ipc.source == NP_PROVENANCE_NONE ? ASSUMED_IPC : t->ipc.value;
	cycles = t->cycles.source == NP_PROVENANCE_NONE ? t->cores * ASSUMED_HZ : t->cycles.value;
	return (struct np_known) { cycles * ipc * t->mpki / 1000 * model->line_bytes,
				   t->mpki_source };
}

/* Lines that a busy core of an unknown kind keeps in flight. */
static double lines_assumed(const struct np_model *model)
{
	return sqrt(most_lines(model));
}

struct np_demand np_demand_of(const struct np_machine *m, struct np_latencies l,
			      const struct np_task *t, const struct np_decision *d)
{
	const struct np_model *model = m->model;
	bool has_penalty = t->penalty_source != NP_PROVENANCE_NONE;
	bool has_lines = t->outstanding.source != NP_PROVENANCE_NONE;
	struct np_known traffic = traffic_of(model, t);
	double most = most_lines(model);
	struct np_demand q = {
		.most_lines = has_lines ? fmin(most, fmax(1, t->outstanding.value)) : most,
		.writes = t->writes.source == NP_PROVENANCE_NONE ? 0 : fmin(1, t->writes.value),
		.penalty_think_ns = INFINITY,
	};

	q.lines = q.most_lines;
	if (traffic.source != NP_PROVENANCE_NONE) {
		q.source = traffic.source;
		q.bytes_per_s = traffic.value;
		if (has_penalty && !has_lines)
			q.penalty_think_ns = think_by_penalty(measured_at(m, l, t), t->penalty);
		q.think_ns = !(traffic.value > 0)	  ? INFINITY :
			     isfinite(q.penalty_think_ns) ? q.penalty_think_ns :
							    0;
	} else {
		q.source = has_penalty ? t->penalty_source : d->penalty_source;
		q.think_ns = has_penalty ? think_by_penalty(measured_at(m, l, t), t->penalty) :
					   think_by_penalty(l, d->penalty);
		q.lines = has_lines ? q.most_lines : lines_assumed(model);
	}
	return q;
}
