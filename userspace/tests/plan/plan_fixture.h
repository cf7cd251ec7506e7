/* SPDX-License-Identifier: GPL-2.0-only */
/* A written-down plan for real, sleeping processes, and an engine that only takes notes. */
#ifndef NUMAPLACE_TESTS_PLAN_FIXTURE_H
#define NUMAPLACE_TESTS_PLAN_FIXTURE_H

#include "../../../tests/cunit_main.h"
#include "../../lib/plan/apply.h"

#define MAX_TASKS 4

struct plan_fixture {
	struct np_request p;
	struct np_node node[2];
	int distance[4];
	int cpu_node[4];
	struct np_task task[MAX_TASKS];
	uint64_t pages[MAX_TASKS][2];
	unsigned long long start[MAX_TASKS];
	struct bitmask *cpus[MAX_TASKS];
	struct np_decision decision[MAX_TASKS];
	uint64_t after[MAX_TASKS * 2];
};

/* Two nodes of two CPUs with this many pages free; no task yet. */
void plan_fixture_init(struct plan_fixture *f, uint64_t free0, uint64_t free1);

/* A task that runs on CPUs of node and is to run on to, its pages to go along. */
void plan_fixture_add(struct plan_fixture *f, pid_t pid, int node, int to, uint64_t pages0,
		      uint64_t pages1);

/* The same, with a sleeping process of its own. */
void plan_fixture_start(struct plan_fixture *f, int node, int to, uint64_t pages0, uint64_t pages1);
/* What the undoing finds in /proc: the sleepers' own CPUs, so that it binds nothing again. */
void plan_fixture_own_cpus(struct plan_fixture *f);
/* The steps of what is decided: np_plan_order(). */
void plan_fixture_order(struct plan_fixture *f);
void plan_fixture_kill(struct plan_fixture *f, size_t i);
void plan_fixture_free(struct plan_fixture *f);

/* What the engine was asked: "place 0 cpus=0-1 mem=0; move 0 to=0; restore 0; " */
extern char engine_notes[4096];
extern unsigned int engine_followed; /* placements that say that they follow another */
extern size_t engine_spread_nodes;   /* of the last spread */
extern bool engine_overfilled;	     /* more pages came to a node than were free */
extern bool engine_keeps_failing;    /* once it has failed; reset by engine_reset() */
extern const struct np_engine_ops engine;

/* fail_at: the operation from now, counted from 1, that fails with error; 0: none does. */
void engine_reset(struct plan_fixture *f, unsigned int fail_at, int error, bool sets_mem);

#endif
