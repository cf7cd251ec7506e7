/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs and nodes that cpusets and user-set affinity leave each of a set of tasks. */
#ifndef NUMAPLACE_LIB_CPUSET_LIMITS_H
#define NUMAPLACE_LIB_CPUSET_LIMITS_H

#include "../host/tasks.h"
#include "reserved_cpus.h"
#include "task_limits.h"

struct np_cpusets;

/*
 * Reads the cpusets of all tasks and sets their np_task.may and on. One whose cpuset cannot be read
 * (it has exited) has no limits. cpusets: a reader to be used again, or NULL. reserved: further CPUs
 * to leave out (isolated, user-set affinity), or NULL. 0 or -ENOMEM.
 */
int np_task_limits_read(struct np_task_limits *c, const struct np_machine *m, struct np_tasks *t,
			struct np_cpusets *cpusets, struct np_reserved *reserved);

/*
 * Takes out of np_task.may, which has no row for a described task, the nodes that the memory
 * policies chosen for the tasks leave no plan: all but those of a strict bind. 0 or -ENOMEM.
 */
int np_task_limits_keep_memory(struct np_task_limits *c, const struct np_machine *m,
			       struct np_tasks *t);

/* Takes all nodes that are not in the list out of np_task.may. 0 or -ENOMEM. */
int np_task_limits_keep_nodes(struct np_task_limits *c, const struct np_machine *m,
			      struct np_tasks *t, const struct bitmask *nodes);

/*
 * Adds to the reason of a decision which user-set affinity and memory policy of its task are kept,
 * or by override which policy is replaced, and how much stays as it lies in mappings with a memory
 * policy of their own (chosen, bytes); nothing if there is none. A policy that is kept is left.
 */
void np_task_limits_explain(const struct np_task_limits *c, size_t i, const struct np_task *t,
			    uint64_t chosen, bool override, struct np_decision *d);
void np_task_limits_free(struct np_task_limits *c);

#endif
