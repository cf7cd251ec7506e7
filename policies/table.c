// SPDX-License-Identifier: GPL-2.0-only
/* The table of policies. */
#include "plan/placer.h"

#define POLICY(name) &np_policy_##name,
const struct np_policy *const np_policies[] = {
#include "plan/policies.def"
	NULL,
};

const struct np_policy *np_policy_find(const char *name)
{
	for (size_t i = 0; np_policies[i]; i++)
		if (!strcmp(np_policies[i]->name, name))
			return np_policies[i];
	return NULL;
}
