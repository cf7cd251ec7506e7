/* SPDX-License-Identifier: GPL-2.0-only */
/* All processes at one moment, with their parents. */
#ifndef NUMAPLACE_LIB_PROCESSES_H
#define NUMAPLACE_LIB_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct np_process {
	pid_t pid, ppid;
	unsigned long long start;
};

struct np_processes {
	struct np_process *process; /* [n] in ascending order of pid; no kernel threads */
	size_t n;
};

/* Number of readings by this process so far. */
extern unsigned long np_processes_readings;

/* 0 or -errno. */
int np_processes_read(struct np_processes *all);
void np_processes_free(struct np_processes *all);

/* False when it was not there. all NULL: asks /proc. */
bool np_processes_find(const struct np_processes *all, pid_t pid, struct np_process *p);

#endif
