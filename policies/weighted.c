// SPDX-License-Identifier: GPL-2.0-only
/*
 * weighted: pages are spread by the bandwidth that the task's node gets from each
 * node, after the idea of BWAP: bandwidth-weighted interleaving, shifted towards
 * the nodes that the task runs on.
 *
 * Certain: weights come from a bandwidth model of the machine, and a proximity
 * shifts pages to the task's own node. Reconstructed: a node's weight is what
 * the contention model grants to all of the task's CPUs when they stream from that
 * node alone. Left out: BWAP tunes the proximity on line, by the stalls that it
 * sees; here it is an option.
 */
#include <errno.h>

#include "model/model.h"
#include "plan/placer.h"

#define FULL_WEIGHT 100 /* of the node with the most bandwidth; the kernel takes 1 to 255 */

static const struct np_option options[] = {
	{
		.name = "proximity",
		.type = NP_OPT_DOUBLE,
		.def = 0,
		.min = 0,
		.max = 1,
		.unit = "",
		.meaning = "share of the pages meant for other nodes that goes to the task's own "
			   "instead; 0: by bandwidth alone, 1: all local",
	},
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	{ 0 },
};

/* Bandwidth of all CPUs of node from to the memory of node to; by distance without a model. */
static double bandwidth(const struct np_machine *m, int from, int to)
{
	struct np_model_flow f = { .from = from, .to = to, .streams = 1 };
	struct np_model_result result;

	if (!m->node[from].cpus || !m->node[to].has_memory)
		return 0;
	if (!m->model)
		return 1.0 / np_distance(m, from, to);
	f.cores = m->node[from].cpus;
	return np_model_solve(m->model, &f, 1, &result) ? 0 : result.bytes_per_s;
}

/* table [k * k] of bandwidths. */
static void fill_table(const struct np_machine *m, double *table)
{
	size_t k = m->n_nodes;

	for (size_t from = 0; from < k; from++)
		for (size_t to = 0; to < k; to++)
			table[from * k + to] = bandwidth(m, (int)from, (int)to);
}

/* A task on several nodes sees the average of them. */
static double seen(const struct np_machine *m, const double *table, int node, size_t to)
{
	double sum = 0, cpus = 0;

	if (node != NP_NODE_NONE)
		return table[(size_t)node * m->n_nodes + to];
	for (size_t from = 0; from < m->n_nodes; from++) {
		sum += m->node[from].cpus * table[from * m->n_nodes + to];
		cpus += m->node[from].cpus;
	}
	return sum / cpus;
}

static size_t weigh(const struct np_machine *m, const struct np_task *t, const double *table,
		    double proximity, uint8_t *weight)
{
	double share[m->n_nodes], all = 0, most = 0;
	size_t n = 0;

	for (int to = 0; to < (int)m->n_nodes; to++) {
		share[to] = np_may_hold(m, t, to) ? seen(m, table, t->node, (size_t)to) : 0;
		all += share[to];
	}
	for (int to = 0; to < (int)m->n_nodes && all > 0; to++) {
		share[to] /= all;
		if (t->node != NP_NODE_NONE && np_may_hold(m, t, t->node))
			share[to] = (1 - proximity) * share[to] + (to == t->node ? proximity : 0);
		most = fmax(most, share[to]);
	}
	for (size_t to = 0; to < m->n_nodes; to++) {
		weight[to] = most > 0 ? (uint8_t)(share[to] / most * FULL_WEIGHT + 0.5) : 0;
		n += weight[to] > 0;
	}
	return n;
}

static void say_weights(struct np_decision *d, const struct np_machine *m, const uint8_t *weight)
{
	np_reason(d, "pages spread by bandwidth%s:", m->model ? "" : " guessed from distances");
	for (size_t node = 0; node < m->n_nodes && strlen(d->reason) < NP_REASON_LEN - 40; node++)
		if (weight[node])
			np_reason_more(d, " %d:%u", m->node[node].id, weight[node]);
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	double proximity = np_options_get(&np_policy_weighted, o, "proximity");
	double *table = calloc(m->n_nodes * m->n_nodes, sizeof(*table));
	uint8_t *weight = malloc(m->n_nodes);
	int e = table && weight ? 0 : -ENOMEM;

	if (!e)
		fill_table(m, table);
	for (size_t i = 0; !e && i < n; i++) {
		struct np_decision *d = &out->decision[i];

		if (!weigh(m, &tasks[i], table, proximity, weight)) {
			np_reason(d, "left alone: no node may hold its pages");
			continue;
		}
		d->spread = np_plan_spread(out, m->n_nodes, weight);
		e = d->spread == NP_NODE_NONE ? -ENOMEM : 0;
		say_weights(d, m, weight);
	}
	free(table);
	free(weight);
	return e;
}

const struct np_policy np_policy_weighted = {
	.name = "weighted",
	.summary =
		"the pages of every task are spread by the bandwidth its node gets from each node",
	.origin = "the idea of BWAP, reconstructed",
	.needs = "contention model, else distances",
	.option = options,
	.plan = plan,
};
