// SPDX-License-Identifier: GPL-2.0-only
/* Reads a snapshot, and checks every value. */
#include "snapshot.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../policies/plan/plan.h"
#include "../base/cpulist.h"
#include "../base/printable.h"
#include "json.h"
#include "task_set.h"

/* Bytes of a node at most: the pages of many tasks can be added up. */
#define MOST_MEMORY (1LL << 52)

/* The object that is being read, and what to call it: "tasks[3]". */
struct place {
	const char *what;  /* "snapshot F" */
	const char *array; /* NULL: the whole snapshot */
	size_t index;
	json_t *object;
	struct np_err *err;
};

__attribute__((format(printf, 3, 4))) static int wrong(const struct place *p, const char *key,
						       const char *format, ...)
{
	char what[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	if (p->array)
		return np_fail(p->err, -EINVAL, "%s: %s[%zu].%s %s", p->what, p->array, p->index,
			       key, what);
	return np_fail(p->err, -EINVAL, "%s: %s %s", p->what, key, what);
}

static int no_memory(const struct place *p)
{
	return np_fail(p->err, -ENOMEM, "out of memory");
}

static int whole(const struct place *p, const char *key, json_int_t min, json_int_t max,
		 json_int_t *value)
{
	json_t *j = json_object_get(p->object, key);

	*value = json_integer_value(j);
	if (json_is_integer(j) && *value >= min && *value <= max)
		return 0;
	return wrong(p, key, "is not a whole number from %lld to %lld", min, max);
}

static int text(const struct place *p, const char *key, char *value, size_t len)
{
	const char *s = json_string_value(json_object_get(p->object, key));

	if (!s)
		return wrong(p, key, "is not a text");
	snprintf(value, len, "%s", s);
	np_printable(value);
	return 0;
}

static int cpu_list(const struct place *p, struct bitmask **cpus)
{
	const char *s = json_string_value(json_object_get(p->object, "cpus"));

	*cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	if (s && !np_list_parse_kernel(s, *cpus))
		return 0;
	return wrong(p, "cpus", "is not a list of CPUs such as \"0-3,8\", each below %d",
		     NP_MAX_CPUS);
}

static int read_cpus(const struct place *p, struct np_machine *m)
{
	struct bitmask *cpus;
	int e = cpu_list(p, &cpus);

	for (unsigned int cpu = 0; !e && cpu < NP_MAX_CPUS; cpu++) {
		if (!numa_bitmask_isbitset(cpus, cpu))
			continue;
		if (m->cpu_node[cpu] != NP_NODE_NONE)
			e = wrong(p, "cpus", "has CPU %u, which another node has", cpu);
		m->cpu_node[cpu] = (int)p->index;
		m->node[p->index].cpus++;
		if (cpu >= m->n_cpus)
			m->n_cpus = cpu + 1;
	}
	numa_bitmask_free(cpus);
	return e;
}

static int read_distances(const struct place *p, struct np_machine *m)
{
	json_t *row = json_object_get(p->object, "distances");

	if (!json_is_array(row) || json_array_size(row) != m->n_nodes)
		return wrong(p, "distances", "is not a list of %zu numbers", m->n_nodes);
	for (size_t k = 0; k < m->n_nodes; k++) {
		json_t *j = json_array_get(row, k);
		json_int_t d = json_integer_value(j);

		if (!json_is_integer(j) || d < 1 || d > 255)
			return wrong(p, "distances", "has a number that is not from 1 to 255");
		m->distance[p->index * m->n_nodes + k] = (int)d;
	}
	return 0;
}

static int read_known(const struct place *p, const char *key, double min, double *value,
		      enum np_provenance *source)
{
	json_t *j = json_object_get(p->object, key), *v = json_object_get(j, "value");
	const char *name = json_string_value(json_object_get(j, "source"));

	if (!j)
		return 0;
	if (!name || !np_provenance_find(name, source))
		return wrong(p, key, "names no source; there are %s", np_provenance_names());
	if (*source == NP_PROVENANCE_NONE && json_is_null(v))
		return 0;
	if (!json_is_number(v) || !(json_number_value(v) >= min) ||
	    !isfinite(json_number_value(v)) || *source == NP_PROVENANCE_NONE)
		return wrong(p, key, "is not a number from %g up with its source", min);
	*value = json_number_value(v);
	return 0;
}

/* CPUs that tasks may be given, and what firmware says of the memory: in no older snapshot. */
static int read_more(const struct place *p, struct np_node *node)
{
	static const char *const key[] = { "bandwidth", "latency_ns" };
	double *const value[] = { &node->bandwidth, &node->latency_ns };
	json_int_t usable = node->cpus;

	for (size_t i = 0; i < 2; i++) {
		json_t *j = json_object_get(p->object, key[i]);

		*value[i] = json_number_value(j);
		if (j && !json_is_null(j) && !(*value[i] > 0 && isfinite(*value[i])))
			return wrong(p, key[i], "is not a number above 0");
	}
	if (json_object_get(p->object, "usable_cpus") &&
	    whole(p, "usable_cpus", 0, node->cpus, &usable))
		return -EINVAL;
	node->cpus = (unsigned int)usable;
	return 0;
}

static int read_node(const struct place *p, struct np_machine *m)
{
	struct np_node *node = &m->node[p->index];
	json_t *has = json_object_get(p->object, "has_memory");
	json_int_t id, total, available;
	int e = whole(p, "id", 0, NP_MAX_NODES - 1, &id);

	if (e || (e = whole(p, "mem_total", 0, MOST_MEMORY, &total)) ||
	    (e = whole(p, "mem_free", 0, MOST_MEMORY, &available)) ||
	    (e = read_known(p, "traffic", 0, &node->traffic.value, &node->traffic.source)))
		return e;
	if (p->index && (int)id <= m->node[p->index - 1].id)
		return wrong(p, "id", "is not above that of the node before it");
	if (!json_is_boolean(has))
		return wrong(p, "has_memory", "is neither true nor false");
	node->id = (int)id;
	node->has_memory = json_is_true(has);
	node->mem_total = (uint64_t)total;
	node->mem_free = (uint64_t)available;
	e = read_cpus(p, m);
	if (!e)
		e = read_more(p, node);
	return e ? e : read_distances(p, m);
}

static int read_nodes(struct place *p, struct np_machine *m)
{
	json_t *nodes = json_object_get(p->object, "nodes");
	unsigned int usable = 0;
	int e = 0;

	if (json_array_size(nodes) < 1 || json_array_size(nodes) > NP_MAX_NODES)
		return wrong(p, "machine.nodes", "is not a list of 1 to %d nodes", NP_MAX_NODES);
	m->n_nodes = json_array_size(nodes);
	m->node = calloc(m->n_nodes, sizeof(*m->node));
	m->distance = calloc(m->n_nodes * m->n_nodes, sizeof(*m->distance));
	m->cpu_node = malloc(NP_MAX_CPUS * sizeof(*m->cpu_node));
	if (!m->node || !m->distance || !m->cpu_node)
		return no_memory(p);
	for (size_t cpu = 0; cpu < NP_MAX_CPUS; cpu++)
		m->cpu_node[cpu] = NP_NODE_NONE;
	p->array = "machine.nodes";
	for (p->index = 0; !e && p->index < m->n_nodes; p->index++) {
		p->object = json_array_get(nodes, p->index);
		e = read_node(p, m);
		usable += m->node[p->index].cpus;
	}
	if (!e && !usable)
		e = np_fail(p->err, -EINVAL, "%s: no CPU of its nodes is usable: usable_cpus is 0",
			    p->what);
	return e;
}

static int read_machine(struct place p, struct np_machine *m)
{
	json_int_t page_size;
	int e;

	p.object = json_object_get(p.object, "machine");
	if (!json_is_object(p.object))
		return wrong(&p, "machine", "is missing");
	e = text(&p, "name", m->name, sizeof(m->name));
	if (e || (e = whole(&p, "page_size", 512, 1 << 30, &page_size)))
		return e;
	m->page_size = (uint64_t)page_size;
	return read_nodes(&p, m);
}

static int read_pages(const struct place *p, const char *key, const struct np_machine *m,
		      uint64_t *pages)
{
	json_t *j = json_object_get(p->object, key);
	size_t found = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		json_t *count = np_json_of_node(j, m, i);

		if (!count)
			continue;
		if (!json_is_integer(count) || json_integer_value(count) < 0)
			return wrong(p, key, "of node %d is not a number of pages", m->node[i].id);
		if ((uint64_t)json_integer_value(count) > m->node[i].mem_total / m->page_size)
			return wrong(p, key, "of node %d are more than its mem_total has",
				     m->node[i].id);
		pages[i] = (uint64_t)json_integer_value(count);
		found++;
	}
	if (!json_is_object(j) || found != json_object_size(j))
		return wrong(p, key, "does not say pages by node of this machine");
	return 0;
}

