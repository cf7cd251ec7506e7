// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of a machine of which nothing but its nodes and its distances are known, and
 * what firmware says of their memory (HMAT). Latencies follow the distances; every
 * other number is assumed.
 */
#include <errno.h>

#include "derive_model.h"

#define LATENCY_NS	 90.0 /* of local memory, as common two-socket servers have it */
#define OUTSTANDING	 10.0 /* lines that a core keeps in flight, as Intel's fill buffers */
#define CORE_BYTES_PER_S 5e9  /* of a controller for each core of its node: 320 GB/s for 64 */
#define FEWEST_CORES	 4    /* that a controller is made for */
#define LINK_SHARE	 0.5  /* of a controller's bandwidth, each way */
#define HEADER_BYTES	 8.0
#define VARIABILITY	 0.1
#define LINE_BYTES	 64.0

static double latency_of(const struct np_node *node)
{
	return node->latency_ns > 0 ? node->latency_ns : LATENCY_NS;
}

static void derive_node(struct np_model_node *n, const struct np_node *node)
{
	unsigned int cores = node->cpus > FEWEST_CORES ? node->cpus : FEWEST_CORES;
	double bandwidth = node->bandwidth > 0 ? node->bandwidth : CORE_BYTES_PER_S * cores;

	*n = (struct np_model_node) {
		/* A node with neither is allowed here, not in a model: nothing will run there. */
		.core_outstanding = node->cpus || !node->has_memory ? OUTSTANDING : 0,
		.port_remote_weight = 1,
		.dram_bytes_per_s = node->has_memory ? bandwidth : 0,
		.dram_latency_ns = node->has_memory ? latency_of(node) : 0,
		.dram_variability = VARIABILITY,
	};
}

/* One link between every two nodes, if the model has room for that many. */
static void derive_links(struct np_model *out, const struct np_machine *m)
{
	if (m->n_nodes * (m->n_nodes - 1) / 2 > NP_MODEL_LINKS)
		return;
	for (int a = 0; a < (int)m->n_nodes; a++) {
		for (int b = a + 1; b < (int)m->n_nodes; b++) {
			double most = fmax(out->node[a].dram_bytes_per_s,
					   out->node[b].dram_bytes_per_s);

			out->link[out->n_links++] = (struct np_model_link) {
				.node = { a, b },
				.bytes_per_s = LINK_SHARE * most,
				.header_bytes = HEADER_BYTES,
				.variability = VARIABILITY,
			};
		}
	}
}

/*
 * The distance at which node's latency holds: its own, unless firmware says what CPUs elsewhere
 * see.
 */
static double base_distance(const struct np_machine *m, int node)
{
	double nearest = INFINITY;

	for (int a = 0; a < (int)m->n_nodes; a++)
		if (m->node[a].cpus)
			nearest = fmin(nearest, np_distance(m, a, node));
	return m->node[node].latency_ns > 0 && isfinite(nearest) ? nearest :
								   np_distance(m, node, node);
}

/* Distances may differ in the two directions, which a link's latency cannot. */
static void derive_latencies(struct np_model *out, const struct np_machine *m)
{
	for (int a = 0; a < (int)m->n_nodes; a++) {
		for (int b = 0; b < (int)m->n_nodes; b++) {
			double ratio = np_distance(m, a, b) / base_distance(m, b);

			out->link_ns[a][b] = a == b ? 0 :
						      latency_of(&m->node[b]) * fmax(0, ratio - 1);
		}
	}
}

int np_model_derive(struct np_model *out, const struct np_machine *m, char *err, size_t err_len)
{
	int e;

	memset(out, 0, sizeof(*out));
	if (!m->n_nodes || m->n_nodes > NP_MODEL_NODES) {
		snprintf(err, err_len, "machine %s has %zu nodes, the contention model at most %d",
			 m->name, m->n_nodes, NP_MODEL_NODES);
		return -EINVAL;
	}
	snprintf(out->name, sizeof(out->name), "%s", m->name);
	out->line_bytes = LINE_BYTES;
	out->n_nodes = m->n_nodes;
	for (size_t i = 0; i < m->n_nodes; i++)
		derive_node(&out->node[i], &m->node[i]);
	derive_links(out, m);
	e = out->n_links ? np_model_prepare(out, err, err_len) : 0;
	if (!e)
		derive_latencies(out, m);
	return e;
}
