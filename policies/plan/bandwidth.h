/* SPDX-License-Identifier: GPL-2.0-only */
/* Weights of nodes by the bandwidth that a node's CPUs get from each. */
#ifndef NUMAPLACE_BANDWIDTH_H
#define NUMAPLACE_BANDWIDTH_H

#include "../policy.h"

/*
 * table [n_nodes * n_nodes], row = the CPUs' node: bytes a second that all CPUs of a node get from
 * the memory of a node when they stream from it alone, by the contention model; without one 1 /
 * distance. 0: no CPUs, or no memory.
 */
void np_bandwidth_table(const struct np_machine *m, double *table);

/*
 * weight [n_nodes]: 0 to 100, in proportion to what CPUs of node get from each node that t may hold
 * pages on; node NP_NODE_NONE: the average of all CPUs. t NULL: every node. proximity: share of the
 * other nodes' weight that goes to node itself. Returns how many are not 0.
 */
size_t np_bandwidth_weights(const struct np_machine *m, const struct np_task *t,
			    const double *table, int node, double proximity, uint8_t *weight);

#endif
