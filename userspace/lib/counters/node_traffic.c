// SPDX-License-Identifier: GPL-2.0-only
#include "node_traffic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/record.h"
#include "../host/proc.h"
#include "lab.h"

bool np_node_traffic_line(const char *line, const struct np_machine *m, int *cpu, double *lines,
			  double *writes)
{
	uint64_t value;
	char key[32];

	if (!np_record_number(line, "cpu", &value) || value >= NP_MAX_CPUS)
		return false;
	*cpu = (int)value;
	if (!np_record_number(line, "dram_writes", &value))
		return false;
	*writes = (double)value;
	for (size_t node = 0; node < m->n_nodes; node++) {
		snprintf(key, sizeof(key), "dram_node%d", m->node[node].id);
		if (!np_record_number(line, key, &value))
			return false;
		lines[node] = (double)value;
	}
	return true;
}

int np_node_traffic_read(struct np_node_traffic *d, const struct np_machine *m)
{
	char *text = np_read_file(NP_LAB_COUNTERS);
	double *one = calloc(m->n_nodes + 1, sizeof(*one)), writes;
	bool any = false;
	int cpu;

	*d = (struct np_node_traffic) { .n_cpus = m->n_cpus, .n_nodes = m->n_nodes };
	d->lines = calloc(d->n_cpus * d->n_nodes + 1, sizeof(*d->lines));
	d->writes = calloc(d->n_cpus + 1, sizeof(*d->writes));
	for (const char *line = text; line && one && d->lines && d->writes;
	     line = np_record_next(line)) {
		if (!np_node_traffic_line(line, m, &cpu, one, &writes) || (size_t)cpu >= d->n_cpus)
			continue;
		memcpy(d->lines + (size_t)cpu * d->n_nodes, one, d->n_nodes * sizeof(*one));
		d->writes[cpu] = writes;
		any = true;
	}
	free(text);
	free(one);
	if (any)
		return 0;
	np_node_traffic_free(d);
	return -EOPNOTSUPP;
}

void np_node_traffic_free(struct np_node_traffic *d)
{
	free(d->lines);
	free(d->writes);
	*d = (struct np_node_traffic) { 0 };
}

void np_node_traffic_since(struct np_node_traffic *now, const struct np_node_traffic *before)
{
	if (now->n_cpus > before->n_cpus)
		now->n_cpus = before->n_cpus;
	for (size_t i = 0; i < now->n_cpus * now->n_nodes; i++)
		now->lines[i] -= before->lines[i];
	for (size_t cpu = 0; cpu < now->n_cpus; cpu++)
		now->writes[cpu] -= before->writes[cpu];
}

/* Adds a CPU's reads of each node, and its writes in proportion; returns the writes. */
static double add_cpu(const struct np_node_traffic *d, size_t cpu, double *sum)
{
	const double *read = d->lines + cpu * d->n_nodes;
	double all = 0;

	for (size_t node = 0; node < d->n_nodes; node++)
		all += read[node];
	if (!(all > 0))
		return 0;
	for (size_t node = 0; node < d->n_nodes; node++)
		sum[node] += read[node] * (1 + d->writes[cpu] / all);
	return d->writes[cpu];
}

double np_node_traffic_sum(const struct np_node_traffic *d, const struct bitmask *cpus, double *sum)
{
	double writes = 0;

	for (size_t cpu = 0; cpu < d->n_cpus; cpu++)
		if (!cpus || numa_bitmask_isbitset(cpus, (unsigned int)cpu))
			writes += add_cpu(d, cpu, sum);
	return writes;
}
