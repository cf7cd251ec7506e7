// SPDX-License-Identifier: GPL-2.0-only
/* NAME=VALUE for every policy's options. */
#include "../../policies/plan/plan.h"
#include "../lib/base/error.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"hysteresis=0.05", "pages=follow", "objective=fairness", "penalty=1.5", "rate=935",
	"move=pages",	   NULL,
};

/* Refused with a reason, or a number that is in its table's range. */
static void set(const struct np_policy *p, const char *text)
{
	struct np_options o;
	char err[NP_ERR_LEN] = "";

	np_options_defaults(p, &o);
	if (np_options_set(p, &o, text, err, sizeof(err)))
		FUZZ_CLAIM(err[0]);
	for (const struct np_option *t = p->option; t && t->name; t++) {
		double value = np_options_get(p, &o, t->name);

		FUZZ_CLAIM(value == t->def || (value >= t->min && value <= t->max) ||
			   t->type != NP_OPT_DOUBLE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	for (size_t i = 0; np_policies[i]; i++)
		set(np_policies[i], text);
	free(text);
	return 0;
}
