/* SPDX-License-Identifier: GPL-2.0-only */
/* Decisions kept within what cpusets allow. */
#ifndef NUMAPLACE_CPUSET_LIMITS_H
#define NUMAPLACE_CPUSET_LIMITS_H

#include "../policy.h"

/*
 * Takes nodes that a task may not use (np_task.may) out of its decision and
 * says so in its reason. 0 or -ENOMEM.
 */
int np_plan_cpuset_limits(const struct np_machine *m, const struct np_task *tasks,
			  struct np_plan *plan);

#endif
