/* SPDX-License-Identifier: GPL-2.0-only */
/* What follows from a policy's answer: pages, cost, gain. */
#ifndef NUMAPLACE_PAGES_H
#define NUMAPLACE_PAGES_H

#include "plan.h"

/* Smallest distances of a CPU to memory on its own node and on another. */
struct np_distances {
	double local, remote;
};

struct np_distances np_distances(const struct np_machine *m);

/*
 * How remote mem_node is from cpu_node: 0 on the node itself, 1 as far as the
 * machine's nearest two nodes are from each other, more if farther.
 */
double np_remoteness(const struct np_machine *m, struct np_distances d, int cpu_node,
		     int mem_node);

/* The distance at which t's penalty was measured. */
double np_penalty_distance(const struct np_machine *m, struct np_distances d,
			   const struct np_task *t);

/*
 * For each decision: plan->pages_after, so that no node gets more than it has
 * room for (tasks of low penalty give way), pages_to_move, cost and gain.
 * rate_mib: MiB a second at which pages move. 0 or -ENOMEM.
 */
int np_plan_pages(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan,
		  double rate_mib);

/* Pages of t on node, of k nodes, that must stay there: those that other processes use too. */
uint64_t np_pages_fixed(const struct np_task *t, size_t node, size_t k);

/* The gain of each decision whose pages_after stand. 0 or -ENOMEM. */
int np_plan_gain(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan);

/* Tasks of plan, highest penalty first, else as given, into order [n]. */
void np_plan_by_penalty(const struct np_plan *plan, size_t *order);

#endif
