/* SPDX-License-Identifier: GPL-2.0-only */
/* What cpusets, and who chose CPUs for it, leave each of a set of tasks. */
#ifndef NUMAPLACE_LIB_CPUSET_LIMITS_H
#define NUMAPLACE_LIB_CPUSET_LIMITS_H

#include "../host/tasks.h"
#include "reserved_cpus.h"
#include "task_limits.h"

struct np_cpusets;

/*
 * Reads the cpusets of all tasks and sets their np_task.may and on. One whose cpuset
 * cannot be read (it has exited) is not confined. cpusets: a reader to be used
 * again, or NULL. pins: what else is to be kept, or NULL. 0 or -ENOMEM.
 */
int np_confined_read(struct np_confined *c, const struct np_machine *m, struct np_tasks *t,
		     struct np_cpusets *cpusets, struct np_pins *pins);

/* Says in the reason of a decision what was chosen for its task and is kept; nothing if nothing was. */
void np_confined_explain(const struct np_confined *c, size_t i, struct np_decision *d);
void np_confined_free(struct np_confined *c);

#endif
