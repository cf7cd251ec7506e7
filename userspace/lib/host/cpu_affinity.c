// SPDX-License-Identifier: GPL-2.0-only
#include "cpu_affinity.h"

#include <errno.h>

#include "proc.h"

int np_affinity_get(pid_t tid, struct bitmask *mask)
{
	return np_proc_status_list(tid, "Cpus_allowed_list", mask);
}

int np_affinity_set(pid_t tid, const struct bitmask *mask)
{
	return numa_sched_setaffinity(tid, (struct bitmask *)mask) < 0 ? -errno : 0;
}
