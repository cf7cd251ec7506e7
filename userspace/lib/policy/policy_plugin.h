/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies in shared objects of their own. */
#ifndef NUMAPLACE_LIB_POLICY_PLUGIN_H
#define NUMAPLACE_LIB_POLICY_PLUGIN_H

#include "../../../policies/plan/plan.h"
#include "../base/error.h"

/*
 * The policy of the shared object at path, which stays loaded. NULL with one line in err: no such
 * file, not a policy, made for another policy.h, or its table of options makes no sense.
 */
const struct np_policy *np_plugin_load(const char *path, struct np_err *err);

/* Whether a policy that is not built in has what a policy has. 0, or -EINVAL with one line in err. */
int np_policy_check(const char *path, const struct np_policy *p, struct np_err *err);

#endif
