// SPDX-License-Identifier: GPL-2.0-only
/* The names of where numbers come from. */
#include "plan.h"

static const char *const source_name[NP_SOURCES] = {
	[NP_SOURCE_NONE] = "unknown",
	[NP_SOURCE_COUNTERS] = "counters",
	[NP_SOURCE_DECLARED] = "declared",
	[NP_SOURCE_MACHINE] = "machine",
	[NP_SOURCE_RUNS] = "two-runs",
	[NP_SOURCE_FLIP] = "flip",
	[NP_SOURCE_FIT] = "fit",
	[NP_SOURCE_RESCTRL] = "resctrl",
	[NP_SOURCE_SAMPLED] = "sampled",
	[NP_SOURCE_MODEL] = "model",
	[NP_SOURCE_PENALTY] = "penalty",
	[NP_SOURCE_KERNEL] = "kernel",
	[NP_SOURCE_ASSUMED] = "assumed",
};

const char *np_source_name(enum np_source s)
{
	return s < NP_SOURCES ? source_name[s] : source_name[NP_SOURCE_NONE];
}

bool np_source_find(const char *name, enum np_source *s)
{
	for (size_t i = 0; i < NP_SOURCES; i++)
		if (!strcmp(source_name[i], name)) {
			*s = (enum np_source)i;
			return true;
		}
	return false;
}

const char *np_source_names(void)
{
	static char names[256];

	if (names[0])
		return names;
	for (size_t i = 0; i < NP_SOURCES; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", source_name[i]);
	return names;
}
