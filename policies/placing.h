/* SPDX-License-Identifier: GPL-2.0-only */
/* What the policies share while they fill a plan: penalties, CPUs taken, distances. */
#ifndef NUMAPLACE_PLACING_H
#define NUMAPLACE_PLACING_H

#include "policy.h"

extern const struct np_policy np_policy_none;
extern const struct np_policy np_policy_maximum_local;
extern const struct np_policy np_policy_n_mass;

struct np_placing {
	const struct np_machine *m;
	const struct np_task *tasks;
	size_t n;
	struct np_decision *decision;	/* [n] */
	size_t *order;			/* [n] task indices, highest penalty first */
	uint64_t *used;			/* [n_nodes] CPUs given to tasks so far */
	double local, remote;		/* smallest distances within and between nodes */
};

/*
 * Fills every decision with "leave alone" and the penalty to reckon with:
 * the task's own, else default_penalty, else (default_penalty 0) the ratio of
 * the machine's smallest remote to its local distance.
 */
int np_placing_init(struct np_placing *p, const struct np_machine *m,
		    const struct np_task *tasks, size_t n, double default_penalty,
		    struct np_plan *out);
void np_placing_free(struct np_placing *p);

/* Gives task i the CPUs that it needs on node; takes back what it had. */
void np_place_on(struct np_placing *p, size_t i, int node);

bool np_has_room(const struct np_placing *p, int node, unsigned int cores);

static inline int np_distance(const struct np_machine *m, int cpu_node, int mem_node)
{
	return m->distance[(size_t)cpu_node * m->n_nodes + (size_t)mem_node];
}

/*
 * How remote mem_node is from cpu_node: 0 on the node itself, 1 as far as the
 * machine's nearest two nodes are from each other, more if farther.
 */
double np_remoteness(const struct np_placing *p, int cpu_node, int mem_node);

/*
 * For each decision with pages_to: how many pages to move so that no node gets
 * more than it has room for, tasks of high penalty first. Then cost and gain.
 */
int np_plan_pages(struct np_placing *p, double rate_mib);

void np_reason(struct np_decision *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void np_reason_more(struct np_decision *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Pages that one CPU moves in a second, in MiB: 0.98 GB/s for 512 pages of 4 KiB
 * a call between two E5-2640v3 sockets, as measured in Linux commit 88aaa2a1.
 * Newer kernels and CPUs reach three times that, so the estimate is on the safe side.
 */
#define NP_MIGRATION_RATE_MIB 935

/* Options with the same meaning in every policy that has them. */
#define NP_OPTION_PENALTY { \
	.name = "penalty", .type = NP_OPT_DOUBLE, .def = 0, .min = 0, .max = 100, \
	.unit = "", \
	.meaning = "NUMA penalty of a task for which none is known; " \
		   "0: this machine's nearest remote distance / local distance" }

#define NP_OPTION_RATE { \
	.name = "rate", .type = NP_OPT_DOUBLE, .def = NP_MIGRATION_RATE_MIB, \
	.min = 0.1, .max = 1e6, .unit = "MiB/s", \
	.meaning = "speed at which pages move, for the estimate of a plan's cost" }

#endif
