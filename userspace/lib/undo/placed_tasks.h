/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tasks that the daemon has placed, in a file: after a crash the next daemon
 * adopts them, and restores them at its own end.
 */
#ifndef NUMAPLACE_LIB_PLACED_TASKS_H
#define NUMAPLACE_LIB_PLACED_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/error.h"

struct np_daemon_placed {
	struct np_placed_task {
		pid_t pid;
		unsigned long long start; /* tells a reused pid */
	} *task;
	size_t n;
};

/* -ENOMEM, else 0. */
int np_daemon_placed_add(struct np_daemon_placed *p, pid_t pid, unsigned long long start);
void np_daemon_placed_free(struct np_daemon_placed *p);

bool np_daemon_placed_runs(const struct np_placed_task *t);

/* Adds those of the file that still run. 0, or -errno with one line in err. */
int np_daemon_placed_read(struct np_daemon_placed *p, struct np_err *err);

/* The file then has just these. 0, or -errno with one line in err. */
int np_daemon_placed_write(const struct np_daemon_placed *p, struct np_err *err);

#endif
