/* SPDX-License-Identifier: GPL-2.0-only */
/* A policy kept up over a program that was started under it. */
#ifndef NUMAPLACE_RUN_H
#define NUMAPLACE_RUN_H

#include "../lib/daemon/family.h"
#include "../lib/engine/move_range.h"
#include "../lib/plan/request.h"
#include "cmd.h"

struct np_run {
	struct np_policy_args args;	/* pids are filled in at each step */
	const struct np_control *control;
	struct np_pace pace;
	bool quiet, write_weights, said_balancing, said_weights;
	struct np_family family;
	uint64_t pages;			/* anonymous ones of all tasks to place, at the last look */
	char complaint[NP_ERR_LEN];	/* said last: nothing is said twice in a row */
};

/* True once the program has memory that has stopped to grow quickly. */
bool np_run_has_settled(struct np_run *r);

/*
 * Plans for the tasks that are busy and have memory and, where that differs from
 * what was done, applies it.
 */
void np_run_step(struct np_run *r);

/* Gives everything that is still alive its CPUs and memory policies back. */
void np_run_restore(struct np_run *r);

#endif
