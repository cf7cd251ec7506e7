// SPDX-License-Identifier: GPL-2.0-only
/*
 * maximum-local (Majo and Gross, "Memory management in NUMA multicore systems:
 * trapped between cache contention and interconnect overhead", ISMM 2011):
 * tasks in descending NUMA penalty take a free core on their home node, else
 * on the nearest node. Of the paper only the abstract could be read: that locality
 * is maximised; the order by penalty is a reconstruction.
 *
 * The paper's machine has two nodes. With more, a task that overflows could occupy the last
 * core of a node that is home to a task of lower penalty; so every task that
 * fits at home is placed before any overflows. On two nodes that is the same.
 * A task that keeps more CPUs busy than a node has gets the fewest nodes that have so many.
 * A scheduler leaves the pages where they are: pages=stay. By default they follow.
 */
#include "plan/local.h"

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "pages", .type = NP_OPT_ENUM, .def = NP_PAGES_FOLLOW, .words = np_pages_words,
	  .unit = "",
	  .meaning = "follow: pages that are on another node than their task move to it; stay: no "
		     "page moves" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	struct np_placer p;
	int err = np_placer_init(&p, m, tasks, n, out);

	if (err)
		return err;
	np_place_maximum_local(&p);
	if (np_options_get(&np_policy_maximum_local, o, "pages") == NP_PAGES_FOLLOW)
		err = np_pages_follow(&p);
	np_placer_free(&p);
	return err;
}

const struct np_policy np_policy_maximum_local = {
	.name = "maximum-local",
	.summary = "tasks of high NUMA penalty first choose a core on the node of their pages",
	.origin = "Majo and Gross, ISMM 2011",
	.needs = "penalty",
	.option = options,
	.plan = plan,
};
