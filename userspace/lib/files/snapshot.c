// SPDX-License-Identifier: GPL-2.0-only
/* Writes a snapshot. */
#include "snapshot.h"

#include <stdio.h>

#include "../base/cpulist.h"
#include "../counters/counters.h"
#include "json.h"

static struct bitmask *node_cpus(const struct np_machine *m, size_t index)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);

	for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] == (int)index)
			numa_bitmask_setbit(cpus, cpu);
	return cpus;
}

static json_t *optional(const struct np_known *k)
{
	return np_json_known(k->value, k->source);
}

static json_t *node_json(const struct np_machine *m, size_t i)
{
	const struct np_node *node = &m->node[i];
	struct bitmask *cpus = node_cpus(m, i);
	json_t *distances = json_array(), *j;

	for (size_t k = 0; k < m->n_nodes; k++)
		json_array_append_new(distances, json_integer(m->distance[i * m->n_nodes + k]));
	j = json_pack("{s:i,s:o,s:b,s:I,s:I,s:o,s:o}", "id", node->id, "cpus", np_json_list(cpus),
		      "has_memory", node->has_memory, "mem_total", (json_int_t)node->mem_total,
		      "mem_free", (json_int_t)node->mem_free, "distances", distances, "traffic", optional(&node->traffic));
	numa_bitmask_free(cpus);
	return j;
}

static json_t *machine_json(const struct np_machine *m)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < m->n_nodes; i++)
		json_array_append_new(nodes, node_json(m, i));
	return json_pack("{s:o,s:I,s:o}", "name", np_json_text(m->name), "page_size",
			 (json_int_t)m->page_size, "nodes", nodes);
}

/* Why the counters have nothing to say of it, or null. */
static json_t *why_json(const struct np_tasks *t, size_t i)
{
	const char *why = t->counted ? t->counted[i].event[NP_CYCLES].why : NULL;

	return why ? np_json_text(why) : json_null();
}

/* Lines a second of each node's memory, or null. */
static json_t *accesses_json(const struct np_machine *m, const struct np_task *t)
{
	json_t *j = t->accesses ? json_object() : json_null();
	char id[16];

	for (size_t i = 0; t->accesses && i < m->n_nodes; i++) {
		snprintf(id, sizeof(id), "%d", m->node[i].id);
		json_object_set_new(j, id, json_real(t->accesses[i]));
	}
	return j;
}

static json_t *task_json(const struct np_machine *m, const struct np_tasks *t, size_t i)
{
	const struct np_task *task = &t->task[i];
	double locality = np_task_locality(m, task);

	return json_pack("{s:i,s:I,s:o,s:i,s:i,s:o,s:o,s:o,s:o*,s:o,s:o,s:o,s:o,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:o,s:o}",
			 "pid", task->pid, "start", (json_int_t)t->start[i], "comm",
			 np_json_text(task->comm), "threads", (int)task->threads, "cores",
			 (int)task->cores, "cpus", np_json_list(t->cpus[i]), "node",
			 np_json_node(m, task->node), "pages", np_json_pages(m, task->pages),
			 "pages_error", t->sampled && t->sampled[i] > 0 ? json_real(t->sampled[i]) : NULL,
			 "shm_pages", np_json_pages(m, t->shm_pages + i * m->n_nodes),
			 "file_pages", np_json_pages(m, t->file_pages + i * m->n_nodes), "locality",
			 locality < 0 ? json_null() : json_real(locality), "penalty",
			 np_json_known(task->penalty, task->penalty_source), "penalty_distance",
			 task->penalty_distance, "mpki",
			 np_json_known(task->mpki, task->mpki_source), "ipc", optional(&task->ipc),
			 "cycles", optional(&task->cycles), "bandwidth", optional(&task->bandwidth), "local_access",
			 optional(&task->local_access), "age_s", optional(&task->age_s),
			 "shared_pages", (json_int_t)task->shared_pages, "writes",
			 optional(&task->writes), "accesses", accesses_json(m, task),
			 "not_counted_because", why_json(t, i));
}

json_t *np_snapshot_json_of(enum np_platform platform, const struct np_machine *m,
			    const struct np_tasks *t, const size_t *row, size_t n)
{
	json_t *tasks = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(tasks, task_json(m, t, row ? row[i] : i));
	return json_pack("{s:i,s:s,s:s,s:o,s:o}", "snapshot", NP_SNAPSHOT_VERSION, "platform",
			 np_platform_name(platform), "where", np_platform_alias(platform),
			 "machine", machine_json(m), "tasks", tasks);
}

json_t *np_snapshot_json(enum np_platform platform, const struct np_machine *m,
			 const struct np_tasks *t)
{
	return np_snapshot_json_of(platform, m, t, NULL, t->n);
}