static int read_task_node(const struct place *p, const struct np_machine *m, struct np_task *task)
{
	json_t *node = json_object_get(p->object, "node");

	task->node = NP_NODE_NONE;
	if (json_is_null(node))
		return 0;
	if (json_is_integer(node))
		task->node = np_machine_node_index(m, json_integer_value(node));
	return task->node == NP_NODE_NONE ? wrong(p, "node", "is no node of this machine") : 0;
}

/* Neither was in the first snapshots. */
static int read_shared(const struct place *p, const struct np_machine *m, struct np_task *task,
		       uint64_t *shm)
{
	json_int_t pages = 0;
	int e = json_object_get(p->object, "shared_pages") ?
			whole(p, "shared_pages", 0, LLONG_MAX, &pages) :
			0;

	task->shared_pages = (uint64_t)pages;
	if (!e && json_object_get(p->object, "shm_pages"))
		e = read_pages(p, "shm_pages", m, shm);
	for (size_t i = 0; !e && i < m->n_nodes; i++)
		if (shm[i] > task->pages[i])
			e = wrong(p, "shm_pages", "are more than pages on a node");
	return e;
}

/* There is none where every page was counted. */
static int read_pages_error(const struct place *p, double *error)
{
	json_t *j = json_object_get(p->object, "pages_error");

	*error = json_number_value(j);
	return j && !(json_is_number(j) && *error > 0 && *error <= 1) ?
		       wrong(p, "pages_error", "is not a share above 0") :
		       0;
}

