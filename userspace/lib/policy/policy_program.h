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

#define NP_PROGRAM_TIMEOUT 5 /* seconds */

/* From here on: how long a program may take, NP_PROGRAM_TIMEOUT else. */
void np_program_timeout(double seconds);

/* From here on: no program is waited for any longer once *stop is set. */
void np_program_stop(const volatile sig_atomic_t *stop);

#endif
