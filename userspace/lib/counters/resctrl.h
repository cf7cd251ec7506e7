/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory bandwidth as resctrl counts it: bytes by group of tasks. Groups belong to
 * others (container runtimes, exporters, pqos): they are read, never made, filled
 * or removed.
 */
#ifndef NUMAPLACE_LIB_RESCTRL_H
#define NUMAPLACE_LIB_RESCTRL_H

#include <stdint.h>

#include "counters.h"

/*
 * Sums a group's mbm_local_bytes and mbm_total_bytes over its L3 caches. group
 * is the folder that holds mon_data. 0, or -errno with the reason in err.
 */
int np_resctrl_read(const char *group, uint64_t *local, uint64_t *total, struct np_err *err);

/*
 * The folder of the group that pid is in, below root, where resctrl is mounted;
 * groups is the text of /proc/PID/cpu_resctrl_groups. 0, or -errno with the reason
 * in err: -EOPNOTSUPP when others are in the group as well, so that its bytes are not
 * the task's.
 */
int np_resctrl_group(const char *root, pid_t pid, const char *groups, char *group, size_t len,
		     struct np_err *err);

#endif
