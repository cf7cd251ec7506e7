/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic to the DRAM of each node, by CPU: lines by the node that holds them. Only the
 * simulated lab counts that; processors count own and other nodes (counters.h).
 */
#ifndef NUMAPLACE_LIB_NODE_TRAFFIC_H
#define NUMAPLACE_LIB_NODE_TRAFFIC_H

#include <numa.h>

#include "../host/topology.h"

struct np_dram {
	size_t n_cpus, n_nodes;
	double *lines;		/* [n_cpus * n_nodes] read */
	double *writes;		/* [n_cpus] written, to any node */
};

/* One line of the lab's counters; false when it is not one. lines [m->n_nodes]. */
bool np_dram_line(const char *line, const struct np_machine *m, int *cpu, double *lines,
		  double *writes);

/* Totals since boot. 0, -EOPNOTSUPP where nothing counts them, or -ENOMEM. */
int np_dram_read(struct np_dram *d, const struct np_machine *m);
void np_dram_free(struct np_dram *d);

/* now becomes what was counted since before, of the CPUs that both have; nodes are the same. */
void np_dram_since(struct np_dram *now, const struct np_dram *before);

/*
 * Adds the lines of these CPUs (NULL: all) to sum [n_nodes], read and written; returns
 * how many of them were written. Writes are not counted by node: they are attributed to
 * the nodes in proportion to the CPU's reads.
 */
double np_dram_sum(const struct np_dram *d, const struct bitmask *cpus, double *sum);

#endif
