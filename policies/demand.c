// SPDX-License-Identifier: GPL-2.0-only
#include "demand.h"

#define NS_PER_S     1e9
#define ASSUMED_IPC  1.0	/* where only the MPKI is known */
#define ASSUMED_GHZ  2.4

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
		most = fmax(most, model->node[i].core_outstanding);
	return most;
}

/* Average latency of its lines where they are now; local when it has no node. */
static double latency_now(const struct np_model *model, const struct np_task *t, double local)
{
	double sum = 0, pages = 0;

	for (int j = 0; t->node != NP_NODE_NONE && j < (int)model->n_nodes; j++) {
		sum += (double)t->pages[j] * np_model_unloaded_ns(model, t->node, j);
		pages += (double)t->pages[j];
	}
	return pages > 0 && sum > 0 ? sum / pages : local;
}

static double think_by_penalty(struct np_latencies l, double penalty)
{
	if (penalty <= 1 || l.remote <= l.local)
		return INFINITY;
	return fmax(0, (l.remote - l.local) / (penalty - 1) - l.local);
}

struct np_demand np_demand_of(const struct np_model *model, struct np_latencies l,
			      const struct np_task *t, const struct np_decision *d)
{
	struct np_demand q = {
		.lines = t->outstanding.source == NP_SOURCE_NONE ?
			 most_lines(model) :
			 fmin(most_lines(model), fmax(1, t->outstanding.value)),
		.writes = t->writes.source == NP_SOURCE_NONE ? 0 : fmin(1, t->writes.value),
	};
	double line_ns;

	if (t->bandwidth.source != NP_SOURCE_NONE) {
		q.source = t->bandwidth.source;
		line_ns = t->cores * q.lines * model->line_bytes * NS_PER_S / t->bandwidth.value;
		q.think_ns = fmax(0, line_ns - latency_now(model, t, l.local));
	} else if (t->penalty_source != NP_SOURCE_NONE) {
		q.source = t->penalty_source;
		q.think_ns = think_by_penalty(l, t->penalty);
	} else if (t->mpki_source != NP_SOURCE_NONE) {
		q.source = t->mpki_source;
		line_ns = q.lines * 1000 / t->mpki / ASSUMED_GHZ /
			  (t->ipc.source == NP_SOURCE_NONE ? ASSUMED_IPC : t->ipc.value);
		q.think_ns = fmax(0, line_ns - latency_now(model, t, l.local));
	} else {
		q.source = d->penalty_source;
		q.think_ns = think_by_penalty(l, d->penalty);
	}
	return q;
}
