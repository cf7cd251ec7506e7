/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that a thread may run on. */
#ifndef NUMAPLACE_LIB_CPU_AFFINITY_H
#define NUMAPLACE_LIB_CPU_AFFINITY_H

#include <numa.h>
#include <sys/types.h>

/* As the kernel keeps it, offline CPUs included. 0 or -errno. */
int np_affinity_get(pid_t tid, struct bitmask *mask);
int np_affinity_set(pid_t tid, const struct bitmask *mask);

#endif
