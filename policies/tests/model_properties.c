// SPDX-License-Identifier: GPL-2.0-only
/* Properties for any machine and any flows: 3,000 of each, always the same ones. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "model_fixture.h"

#define ROUNDS	   3000
#define MOST_FLOWS 48
#define TINY	   1e-9 /* of rounding, in parts */

static uint64_t state;
static int round_number;

#define HOLDS(condition) FIXTURE_HOLDS(condition, round_number, "the model")

static double uniform(double low, double high)
{
	return low + (high - low) * (double)(fixture_random(&state) >> 11) / (double)(1ULL << 53);
}

static int below(int limit)
{
	return (int)uniform(0, limit);
}

static double sometimes(double value)
{
	return below(2) ? value : 0;
}

static struct np_model_node random_node(bool cores, bool memory)
{
	struct np_model_node node = { .cache_latency_ns = uniform(5, 60) };

	if (cores) {
		node.core_outstanding = uniform(1, 20);
		node.core_stream_lines = sometimes(uniform(1, 40));
		node.core_bytes_per_s = sometimes(uniform(1e9, 1e10));
		node.port_bytes_per_s = sometimes(uniform(1e9, 3e10));
		node.port_remote_weight = sometimes(uniform(0.5, 2));
		node.port_variability = sometimes(uniform(0, 3));
	}
	if (memory) {
		node.dram_bytes_per_s = uniform(5e8, 5e10);
		node.dram_latency_ns = uniform(30, 400);
		node.dram_variability = sometimes(uniform(0, 6));
		node.dram_local_share = sometimes(uniform(0.1, 0.9));
		node.local_entries = sometimes(uniform(4, 64));
		node.remote_entries = sometimes(uniform(4, 64));
		node.local_overflow_loss = uniform(0, 2);
		node.remote_overflow_loss = uniform(0, 2);
		node.local_overflow_share = sometimes(uniform(0, 2));
		node.stream_loss = sometimes(uniform(0, 0.05));
		node.write_loss = sometimes(uniform(0, 1));
	}
	return node;
}

/* Every node is joined to an earlier one, and some to more. */
static struct np_model random_machine(void)
{
	struct np_model m = { .line_bytes = 64, .n_nodes = 1 + (size_t)below(5) };
	char err[200];

	for (size_t i = 0; i < m.n_nodes; i++) {
		bool cores = i == 0 || below(5) > 0;

		m.node[i] = random_node(cores, i == 0 || !cores || below(5) > 0);
	}
	for (size_t i = 1; i < m.n_nodes; i++)
		for (size_t j = 0; j < i; j++)
			if (j == 0 || below(2))
				m.link[m.n_links++] = (struct np_model_link) {
					.node = { (int)j, (int)i },
					.bytes_per_s = sometimes(uniform(1e9, 4e10)),
					.latency_ns = uniform(10, 300),
					.header_bytes = sometimes(8),
					.variability = sometimes(uniform(0, 3)),
				};
	CU_ASSERT_EQUAL_FATAL(np_model_prepare(&m, err, sizeof(err)), 0);
	return m;
}

static struct np_model_flow random_flow(const struct np_model *m)
{
	struct np_model_flow flow;

	flow = (struct np_model_flow) {
		.cores = sometimes(uniform(0, 12)),
		.outstanding = sometimes(uniform(1, 20)),
		.demand_bytes_per_s = sometimes(uniform(1e6, 1e10)),
		.write_fraction = sometimes(uniform(0, 1)),
		.streams = below(4),
		.from_cache = below(4) == 0,
	};
	flow.posted_fraction = sometimes(0.8 * flow.write_fraction);
	do
		flow.from = below((int)m->n_nodes);
	while (!(m->node[flow.from].core_outstanding > 0));
	do
		flow.to = below((int)m->n_nodes);
	while (!(flow.from_cache || m->node[flow.to].dram_bytes_per_s > 0));
	return flow;
}

static void check_result(const struct np_model *m, const struct np_model_flow *f,
			 const struct np_model_result *g)
{
	double unloaded = m->link_ns[f->from][f->to] + (f->from_cache ?
								m->node[f->to].cache_latency_ns :
								m->node[f->to].dram_latency_ns);
	double lines = fmin(f->outstanding > 0 ? f->outstanding : HUGE_VAL,
			    np_model_stream_lines(&m->node[f->from]));
	double waited = g->bytes_per_s * (1 - f->posted_fraction);

	HOLDS(isfinite(g->bytes_per_s) && g->bytes_per_s >= 0);
	HOLDS(isfinite(g->latency_ns) && g->latency_ns >= unloaded * (1 - TINY));
	if (f->demand_bytes_per_s > 0)
		HOLDS(g->bytes_per_s <= f->cores * f->demand_bytes_per_s * (1 + TINY));
	if (m->node[f->from].core_bytes_per_s > 0)
		HOLDS(g->bytes_per_s <= f->cores * m->node[f->from].core_bytes_per_s * (1 + TINY));
	/* No more lines are in flight than the cores can hold. */
	HOLDS(waited / 64 * g->latency_ns * 1e-9 <= f->cores * lines * (1 + TINY));
}

static void check_load(const struct np_model *m, const struct np_model_flow *flow, size_t n,
		       const struct np_model_result *result)
{
	struct model_load load;
	double granted[NP_MODEL_NODES] = { 0 };

	model_load_of(m, flow, n, result, &load);
	for (size_t i = 0; i < n; i++)
		if (!flow[i].from_cache)
			granted[flow[i].to] += result[i].bytes_per_s *
					       (1 + m->node[flow[i].to].write_loss *
							    flow[i].write_fraction);
	for (size_t i = 0; i < m->n_nodes; i++) {
		HOLDS(fabs(load.dram_bytes_per_s[i] - granted[i]) <= granted[i] * TINY);
		HOLDS(load.dram_bytes_per_s[i] <= load.dram_capacity[i] * (1 + TINY));
		HOLDS(load.dram_capacity[i] <= m->node[i].dram_bytes_per_s * (1 + TINY));
		if (m->node[i].port_bytes_per_s > 0)
			HOLDS(load.port_bytes_per_s[i] <= m->node[i].port_bytes_per_s * (1 + TINY));
	}
	for (size_t l = 0; l < m->n_links; l++)
		for (int way = 0; m->link[l].bytes_per_s > 0 && way < 2; way++)
			HOLDS(load.link_bytes_per_s[l][way] <= m->link[l].bytes_per_s * (1 + TINY));
}

TEST(random_flows_fit_their_machine)
{
	struct np_model_flow flow[MOST_FLOWS];
	struct np_model_result result[MOST_FLOWS], again[MOST_FLOWS];

	state = 88172645463325252ULL;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		struct np_model m = random_machine();
		size_t n = (size_t)below(MOST_FLOWS + 1);

		for (size_t i = 0; i < n; i++)
			flow[i] = random_flow(&m);
		HOLDS(np_model_solve(&m, flow, n, result) == 0);
		HOLDS(np_model_solve(&m, flow, n, again) == 0);
		HOLDS(memcmp(result, again, n * sizeof(*result)) == 0);
		for (size_t i = 0; i < n; i++)
			check_result(&m, &flow[i], &result[i]);
		check_load(&m, flow, n, result);
	}
}
