/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that plans leave alone: user-set affinity of tasks, and isolated CPUs
 * (isolcpus, nohz_full, isolated cpuset partitions).
 */
#ifndef NUMAPLACE_LIB_RESERVED_CPUS_H
#define NUMAPLACE_LIB_RESERVED_CPUS_H

#include <numa.h>
#include <sys/types.h>

#include "../host/topology.h"
#include "task_limits.h"

/* A reader for many tasks. root: of /sys, "" but in tests; kept. NULL without memory. */
struct np_reserved;
struct np_reserved *np_reserved_open(const char *root);
void np_reserved_close(struct np_reserved *p);

/* For another moment: isolated CPUs and placements by numaplace are looked up again. */
void np_reserved_refresh(struct np_reserved *p);

/* The isolated CPUs; empty where there are none. */
const struct bitmask *np_reserved_isolated(const struct np_reserved *p);

/* Takes the isolated CPUs out of what m's nodes count. */
void np_reserved_subtract(const struct np_reserved *p, struct np_machine *m);

/*
 * Narrows cpus, which pid's cpuset allows, to those that may be set: not isolated, and
 * within a user-set affinity. Empty where the affinities of its threads are on several
 * nodes. CPUs that numaplace has set are no user-set affinity; those that the task had
 * before may be.
 */
enum np_pinned np_reserved_narrow(struct np_reserved *p, const struct np_machine *m, pid_t pid,
				  struct bitmask *cpus);

/* memory, np_task.memory: where numaplace has set that, it becomes the policy from before. */
void np_reserved_memory(struct np_reserved *p, pid_t pid, char *memory);

#endif
