/* SPDX-License-Identifier: GPL-2.0-only */
/* Distances between nodes, as the firmware gives them, and what they say of a penalty. */
#ifndef NUMAPLACE_DISTANCES_H
#define NUMAPLACE_DISTANCES_H

#include "../policy.h"

/* Smallest distances of a CPU to memory on its own node and on another. */
struct np_distances {
	double local, remote;
};

struct np_distances np_distances(const struct np_machine *m);

/*
 * How remote mem_node is from cpu_node: 0 on the node itself, 1 as far as the
 * machine's nearest two nodes are from each other, more if farther.
 */
double np_remoteness(const struct np_machine *m, struct np_distances d, int cpu_node, int mem_node);

/* The distance at which t's penalty was measured. */
double np_penalty_distance(const struct np_machine *m, struct np_distances d,
			   const struct np_task *t);

#endif
