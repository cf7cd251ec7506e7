/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that threads may run on, changed by plain system calls and undone. */
#ifndef NUMAPLACE_LIB_AFFINITY_H
#define NUMAPLACE_LIB_AFFINITY_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As the kernel keeps it, offline CPUs included. 0 or -errno. */
int np_affinity_get(pid_t tid, struct bitmask *mask);
int np_affinity_set(pid_t tid, const struct bitmask *mask);

/*
 * Binds one thread (one_thread) or every thread of pid to cpus, until no new
 * thread appears. The originals go to the state file before anything is
 * changed. On failure everything is as it was before the call.
 */
int np_affinity_place(pid_t pid, bool one_thread, bool inherit, const struct bitmask *cpus,
		      char *err, size_t err_len);

/*
 * Gives the threads of pid (0: all) that np_affinity_place() bound their
 * originals back; see np_control.restore.
 */
int np_affinity_restore(pid_t pid, size_t *n, size_t *kept, char *err, size_t err_len);

/*
 * The same, but only where the CPUs are still those that were set; records of
 * others are kept. What another engine placed on top is to be undone first.
 */
int np_affinity_restore_unchanged(pid_t pid, size_t *n, char *err, size_t err_len);

#endif
