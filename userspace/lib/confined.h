/* SPDX-License-Identifier: GPL-2.0-only */
/* What cpusets leave each of a set of tasks. */
#ifndef NUMAPLACE_LIB_CONFINED_H
#define NUMAPLACE_LIB_CONFINED_H

#include "tasks.h"

struct np_cpusets;

struct np_confined {
	size_t n;
	uint8_t *may;		/* [n * n_nodes] NP_MAY_*, where np_task.may points to */
	struct bitmask **cpus;	/* [n] CPUs that its cpuset allows */
};

/*
 * Reads the cpusets of all tasks and sets their np_task.may. One whose cpuset
 * cannot be read (it has exited) is not confined. cpusets: a reader to be used
 * again, or NULL. 0 or -ENOMEM.
 */
int np_confined_read(struct np_confined *c, const struct np_machine *m, struct np_tasks *t,
		     struct np_cpusets *cpusets);
void np_confined_free(struct np_confined *c);

#endif
