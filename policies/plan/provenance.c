// SPDX-License-Identifier: GPL-2.0-only
/* The names of where numbers come from. */
#include "plan.h"

static const char *const name_of[NP_PROVENANCES] = {
	/* clang-format off */
	[NP_PROVENANCE_NONE] = "unknown",
	[NP_PROVENANCE_COUNTERS] = "counters",
	[NP_PROVENANCE_DECLARED] = "declared",
	[NP_PROVENANCE_MACHINE] = "machine",
	[NP_PROVENANCE_RUNS] = "two-runs",
	[NP_PROVENANCE_FLIP] = "flip",
	[NP_PROVENANCE_FIT] = "fit",
	[NP_PROVENANCE_SAMPLED] = "sampled",
	[NP_PROVENANCE_MODEL] = "model",
	[NP_PROVENANCE_PENALTY] = "penalty",
	[NP_PROVENANCE_KERNEL] = "kernel",
	[NP_PROVENANCE_ASSUMED] = "assumed",
	/* clang-format on */
};

const char *np_provenance_name(enum np_provenance s)
{
	return s < NP_PROVENANCES ? name_of[s] : name_of[NP_PROVENANCE_NONE];
}

bool np_provenance_find(const char *name, enum np_provenance *s)
{
	for (size_t i = 0; i < NP_PROVENANCES; i++)
		if (!strcmp(name_of[i], name)) {
			*s = (enum np_provenance)i;
			return true;
		}
	return false;
}

const char *np_provenance_names(void)
{
	static char names[256];

	if (names[0])
		return names;
	for (size_t i = 0; i < NP_PROVENANCES; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", name_of[i]);
	return names;
}
