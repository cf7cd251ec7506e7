/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies by name: those built in, and those in files of their own. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_POLICY_NAME_H
#define NUMAPLACE_LIB_POLICY_NAME_H

#include <signal.h>

#include "../../../policies/plan/plan.h"
#include "../base/error.h"

#define NP_POLICY_TIMEOUT 5

/*
 * The built-in policy of that name; or, of "exec:PATH", the program at PATH; or, where the name
 * has a slash or ends in .so, the policy of that shared object. The last two stay loaded. NULL with
 * one line in err: no such policy or file, or what is wrong with it.
 */
const struct np_policy *np_policy_named(const char *name, struct np_err *err);

/*
 * The policy of "NAME[:OPTION=VALUE[,OPTION=VALUE..]]" with its options in o, the others at their
 * defaults. NULL with one line in err.
 */
const struct np_policy *np_policy_asked(const char *words, struct np_options *o,
					struct np_err *err);

/*
 * The policy with those options that are not the default, as np_policy_asked() takes it. Returns
 * text.
 */
const char *np_policy_words(const struct np_policy *p, const struct np_options *o, char *text,
			    size_t text_len);

/* From here on: seconds that programs that are policies may take, NP_POLICY_TIMEOUT else. */
void np_policy_timeout(double seconds);

/* From here on: no program is waited for any longer once *stop is set. */
void np_policy_stop(const volatile sig_atomic_t *stop);

#endif
