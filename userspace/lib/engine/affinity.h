/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that threads may run on, changed by plain system calls and undone. */
#ifndef NUMAPLACE_LIB_AFFINITY_H
#define NUMAPLACE_LIB_AFFINITY_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../host/proc.h"
#include "../undo/saved_affinity.h"
#include "engine.h"

/* The state before one np_affinity_place(), so that it can be undone. */
struct np_affinity_undo {
	pid_t pid;
	unsigned long long when; /* it began, in the unit of np_saved.start */
	struct bitmask *set;	 /* what it has bound the threads to */
	struct np_affinity_was {
		pid_t tid;
		unsigned long long start;
		bool all, bound;	/* it had all that its cpuset allows; it was changed */
		struct bitmask *before; /* its CPUs before this call */
		bool had_record;
		struct np_saved old; /* that record */
	} *thread;
	size_t n;
};

void np_affinity_undo_free(struct np_affinity_undo *u);

/*
 * Binds one thread (one_thread) or every thread of the process to r->cpus, until no
 * new thread appears. The originals go to the state file before anything is changed.
 * On failure everything is as it was before the call. r->inherit: what it starts
 * later is restored with it. r->undo: as in struct np_place_request.
 */
int np_affinity_place(const struct np_place_request *r, struct np_err *err);

/* See np_engine_ops.undo; those that were not placed by system calls are passed over. */
int np_affinity_undo(const struct np_undo *u, size_t n, struct np_err *err);

/*
 * Gives the threads that np_affinity_place() bound, and those that have inherited
 * that, their originals back; see np_engine_ops.restore. Those that have CPUs of the
 * module's on top keep them and their records: these are to go first.
 */
int np_affinity_restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err);

/* The line on kept threads, whose CPUs others have set since, and that on what was not seen. */
void np_affinity_left_alone(size_t kept, const char *unseen, struct np_err *err);

#endif
