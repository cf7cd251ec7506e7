// SPDX-License-Identifier: GPL-2.0-only
/* Task sets at random. */
#include <errno.h>
#include <string.h>

#include "task_set.h"

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the C library's generators differ. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t *state, uint64_t n)
{
	return draw(state) % n;
}

static double between(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double)(draw(state) >> 11) * 0x1p-53;
}

static int node_with(uint64_t *state, const struct np_machine *m, bool memory)
{
	int node;

	do
		node = (int)below(state, m->n_nodes);
	while (memory ? !m->node[node].has_memory : !m->node[node].cpus);
	return node;
}

/* Half of the tasks have all pages on one node, a quarter on two, a quarter everywhere. */
static void lay_pages(uint64_t *state, const struct np_machine *m, uint64_t pages, uint64_t *row)
{
	uint64_t kind = below(state, 4);
	size_t parts = kind < 2 ? 1 : kind == 2 ? 2 : m->n_nodes;

	for (size_t i = 0; i < parts; i++)
		row[node_with(state, m, true)] += pages / parts;
}

static void draw_task(uint64_t *state, const struct np_machine *m, uint64_t pages,
		      unsigned int cores, size_t i, struct np_tasks *t)
{
	struct np_task *task = &t->task[i];

	*task = (struct np_task) {
		.pid = (pid_t)i + 1,
		.cores = 1 + (unsigned int)below(state, cores),
		.node = node_with(state, m, false),
		.pages = task->pages,
		.penalty = between(state, 1, 2),
		.penalty_source = NP_PROVENANCE_DECLARED,
		.mpki = between(state, 0, 60),
		.mpki_source = NP_PROVENANCE_DECLARED,
	};
	/* No node keeps more CPUs busy than it has: such a task runs on several. */
	if (task->cores > m->node[task->node].cpus)
		task->node = NP_NODE_NONE;
	memcpy(task->comm, "drawn", sizeof("drawn"));
	task->threads = task->cores;
	lay_pages(state, m, 1 + below(state, pages), t->pages + i * m->n_nodes);
}

int np_task_set_random(uint64_t seed, unsigned int max_tasks, const struct np_machine *m,
		       struct np_tasks *t)
{
	uint64_t state = seed, smallest = UINT64_MAX;
	unsigned int cpus = 0;
	size_t n;

	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < m->n_nodes; i++) {
		cpus += m->node[i].cpus;
		if (m->node[i].has_memory && m->node[i].mem_total < smallest)
			smallest = m->node[i].mem_total;
	}
	if (!cpus || smallest == UINT64_MAX)
		return -EINVAL;
	if (max_tasks > cpus)
		max_tasks = cpus;
	n = 1 + (size_t)below(&state, max_tasks);
	if (np_tasks_add(t, m, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		draw_task(&state, m, smallest / m->page_size / 2 / n + 1, cpus / (unsigned int)n, i,
			  t);
	return 0;
}
