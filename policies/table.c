// SPDX-License-Identifier: GPL-2.0-only
/* The table of policies. */
#include "plan/placer.h"

const struct np_policy *const np_policies[] = {
	&np_policy_none,
	&np_policy_maximum_local,
	&np_policy_n_mass,
	&np_policy_measured,
	&np_policy_remote,
	&np_policy_interleave,
	&np_policy_weighted,
	&np_policy_carrefour,
	&np_policy_asymsched,
	&np_policy_numad,
	NULL,
};

const struct np_policy *np_policy_find(const char *name)
{
	for (size_t i = 0; np_policies[i]; i++)
		if (!strcmp(np_policies[i]->name, name))
			return np_policies[i];
	return NULL;
}
