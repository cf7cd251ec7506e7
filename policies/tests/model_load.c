// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "../model/queues.h"
#include "model_fixture.h"

static void add(struct model_load *load, unsigned int queue, double bytes_per_s)
{
	if (queue >= PORT(0))
		load->port_bytes_per_s[queue - PORT(0)] += bytes_per_s;
	else if (queue >= LINK(0, 0, 0))
		load->link_bytes_per_s[(queue - LINK(0, 0, 0)) / 4]
				      [(queue - LINK(0, 0, 0)) / 2 % 2] += bytes_per_s;
	else
		load->dram_bytes_per_s[queue / 2] += bytes_per_s;
}

void model_load_of(const struct np_model *m, const struct np_model_flow *flow, size_t n,
		   const struct np_model_result *result, struct model_load *load)
{
	struct queues s;

	memset(load, 0, sizeof(*load));
	for (size_t i = 0; i < n; i++)
		np_queues_customer(&s.customer[i], m, &flow[i]);
	np_queues_build(&s, m, flow, n);
	for (size_t node = 0; node < m->n_nodes; node++)
		load->dram_capacity[node] = s.queue[DRAM(node, LOCAL)].whole * NS_PER_S;
	for (size_t i = 0; i < n; i++) {
		const struct customer *c = &s.customer[i];

		for (unsigned int v = 0; v < c->n_visits; v++)
			add(load, c->queue[v], c->weight[v] * result[i].bytes_per_s);
	}
}
