/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups: their tasks, and the CPUs and memory nodes that cpusets leave a task. */
#ifndef NUMAPLACE_LIB_CGROUP_H
#define NUMAPLACE_LIB_CGROUP_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/error.h"

/* The mount point of version 2's hierarchy. 0, or -EOPNOTSUPP with one line in err. */
int np_cgroup_root(char *root, size_t len, struct np_err *err);

/*
 * The folder of a cgroup (version 2), without a slash at its end unless path has one. path is the
 * cgroup's name, "/system.slice", or its folder. 0, or -errno with one line in err: -ENOENT no such
 * cgroup, -EOPNOTSUPP no version 2 hierarchy.
 */
int np_cgroup_folder(const char *path, char *folder, size_t len, struct np_err *err);

/*
 * The processes of a cgroup (version 2) and of all below it, kernel threads and
 * zombies not excluded. path is the cgroup's name, "/system.slice", or its folder,
 * "/sys/fs/cgroup/system.slice". The caller frees *pids. 0, or -errno with one
 * line in err: -ENOENT no such cgroup, -EOPNOTSUPP no version 2 hierarchy.
 */
int np_cgroup_tasks(const char *path, pid_t **pids, size_t *n, struct np_err *err);

/* Whether a list of the kernel, of len bytes, has the word, as "cpu,cpuset" has "cpu". */
bool np_cgroup_has_word(const char *list, size_t len, const char *word, const char *separators);

/* The cgroup of pid in the hierarchy of a controller; "" is version 2's. False: in none. */
bool np_cgroup_of_pid(pid_t pid, const char *controller, char *name, size_t len);

/* The name of a systemd unit with its type: of "redis" and "redis.service" the latter. */
void np_unit_name(const char *unit, char *name, size_t len);

/*
 * The cgroup (version 2) of a systemd unit, "redis" or "redis.service", among those that belong
 * to root or to the caller. 0, or -errno with one line in err: -ENOENT no such unit runs,
 * -EEXIST several do, -EOPNOTSUPP no version 2 hierarchy.
 */
int np_cgroup_of_unit(const char *unit, char *path, size_t len, struct np_err *err);

/* A reader of cpusets, for many tasks at one moment; NULL without memory. */
struct np_cpusets;
struct np_cpusets *np_cpusets_open(void);
void np_cpusets_close(struct np_cpusets *c);   /* NULL: nothing */
void np_cpusets_refresh(struct np_cpusets *c); /* for another moment */

/*
 * The CPUs and the memory nodes (kernel numbers) that the cpuset of pid leaves
 * it, in masks of NP_MAX_CPUS and NP_MAX_NODES: version 1 or 2, all of them where
 * there is no cpuset. 0 or -errno.
 */
int np_cpusets_cpus(struct np_cpusets *c, pid_t pid, struct bitmask *cpus);
int np_cpusets_mems(pid_t pid, struct bitmask *mems);

#endif
