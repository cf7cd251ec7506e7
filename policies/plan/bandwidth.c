// SPDX-License-Identifier: GPL-2.0-only
#include "bandwidth.h"

#include "../model/model.h"

#define FULL_WEIGHT 100 /* of the node with the most bandwidth; the kernel takes 1 to 255 */

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

void np_bandwidth_table(const struct np_machine *m, double *table)
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

static bool may_hold(const struct np_machine *m, const struct np_task *t, int node)
{
	return t ? np_may_hold(m, t, node) : m->node[node].has_memory;
}

size_t np_bandwidth_weights(const struct np_machine *m, const struct np_task *t,
			    const double *table, int node, double proximity, uint8_t *weight)
{
	double share[m->n_nodes], all = 0, most = 0;
	size_t n = 0;

	for (int to = 0; to < (int)m->n_nodes; to++) {
		share[to] = may_hold(m, t, to) ? seen(m, table, node, (size_t)to) : 0;
		all += share[to];
	}
	for (int to = 0; to < (int)m->n_nodes && all > 0; to++) {
		share[to] /= all;
		if (node != NP_NODE_NONE && may_hold(m, t, node))
			share[to] = (1 - proximity) * share[to] + (to == node ? proximity : 0);
		most = fmax(most, share[to]);
	}
	for (size_t to = 0; to < m->n_nodes; to++) {
		weight[to] = most > 0 ? (uint8_t)(share[to] / most * FULL_WEIGHT + 0.5) : 0;
		n += weight[to] > 0;
	}
	return n;
}
