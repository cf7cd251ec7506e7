// SPDX-License-Identifier: GPL-2.0-only
#include "node_args.h"

#include <errno.h>
#include <numaif.h>
#include <unistd.h>

#include "../base/error.h"
#include "affinity.h"

/* The intersection, at least as long as a. */
static struct bitmask *intersect(const struct bitmask *a, const struct bitmask *b)
{
	struct bitmask *both = numa_bitmask_alloc((unsigned int)a->size);

	for (unsigned int i = 0; i < a->size; i++)
		if (numa_bitmask_isbitset(a, i) && numa_bitmask_isbitset(b, i))
			numa_bitmask_setbit(both, i);
	return both;
}

static struct np_list_space nodes_space(const char *what, struct bitmask *exist)
{
	/* libnuma prints a line of its own where a container's filter refuses the call. */
	struct bitmask *mine = get_mempolicy(NULL, NULL, 0, NULL, 0) ? NULL :
								       numa_get_mems_allowed();
	struct np_list_space s = { what, exist, intersect(exist, mine ? mine : exist) };

	numa_bitmask_free(mine);
	return s;
}

void np_node_args_open(struct np_node_args *s, const struct np_machine *m)
{
	struct bitmask *cpus = np_machine_cpus(m), *mine = numa_bitmask_alloc(NP_MAX_CPUS);

	s->m = m;
	if (np_affinity_get(getpid(), mine))
		numa_bitmask_setall(mine);
	s->cpu = (struct np_list_space) { "CPU", cpus, intersect(cpus, mine) };
	s->node = nodes_space("node", np_machine_nodes(m));
	s->memory = nodes_space("memory node", np_machine_memory_nodes(m));
	numa_bitmask_free(mine);
}

static void close_space(struct np_list_space *s)
{
	numa_bitmask_free((struct bitmask *)s->exist);
	numa_bitmask_free((struct bitmask *)s->allowed);
}

void np_node_args_close(struct np_node_args *s)
{
	close_space(&s->cpu);
	close_space(&s->node);
	close_space(&s->memory);
}

struct bitmask *np_node_args_cpus(const struct np_node_args *s, const char *nodes,
				  struct np_err *err)
{
	struct bitmask *mask = np_list_parse(nodes, &s->node, err), *cpus;

	if (!mask)
		return NULL;
	cpus = np_machine_cpus_of_nodes(s->m, mask);
	numa_bitmask_free(mask);
	if (numa_bitmask_weight(cpus) == 0) {
		np_fail(err, -EINVAL, "node %s has no CPU to run on", nodes);
		numa_bitmask_free(cpus);
		return NULL;
	}
	return cpus;
}

int np_node_args_one(const struct np_list_space *space, const char *text, struct np_err *err)
{
	struct bitmask *mask = np_list_parse(text, space, err);
	int node = -1;

	if (!mask)
		return -1;
	if (numa_bitmask_weight(mask) == 1)
		for (node = 0; !numa_bitmask_isbitset(mask, (unsigned int)node); node++)
			;
	else
		np_fail(err, -EINVAL, "\"%s\" names several %ss; one is needed", text, space->what);
	numa_bitmask_free(mask);
	return node;
}