static int read_memory(const struct place *p, struct np_task *task)
{
	json_t *j = json_object_get(p->object, "memory");

	return j && !json_is_null(j) ? text(p, "memory", task->memory, NP_MEMORY_LEN) : 0;
}

static int read_accesses(const struct place *p, const struct np_machine *m, struct np_task *task,
			 double *accesses)
{
	json_t *j = json_object_get(p->object, "accesses"), *value;

	if (!j || json_is_null(j))
		return 0;
	for (size_t i = 0; i < m->n_nodes; i++) {
		value = np_json_of_node(j, m, i);
		if (!json_is_number(value) || !(json_number_value(value) >= 0))
			return wrong(p, "accesses", "is not one number for each node");
		accesses[i] = json_number_value(value);
	}
	task->accesses = accesses;
	task->accesses_source = NP_PROVENANCE_COUNTERS;
	return 0;
}

static int read_penalty(const struct place *p, struct np_task *task)
{
	json_t *distance = json_object_get(p->object, "penalty_distance");
	json_int_t value = json_integer_value(distance);

	if (distance && (!json_is_integer(distance) || value < NP_FARTHEST || value > 254))
		return wrong(p, "penalty_distance", "is not a distance: 0, -1 or 10 to 254");
	task->penalty_distance = (int)value;
	return read_known(p, "penalty", 0, &task->penalty, &task->penalty_source);
}

