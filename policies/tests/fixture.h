/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines and tasks written down in a few lines. */
#ifndef NUMAPLACE_TESTS_FIXTURE_H
#define NUMAPLACE_TESTS_FIXTURE_H

#include "../../tests/cunit_main.h"
#include "../plan/plan.h"

#define MAX_NODES 8
#define MAX_TASKS 64
#define MIB_PAGES 256 /* 4 KiB pages in a MiB */
#define UNKNOWN	  (-1.0)

struct fixture {
	struct np_machine m;
	struct np_node node[MAX_NODES];
	int distance[MAX_NODES * MAX_NODES];
	struct np_task task[MAX_TASKS];
	uint64_t pages[MAX_TASKS][MAX_NODES];
	size_t n;
	struct np_decision decision[MAX_TASKS];
	uint64_t after[MAX_TASKS * MAX_NODES];
	struct np_plan plan;
	struct np_options options;
};

/* How many random machines a property is tried on: NUMAPLACE_ROUNDS, or 300. */
int test_rounds(void);

/* The next of xorshift64's numbers; *state is not 0. */
uint64_t fixture_random(uint64_t *state);

/* Ends the test where it does not hold, and names the round and what is tried. */
#define FIXTURE_HOLDS(condition, round, what) \
	fixture_holds(condition, round, what, #condition, __FILE__, __LINE__)
void fixture_holds(bool condition, int round, const char *what, const char *text, const char *file,
		   unsigned int line);

/* Nodes of cpus CPUs and 1 GiB, all free; distance 10 within, 21 between. */
void fixture_machine(struct fixture *f, size_t n_nodes, unsigned int cpus);

/* A task with one busy core on node, penalty and mpki declared or UNKNOWN. */
struct np_task *fixture_task(struct fixture *f, int node, double penalty, double mpki);

/*
 * Plans with the policy called name, options as "a=1,b=2"; NULL for defaults. A policy that
 * needs a contention model gets one derived from the machine where there is none. The rows
 * of its spreads live until the next call.
 */
int fixture_plan(struct fixture *f, const char *name, const char *options);

uint64_t fixture_pages(const struct fixture *f, size_t task);

/* Whether the first n tasks are to run on these nodes. */
bool fixture_goes_to(const struct fixture *f, size_t n, const int *to);

/* The nodes of the first tasks: CHECK_TO(&f, 1, 0). */
#define CHECK_TO(f, ...) \
	CU_ASSERT(fixture_goes_to(f, sizeof((int[]) { __VA_ARGS__ }) / sizeof(int), \
				  (const int[]) { __VA_ARGS__ }))
#define CHECK_REASON(f, i, words) CU_ASSERT_PTR_NOT_NULL(strstr((f)->decision[i].reason, words))

#endif
