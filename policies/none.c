// SPDX-License-Identifier: GPL-2.0-only
/* none: the control. Every task and every page stays where the kernel put it. */
#include "plan/placer.h"

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	for (size_t i = 0; i < n; i++)
		np_reason(&out->decision[i], "left to the kernel");
	return 0;
}

const struct np_policy np_policy_none = {
	.name = "none",
	.summary = "leaves every task and every page to the kernel",
	.origin = "control",
	.needs = "nothing",
	.plan = plan,
};
