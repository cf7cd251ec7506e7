/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs and nodes that each of a set of tasks may use: cpusets, user-set affinity. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_TASK_LIMITS_H
#define NUMAPLACE_LIB_TASK_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct bitmask;

enum np_pinned {
	NP_PINNED_NOT,
	NP_PINNED_TASK,	   /* all its threads have the same CPUs, fewer than its cpuset allows */
	NP_PINNED_THREADS, /* its threads have CPUs of their own */
};

struct np_task_limits {
	size_t n;
	uint8_t *may;		/* [n * n_nodes] NP_MAY_*, where np_task.may points to */
	uint8_t *on;		/* [n * n_nodes] nodes of its CPUs, where np_task.on points to */
	struct bitmask **cpus;	/* [n] CPUs that it may be given */
	enum np_pinned *pinned; /* [n] why these are fewer than its cpuset allows */
};

#endif
