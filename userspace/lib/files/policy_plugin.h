/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies by name, and those in shared objects of their own. */
/* Public: `make install` installs it (Documentation/library.md). */
#ifndef NUMAPLACE_LIB_POLICY_PLUGIN_H
#define NUMAPLACE_LIB_POLICY_PLUGIN_H

#include "../../../policies/plan/plan.h"
#include "../base/error.h"

/*
 * The built-in policy of that name; or, where the name has a slash or ends in
 * .so, the policy of that shared object, which stays loaded. NULL with one line
 * in err: no such policy or file, not a policy, made for another policy.h, or
 * its table of options makes no sense.
 */
const struct np_policy *np_policy_named(const char *name, char *err, size_t err_len);

/*
 * The policy of "NAME[:OPTION=VALUE[,OPTION=VALUE..]]" with its options in o, the others at their
 * defaults. NULL with one line in err.
 */
const struct np_policy *np_policy_asked(const char *words, struct np_options *o, char *err,
					size_t err_len);

/* The policy with those options that are not the default, as np_policy_asked() takes it. Returns text. */
const char *np_policy_words(const struct np_policy *p, const struct np_options *o, char *text,
			    size_t text_len);

#endif
