/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that threads may run on, changed by plain system calls and undone. */
#ifndef NUMAPLACE_LIB_AFFINITY_H
#define NUMAPLACE_LIB_AFFINITY_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "control.h"

/* As the kernel keeps it, offline CPUs included. 0 or -errno. */
int np_affinity_get(pid_t tid, struct bitmask *mask);
int np_affinity_set(pid_t tid, const struct bitmask *mask);

/*
 * Binds one thread (one_thread) or every thread of the process to r->cpus, until no
 * new thread appears. The originals go to the state file before anything is changed.
 * On failure everything is as it was before the call. r->inherit: what it starts
 * later is restored with it.
 */
int np_affinity_place(const struct np_place_request *r, char *err, size_t err_len);

/*
 * Gives the threads that np_affinity_place() bound, and those that have inherited
 * that, their originals back; see np_control.restore. Those that have CPUs of the
 * module's on top keep them and their records: these are to go first.
 */
int np_affinity_restore(const struct np_whose *whose, size_t *n, size_t *kept, char *err,
			size_t err_len);

#endif
