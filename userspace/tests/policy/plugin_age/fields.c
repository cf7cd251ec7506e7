// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy that says what it sees in the second and later elements of each table, last fields
 * included.
 */
#include "policy.h"

static const char *const words[] = { "seldom", "often", NULL };

/* clang-format off */
static const struct np_option options[] = {
	{ .name = "threshold", .type = NP_OPT_INT, .def = 7, .min = 0, .max = 9, .unit = "",
	  .meaning = "a number" },
	{ .name = "how", .type = NP_OPT_ENUM, .def = 1, .words = words, .unit = "", .meaning = "a word" },
	{ 0 },
};
/* clang-format on */

static const struct np_policy fields;

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	uint8_t weight[m->n_nodes];

	memset(weight, 1, m->n_nodes);
	for (size_t i = 0; i < n; i++) {
		struct np_decision *d = &out->decision[i];

		if (i == 1)
			d->spread = np_plan_spread(out, m->n_nodes, weight);
		else
			d->to = (int)i;
		np_reason(d, "saw pid %d, %d pages, may %d, node %d of %g GB/s, %g", tasks[i].pid,
			  (int)tasks[i].pages[i], tasks[i].may[i], m->node[i].id,
			  m->node[i].bandwidth / 1e9, np_options_get(&fields, o, "threshold"));
	}
	return 0;
}

static const struct np_policy fields = {
	.name = "fields",
	.summary = "says what it sees",
	.origin = "test",
	.needs = "nothing",
	.option = options,
	.plan = plan,
};

NP_POLICY_PLUGIN(fields);
