// SPDX-License-Identifier: GPL-2.0-only
#include "confined.h"

#include <errno.h>
#include <numa.h>
#include <stdlib.h>

#include "cgroup.h"
#include "list.h"

static void set_may(uint8_t *may, const struct np_machine *m, const struct bitmask *cpus,
		    const struct bitmask *mems)
{
	for (size_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] != NP_NODE_NONE &&
		    numa_bitmask_isbitset(cpus, (unsigned int)cpu))
			may[m->cpu_node[cpu]] |= NP_MAY_RUN;
	for (size_t node = 0; node < m->n_nodes; node++)
		if (numa_bitmask_isbitset(mems, (unsigned int)m->node[node].id))
			may[node] |= NP_MAY_HOLD;
}

int np_confined_read(struct np_confined *c, const struct np_machine *m, struct np_tasks *t,
		     struct np_cpusets *cpusets)
{
	struct bitmask *mems = numa_bitmask_alloc(NP_MAX_NODES);
	struct np_cpusets *sets = cpusets ? cpusets : np_cpusets_open();

	*c = (struct np_confined) { 0 };
	c->may = calloc(t->n * m->n_nodes + 1, sizeof(*c->may));
	c->cpus = calloc(t->n + 1, sizeof(*c->cpus));
	for (size_t i = 0; c->may && c->cpus && sets && i < t->n; i++, c->n++) {
		pid_t pid = t->task[i].pid;

		c->cpus[i] = numa_bitmask_alloc(NP_MAX_CPUS);
		if (np_cpusets_cpus(sets, pid, c->cpus[i]))
			numa_bitmask_setall(c->cpus[i]);
		if (np_cpusets_mems(pid, mems))
			numa_bitmask_setall(mems);
		set_may(c->may + i * m->n_nodes, m, c->cpus[i], mems);
		t->task[i].may = c->may + i * m->n_nodes;
	}
	numa_bitmask_free(mems);
	if (sets && !cpusets)
		np_cpusets_close(sets);
	if (c->n == t->n && c->may)
		return 0;
	np_confined_free(c);
	return -ENOMEM;
}

void np_confined_free(struct np_confined *c)
{
	for (size_t i = 0; i < c->n; i++)
		numa_bitmask_free(c->cpus[i]);
	free(c->cpus);
	free(c->may);
	*c = (struct np_confined) { 0 };
}
