// SPDX-License-Identifier: GPL-2.0-only
/* The last fields of NP_POLICY_ABI 4, which stay where they are, with those before them. */
#include "../policy.h"

#define STAYS(structure, field, at) \
	_Static_assert(offsetof(struct structure, field) == (at), \
		       "new fields come at the end of a structure, or NP_POLICY_ABI changes")

STAYS(np_known, source, 8);
STAYS(np_machine, model_origin, 120);
STAYS(np_node, latency_ns, 56);
STAYS(np_task, on, 224);
STAYS(np_decision, nodes, 292);
STAYS(np_plan, fault, 144);
STAYS(np_option, meaning, 56);
STAYS(np_policy, plan_as, 64);
STAYS(np_plugin, sizes, 16);

/* It stands inside others and in arrays that are handed over as they are. */
_Static_assert(sizeof(struct np_known) == 16,
	       "struct np_known stays as it is, or NP_POLICY_ABI changes");
