// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fixture.h"

static char err[256];

static const struct np_policy *n_mass(struct np_options *o)
{
	const struct np_policy *p = np_policy_find("n-mass");

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	np_options_defaults(p, o);
	return p;
}

TEST(sets_values)
{
	struct np_options o;
	const struct np_policy *p = n_mass(&o);

	CU_ASSERT_DOUBLE_EQUAL(np_options_get(p, &o, "relief"), 0.01, 0);
	CU_ASSERT_EQUAL(np_options_set(p, &o, "relief=0.5", err, sizeof(err)), 0);
	CU_ASSERT_DOUBLE_EQUAL(np_options_get(p, &o, "relief"), 0.5, 0);
	CU_ASSERT_EQUAL(np_options_set(p, &o, "pages=follow", err, sizeof(err)), 0);
	CU_ASSERT_EQUAL(np_options_get(p, &o, "pages"), 0);
	CU_ASSERT_TRUE(isnan(np_options_get(p, &o, "nothing")));
	CU_ASSERT_PTR_NULL(np_policy_find(""));
}

TEST(unknown_name_lists_the_right_ones)
{
	struct np_options o;
	const struct np_policy *p = n_mass(&o);

	CU_ASSERT_EQUAL(np_options_set(p, &o, "releif=1", err, sizeof(err)), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err, "policy n-mass has no option \"releif\": "
				    "use relief, hysteresis, pages, penalty, rate, files");
	CU_ASSERT_EQUAL(np_options_set(np_policy_find("none"), &o, "x=1", err, sizeof(err)),
			-EINVAL);
	CU_ASSERT_STRING_EQUAL(err, "policy none has no option \"x\": it has none at all");
}

TEST(wrong_value_says_the_range)
{
	static const char *const wrong[] = {
		"relief=",   "relief",	   "relief=1x",	 "relief=-1",
		"relief=11", "relief=nan", "relief=inf",
	};
	struct np_options o;
	const struct np_policy *p = n_mass(&o);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		CU_ASSERT_EQUAL(np_options_set(p, &o, wrong[i], err, sizeof(err)), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err, "use a number from 0 to 10 1/MPKI"));
		CU_ASSERT_DOUBLE_EQUAL(np_options_get(p, &o, "relief"), 0.01, 0);
	}
}

TEST(whole_numbers_and_switches)
{
	static const struct np_option table[] = {
		{ .name = "count", .type = NP_OPT_INT, .def = 1, .min = 0, .max = 9, .unit = "" },
		{ .name = "loud", .type = NP_OPT_BOOL, .unit = "" },
		{ 0 },
	};
	static const struct np_policy p = { .name = "own", .option = table };
	struct np_options o;
	char text[32];

	np_options_defaults(&p, &o);
	CU_ASSERT_EQUAL(np_options_set(&p, &o, "count=3", err, sizeof(err)), 0);
	CU_ASSERT_EQUAL(np_options_set(&p, &o, "count=3.5", err, sizeof(err)), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err, "option count of policy own cannot be \"3.5\": "
				    "use a whole number from 0 to 9");
	CU_ASSERT_EQUAL(np_options_set(&p, &o, "loud=yes", err, sizeof(err)), 0);
	CU_ASSERT_EQUAL(np_options_set(&p, &o, "loud=maybe", err, sizeof(err)), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err, "option loud of policy own cannot be \"maybe\": use on or off");
	CU_ASSERT_STRING_EQUAL(np_option_text(&table[0], o.value[0], text, sizeof(text)), "3");
	CU_ASSERT_STRING_EQUAL(np_option_text(&table[1], o.value[1], text, sizeof(text)), "on");
}

TEST(short_error_buffer_is_not_overrun)
{
	struct np_options o;
	char small[8] = "1234567";

	CU_ASSERT_EQUAL(np_options_set(n_mass(&o), &o, "releif=1", small, 5), -EINVAL);
	CU_ASSERT_STRING_EQUAL(small, "poli");
	CU_ASSERT_EQUAL(small[5], '6');
}

TEST(every_default_is_in_its_range)
{
	for (size_t k = 0; np_policies[k]; k++) {
		const struct np_policy *p = np_policies[k];

		CU_ASSERT_TRUE(np_options_count(p) <= NP_OPTIONS_MAX);
		for (size_t i = 0; i < np_options_count(p); i++) {
			const struct np_option *option = &p->option[i];
			char value[64], text[128];
			struct np_options o = { { 0 } };

			np_option_text(option, option->def, value, sizeof(value));
			snprintf(text, sizeof(text), "%s=%s", option->name, value);
			CU_ASSERT_EQUAL(np_options_set(p, &o, text, err, sizeof(err)), 0);
			CU_ASSERT_DOUBLE_EQUAL(o.value[i], option->def, 1e-9);
			CU_ASSERT_TRUE(option->meaning && *option->meaning);
		}
	}
}
