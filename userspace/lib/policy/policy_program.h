/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies that are programs: a question on standard input, a plan on standard output.
 * Documentation/reference/policy-programs.md */
#ifndef NUMAPLACE_LIB_POLICY_PROGRAM_H
#define NUMAPLACE_LIB_POLICY_PROGRAM_H

#include <signal.h>

#include "../../../policies/plan/plan.h"
#include "../base/error.h"

#define NP_QUESTION_VERSION 1

/*
 * The program at path as a policy called name, which stays. It is asked once, without a task, what
 * it says about itself. NULL with one line in err: it cannot be started, or the answer is wrong.
 */
const struct np_policy *np_program_load(const char *name, const char *path, struct np_err *err);

/* As in policy_name.h, which is public. */
#define NP_POLICY_TIMEOUT 5
void np_policy_timeout(double seconds);
void np_policy_stop(const volatile sig_atomic_t *stop);

#endif
