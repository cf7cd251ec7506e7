/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Descendants of a placed task inherit its CPUs without having a record: its threads, its
 * children, and theirs. One gets a record when it is seen while all between it and the task live;
 * what merely has the same CPUs gets none.
 */
#ifndef NUMAPLACE_LIB_INHERITED_H
#define NUMAPLACE_LIB_INHERITED_H

#include "../host/processes.h"
#include "saved_affinity.h"

/* The moment, in the unit of np_saved.start. */
unsigned long long np_inherited_now(void);

/*
 * Whether cpus, those of a thread of pid, are what the record says that were set, or
 * what the cpuset has left of them since.
 */
bool np_inherited_has(const struct np_saved *r, pid_t pid, const struct bitmask *cpus);

/*
 * The record from which a thread without one, started then, has its CPUs, which are
 * now these; NULL: they are its own. One that a process has set for itself to the very
 * CPUs that its parent was placed on is taken for inherited.
 */
const struct np_saved *np_inherited_origin(const struct np_saved_affinity *s, pid_t pid,
					   unsigned long long start, const struct bitmask *now);

/*
 * Gives every thread of these processes with an inherited placement a record. *exited: the
 * number of threads that may have and exited before they were looked at. 0 or -ENOMEM.
 */
int np_inherited_note(struct np_saved_affinity *s, const struct np_processes *all, size_t *exited);

/*
 * The same for the default file and the processes that there are, which a daemon asks for when it
 * meets descendants of what it has placed. 0, or -errno with one line in err.
 */
int np_inherited_see(struct np_err *err);

/*
 * The record, one that is done, whose CPUs are those of this process, which is younger than
 * the placement; NULL: none. Whether it has inherited them is not known.
 */
const struct np_saved *np_inherited_alike(const struct np_saved_affinity *s,
					  const struct np_process *p, const struct bitmask *now);

/* Passes over all processes, one after the other; {0} before the first. */
struct np_passes {
	int n;	   /* all of them */
	int empty; /* the last ones, which found nothing */
};

/*
 * Whether another pass is needed after one that found something of what is looked for, or
 * missed exited threads. A missed thread may leave a child, which the next pass finds unless
 * the child exits as well: that is followed for a few empty passes in a row. Tasks that others
 * start and end all the time are not waited for.
 */
bool np_passes_again(struct np_passes *p, bool found, bool missed);

/*
 * The same; the records of exited tasks are then dropped, the rest "complete". Descendants that a
 * task starts meanwhile are found later, by its record. 0 or -errno.
 */
int np_inherited_complete(struct np_saved_affinity *s);

#endif
