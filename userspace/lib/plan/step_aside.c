// SPDX-License-Identifier: GPL-2.0-only
#include "step_aside.h"

#include <numa.h>

void np_penalty_probe_leave(const struct np_machine *m, int node)
{
	struct bitmask *cpus = np_machine_cpus(m);

	for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] == node)
			numa_bitmask_clearbit(cpus, cpu);
	if (numa_bitmask_weight(cpus))
		numa_sched_setaffinity(0, cpus);
	numa_bitmask_free(cpus);
}

void np_penalty_probe_return(const struct np_machine *m)
{
	struct bitmask *cpus = np_machine_cpus(m);

	numa_sched_setaffinity(0, cpus);
	numa_bitmask_free(cpus);
}
