// SPDX-License-Identifier: GPL-2.0-only
#include "distances.h"

#include <limits.h>

struct np_distances np_distances(const struct np_machine *m)
{
	int local = INT_MAX, remote = INT_MAX;

	for (int i = 0; i < (int)m->n_nodes; i++) {
		for (int j = 0; j < (int)m->n_nodes; j++) {
			int d = np_distance(m, i, j);

			if (i == j && d < local)
				local = d;
			else if (i != j && m->node[i].cpus && m->node[j].has_memory && d < remote)
				remote = d;
		}
	}
	return (struct np_distances) { local, remote == INT_MAX ? local : remote };
}

double np_remoteness(const struct np_machine *m, struct np_distances d, int cpu_node, int mem_node)
{
	if (cpu_node == mem_node)
		return 0;
	if (d.remote <= d.local)
		return 1;
	return fmax(0, (np_distance(m, cpu_node, mem_node) - d.local) / (d.remote - d.local));
}

double np_penalty_distance(const struct np_machine *m, struct np_distances d,
			   const struct np_task *t)
{
	double farthest = d.remote;

	if (t->penalty_distance != NP_FARTHEST)
		return t->penalty_distance ? t->penalty_distance : d.remote;
	for (int i = 0; i < (int)m->n_nodes; i++)
		for (int j = 0; j < (int)m->n_nodes; j++)
			if (i != j && m->node[i].cpus && m->node[j].has_memory)
				farthest = fmax(farthest, np_distance(m, i, j));
	return farthest;
}
