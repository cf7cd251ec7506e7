// SPDX-License-Identifier: GPL-2.0-only
/*
 * interleave: a control. The pages of every task are spread evenly over the
 * nodes, as `numactl --interleave=all` would have laid them from the start: no
 * controller is crowded, and on k nodes only 1/k of the accesses are local.
 */
#include <errno.h>

#include "plan/placer.h"

static const char *const over_words[] = { "all", "cpus", NULL };

enum { OVER_ALL, OVER_CPUS };

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "over", .type = NP_OPT_ENUM, .def = OVER_ALL, .words = over_words, .unit = "",
	  .meaning = "all: every node with memory that the task may use; cpus: only those that "
		     "have CPUs as well" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

static size_t weigh(const struct np_machine *m, const struct np_task *t, bool cpus, uint8_t *weight)
{
	size_t n = 0;

	for (int node = 0; node < (int)m->n_nodes; node++) {
		weight[node] = np_may_hold(m, t, node) && (!cpus || m->node[node].cpus);
		n += weight[node];
	}
	return n;
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	bool cpus = np_options_get(&np_policy_interleave, o, "over") == OVER_CPUS;
	uint8_t *weight = malloc(m->n_nodes);
	int e = weight ? 0 : -ENOMEM;

	for (size_t i = 0; !e && i < n; i++) {
		struct np_decision *d = &out->decision[i];
		size_t nodes = weigh(m, &tasks[i], cpus, weight);

		if (nodes < 2) {
			np_reason(d, "left alone: fewer than two nodes may hold its pages");
			continue;
		}
		d->spread = np_plan_spread(out, m->n_nodes, weight);
		e = d->spread == NP_NODE_NONE ? -ENOMEM : 0;
		np_reason(d, "pages spread evenly over %zu nodes", nodes);
	}
	free(weight);
	return e;
}

const struct np_policy np_policy_interleave = {
	.name = "interleave",
	.summary = "the pages of every task are spread evenly over the nodes",
	.origin = "control: numactl --interleave",
	.needs = "nothing",
	.option = options,
	.plan = plan,
};
