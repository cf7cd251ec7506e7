/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies by name, and those in shared objects of their own. */
#ifndef NUMAPLACE_LIB_PLUGIN_H
#define NUMAPLACE_LIB_PLUGIN_H

#include "../../policies/plan.h"
#include "error.h"

/*
 * The built-in policy of that name; or, where the name has a slash or ends in
 * .so, the policy of that shared object, which stays loaded. NULL with one line
 * in err: no such policy or file, not a policy, made for another policy.h, or
 * its table of options makes no sense.
 */
const struct np_policy *np_policy_named(const char *name, char *err, size_t err_len);

#endif
