/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic to the DRAM of each node, by CPU: lines by the node that holds them. Only the
 * simulated lab counts that; processors count own and other nodes (counters.h).
 */
#ifndef NUMAPLACE_LIB_NODE_TRAFFIC_H
#define NUMAPLACE_LIB_NODE_TRAFFIC_H

#include <numa.h>

#include "../host/topology.h"

struct np_node_traffic {
	size_t n_cpus, n_nodes;
	double *lines;	/* [n_cpus * n_nodes] read */
	double *writes; /* [n_cpus] written, to any node */
};

/* One line of the lab's counters; false when it is not one. lines [m->n_nodes]. */
bool np_node_traffic_line(const char *line, const struct np_machine *m, int *cpu, double *lines,
			  double *writes);

/* Totals since boot. 0, -EOPNOTSUPP where nothing counts them, or -ENOMEM. */
int np_node_traffic_read(struct np_node_traffic *d, const struct np_machine *m);
void np_node_traffic_free(struct np_node_traffic *d);

/* now becomes what was counted since before, of the CPUs that both have; nodes are the same. */
void np_node_traffic_since(struct np_node_traffic *now, const struct np_node_traffic *before);

/*
 * Adds the lines of these CPUs (NULL: all) to sum [n_nodes], read and written; returns
 * how many of them were written. Writes are not counted by node: they are attributed to
 * the nodes in proportion to the CPU's reads.
 */
double np_node_traffic_sum(const struct np_node_traffic *d, const struct bitmask *cpus,
			   double *sum);

#endif