static int read_task(const struct place *p, const struct np_machine *m, struct np_tasks *t)
{
	size_t i = p->index;
	struct np_task *task = &t->task[i];
	uint64_t *pages = t->pages + i * m->n_nodes;
	json_int_t pid, threads, cores, start;
	int e;

	task->penalty = 1.0;
	if ((e = whole(p, "pid", 1, INT_MAX, &pid)) ||
	    (e = text(p, "comm", task->comm, sizeof(task->comm))) ||
	    (e = whole(p, "threads", 1, INT_MAX, &threads)) ||
	    (e = whole(p, "cores", 1, INT_MAX, &cores)) ||
	    (e = whole(p, "start", 0, LLONG_MAX, &start)) || (e = cpu_list(p, &t->cpus[i])) ||
	    (e = read_task_node(p, m, task)) || (e = read_pages(p, "pages", m, pages)) ||
	    (e = read_pages(p, "file_pages", m, t->file_pages + i * m->n_nodes)) ||
	    (e = read_pages_error(p, &t->sampled[i])) || (e = read_penalty(p, task)) ||
	    (e = read_known(p, "mpki", 0, &task->mpki, &task->mpki_source)) ||
	    (e = read_known(p, "ipc", 0, &task->ipc.value, &task->ipc.source)) ||
	    (e = read_known(p, "cycles", 0, &task->cycles.value, &task->cycles.source)) ||
	    (e = read_known(p, "bandwidth", 0, &task->bandwidth.value, &task->bandwidth.source)) ||
	    (e = read_known(p, "local_access", 0, &task->local_access.value,
			    &task->local_access.source)) ||
	    (e = read_known(p, "writes", 0, &task->writes.value, &task->writes.source)) ||
	    (e = read_known(p, "outstanding", 0, &task->outstanding.value,
			    &task->outstanding.source)) ||
	    (e = read_memory(p, task)) ||
	    (e = read_known(p, "age_s", 0, &task->age_s.value, &task->age_s.source)) ||
	    (e = read_shared(p, m, task, t->shm_pages + i * m->n_nodes)) ||
	    (e = read_accesses(p, m, task, t->accesses + i * m->n_nodes)))
		return e;
	task->pid = (pid_t)pid;
	task->threads = (unsigned int)threads;
	task->cores = (unsigned int)cores;
	t->start[i] = (unsigned long long)start;
	return 0;
}

static int read_tasks(struct place p, const struct np_machine *m, struct np_tasks *t)
{
	json_t *tasks = json_object_get(p.object, "tasks");
	size_t n = json_array_size(tasks);
	int e = 0;

	if (!json_is_array(tasks))
		return wrong(&p, "tasks", "is not a list");
	t->accesses = calloc((n + 1) * m->n_nodes, sizeof(*t->accesses));
	t->sampled = calloc(n + 1, sizeof(*t->sampled));
	if (!t->accesses || !t->sampled || np_tasks_add(t, m, n + 1))
		return no_memory(&p);
	t->n = n;
	p.array = "tasks";
	for (p.index = 0; !e && p.index < n; p.index++) {
		p.object = json_array_get(tasks, p.index);
		e = read_task(&p, m, t);
	}
	return e;
}

static int read_snapshot(const struct place *p, struct np_snapshot *s)
{
	json_int_t version;
	char platform[32];
	int e;

	if (!json_object_get(p->object, "snapshot"))
		return np_fail(p->err, -EINVAL,
			       "%s: it is no snapshot; `numaplace ps --json` prints one", p->what);
	if ((e = whole(p, "snapshot", NP_SNAPSHOT_VERSION, NP_SNAPSHOT_VERSION, &version)) ||
	    (e = text(p, "platform", platform, sizeof(platform))))
		return e;
	if (!np_platform_find(platform, &s->platform))
		return wrong(p, "platform", "is none of real, lab-functional, lab-timed");
	e = read_machine(*p, &s->machine);
	return e ? e : read_tasks(*p, &s->machine, &s->tasks);
}

int np_snapshot_of_json(json_t *root, const char *what, struct np_snapshot *s, struct np_err *err)
{
	struct place p = { .what = what, .object = root, .err = err };
	int e;

	memset(s, 0, sizeof(*s));
	e = read_snapshot(&p, s);
	if (e)
		np_snapshot_free(s);
	return e;
}

int np_snapshot_read(const char *path, struct np_snapshot *s, struct np_err *err)
{
	char what[NP_JSON_WHAT];
	json_t *root = np_json_read("snapshot", path, what, err);
	int e = root ? np_snapshot_of_json(root, what, s, err) : -errno;

	if (!root)
		memset(s, 0, sizeof(*s));
	json_decref(root);
	return e;
}

void np_snapshot_free(struct np_snapshot *s)
{
	np_tasks_free(&s->tasks);
	np_machine_free(&s->machine);
}
