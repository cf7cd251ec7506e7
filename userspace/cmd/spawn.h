/* SPDX-License-Identifier: GPL-2.0-only */
/* A program that is started, and waits to be looked at before its first instruction. */
#ifndef NUMAPLACE_SPAWN_H
#define NUMAPLACE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct np_child {
	pid_t pid;
	int go, report;		/* to it, from it */
	bool ended;
	int status;		/* as a shell gives it: 128 + the signal that ended it */
};

/*
 * Forks; the child calls prepare(arg) if there is one, and waits. NP_EXIT_OK,
 * or an exit status after printing why. quiet: its output goes nowhere.
 */
int np_child_start(struct np_child *c, char **command, bool quiet, int (*prepare)(void *arg),
		   void *arg);

/*
 * Lets it become the command, which then goes on whatever becomes of us. NP_EXIT_OK,
 * or an exit status after printing why.
 */
int np_child_go(struct np_child *c, char **command);

/* True when it has ended; it stays a zombie, whose counts can be read. */
bool np_child_has_ended(struct np_child *c);

/* Kills it if it has not ended. */
void np_child_end(struct np_child *c);

#endif
