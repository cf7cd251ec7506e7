/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups: whose tasks they hold, and what cpusets leave a task. */
#ifndef NUMAPLACE_LIB_CGROUP_H
#define NUMAPLACE_LIB_CGROUP_H

#include <numa.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The processes of a cgroup (version 2) and of all below it, kernel threads and
 * zombies not excluded. path is the cgroup's name, "/system.slice", or its folder,
 * "/sys/fs/cgroup/system.slice". The caller frees *pids. 0, or -errno with one
 * line in err: -ENOENT no such cgroup, -EOPNOTSUPP no version 2 hierarchy.
 */
int np_cgroup_tasks(const char *path, pid_t **pids, size_t *n, char *err, size_t err_len);

/*
 * The CPUs and memory nodes (kernel numbers) that the cpuset of pid leaves it,
 * in masks of NP_MAX_CPUS and NP_MAX_NODES. All where there is no cpuset.
 * 0 or -errno.
 */
int np_cpuset_cpus(pid_t pid, struct bitmask *cpus);
int np_cpuset_mems(pid_t pid, struct bitmask *mems);

#endif
