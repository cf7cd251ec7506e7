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

#include "plan/bandwidth.h"
#include "plan/placer.h"

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "proximity", .type = NP_OPT_DOUBLE, .def = 0, .min = 0, .max = 1, .unit = "",
	  .meaning = "share of the pages meant for other nodes that goes to the task's own "
		     "instead; 0: by bandwidth alone, 1: all local" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

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
		np_bandwidth_table(m, table);
	for (size_t i = 0; !e && i < n; i++) {
		struct np_decision *d = &out->decision[i];

		if (!np_bandwidth_weights(m, &tasks[i], table, tasks[i].node, proximity, weight)) {
			np_reason(d, "left alone: %s",
				  tasks[i].node != NP_NODE_NONE && !m->node[tasks[i].node].cpus ?
					  "all CPUs of its node are isolated" :
					  "no node may hold its pages");
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
