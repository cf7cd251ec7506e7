/* SPDX-License-Identifier: GPL-2.0-only */
/* A child process that waits before it executes its program. */
#ifndef NUMAPLACE_SPAWN_H
#define NUMAPLACE_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct np_child {
	pid_t pid;
	int go, report; /* to it, from it */
	bool ended;
	int status; /* as a shell gives it: 128 + the signal that ended it */
};

struct np_child_how {
	bool quiet;		   /* its output goes nowhere */
	const sigset_t *mask;	   /* signals that the command has blocked; NULL: as the caller */
	int (*prepare)(void *arg); /* in the child; 0, or an errno; ECANCELED: it has said why */
	void *arg;
};

/* Forks; the child prepares itself and waits. NP_EXIT_OK, or an exit status after printing why. */
int np_child_start(struct np_child *c, char **command, const struct np_child_how *how);

/*
 * Lets it execute the command, which then runs independently of this process. NP_EXIT_OK,
 * or an exit status after printing why.
 */
int np_child_go(struct np_child *c, char **command);

/* True when it has ended; it stays a zombie, whose counts can be read. */
bool np_child_has_ended(struct np_child *c);

/* Kills it if it has not ended. */
void np_child_end(struct np_child *c);

#endif
