// SPDX-License-Identifier: GPL-2.0-only
/* Task sets from TOML; Documentation/reference/task-sets.md has the keys. */
#include "task_set.h"

#include <errno.h>
#include <numa.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/printable.h"
#include "../base/size.h"
#include "../base/toml.h"

#define COUNT_MAX 1000000

static const struct np_toml_key file_keys[] = { { "task", NP_TOML_TABLES, false }, { 0 } };

static const struct np_toml_key task_keys[] = {
	/* clang-format off */
	{ "name", NP_TOML_TEXT, false },
	{ "count", NP_TOML_WHOLE, true },
	{ "threads", NP_TOML_WHOLE, true },
	{ "cores", NP_TOML_WHOLE, true },
	{ "node", NP_TOML_WHOLE, true },
	{ "memory", NP_TOML_ANY, true },
	{ "penalty", NP_TOML_NUMBER, true },
	{ "mpki", NP_TOML_NUMBER, true },
	{ "ipc", NP_TOML_NUMBER, true },
	{ "bandwidth_mb_s", NP_TOML_NUMBER, true },
	{ "writes", NP_TOML_NUMBER, true },
	{ "outstanding", NP_TOML_NUMBER, true },
	{ 0 },
	/* clang-format on */
};

/* Left as it is when the key is not there. */
static int whole(const struct np_toml_table *t, const char *key, unsigned int *value)
{
	json_t *j = json_object_get(t->json, key);

	if (!j)
		return 0;
	if (json_integer_value(j) < 1 || json_integer_value(j) > COUNT_MAX)
		return np_toml_wrong(t, key, "is not a whole number from 1 to %d", COUNT_MAX);
	*value = (unsigned int)json_integer_value(j);
	return 0;
}

/* 0 and no source when the key is not there. */
static int known(const struct np_toml_table *t, const char *key, double min, double max,
		 double factor, struct np_known *known)
{
	json_t *j = json_object_get(t->json, key);

	if (!j)
		return 0;
	if (!(json_number_value(j) >= min && json_number_value(j) <= max))
		return np_toml_wrong(t, key, "is not a number from %g to %g", min, max);
	*known = (struct np_known) { json_number_value(j) * factor, NP_PROVENANCE_DECLARED };
	return 0;
}

static int read_memory(const struct np_toml_table *t, const struct np_machine *m,
		       struct np_task *task, uint64_t *pages)
{
	json_t *memory = json_object_get(t->json, "memory"), *size;
	const char *node;
	uint64_t bytes;

	if (json_is_string(memory)) {
		if (task->node == NP_NODE_NONE)
			return np_toml_wrong(
				t, "memory",
				"needs nodes, { \"0\" = \"64 MiB\" }, as the task has none");
		if (np_size_parse(json_string_value(memory), &bytes))
			return np_toml_wrong(t, "memory", "is not a size such as \"64 MiB\"");
		pages[task->node] = bytes / m->page_size;
		return 0;
	}
	if (memory && !json_is_object(memory))
		return np_toml_wrong(t, "memory", "is neither a size nor { \"NODE\" = SIZE }");
	json_object_foreach(memory, node, size) {
		int index = np_machine_node_of_text(m, node);

		if (index == NP_NODE_NONE || !m->node[index].has_memory)
			return np_toml_wrong(t, "memory",
					     "is on node %s, which this machine does not have or which "
					     "has no memory",
					     *node ? node : "\"\"");
		if (!json_is_string(size) || np_size_parse(json_string_value(size), &bytes))
			return np_toml_wrong(t, "memory",
					     "of node %s is not a size such as \"64 MiB\"", node);
		pages[index] = bytes / m->page_size;
	}
	return 0;
}

static int read_node(const struct np_toml_table *t, const struct np_machine *m,
		     struct np_task *task)
{
	json_t *node = json_object_get(t->json, "node");

	task->node = NP_NODE_NONE;
	if (!node)
		return 0;
	task->node = np_machine_node_index(m, json_integer_value(node));
	if (task->node == NP_NODE_NONE || !m->node[task->node].cpus)
		return np_toml_wrong(t, "node", "is no node of machine %s with CPUs", m->name);
	return 0;
}

static int read_task(const struct np_toml_table *t, const struct np_machine *m,
		     struct np_task *task, uint64_t *pages)
{
	struct np_known penalty = { 1, NP_PROVENANCE_NONE }, mpki = { 0, NP_PROVENANCE_NONE };
	int e;

	task->threads = task->cores = 1;
	if ((e = whole(t, "threads", &task->threads)) || (e = whole(t, "cores", &task->cores)) ||
	    (e = read_node(t, m, task)) || (e = read_memory(t, m, task, pages)) ||
	    (e = known(t, "penalty", 1, 100, 1, &penalty)) ||
	    (e = known(t, "mpki", 0, 1000, 1, &mpki)) ||
	    (e = known(t, "ipc", 0.001, 100, 1, &task->ipc)) ||
	    (e = known(t, "bandwidth_mb_s", 0, 1e9, 1e6, &task->bandwidth)) ||
	    (e = known(t, "writes", 0, 1, 1, &task->writes)) ||
	    (e = known(t, "outstanding", 1, 1000, 1, &task->outstanding)))
		return e;
	snprintf(task->comm, sizeof(task->comm), "%s",
		 json_string_value(json_object_get(t->json, "name")));
	np_printable(task->comm);
	if (task->threads < task->cores)
		task->threads = task->cores;
	task->penalty = penalty.value;
	task->penalty_source = penalty.source;
	task->mpki = mpki.value;
	task->mpki_source = mpki.source;
	return 0;
}

static int add_tasks(const struct np_toml_table *table, const struct np_machine *m,
		     struct np_tasks *t)
{
	size_t k = m->n_nodes, first = t->n;
	unsigned int count = 1;
	int e = whole(table, "count", &count);

	if (e)
		return e;
	if (np_tasks_add(t, m, count))
		return np_fail(table->file->err, -ENOMEM, "out of memory");
	e = read_task(table, m, &t->task[first], t->pages + first * k);
	for (size_t i = first; !e && i < t->n; i++) {
		t->task[i] = t->task[first];
		t->task[i].pages = t->pages + i * k;
		t->task[i].pid = (pid_t)i + 1;
		memcpy(t->pages + i * k, t->pages + first * k, k * sizeof(*t->pages));
	}
	return e;
}

/* An array of n items grown to more, the new ones 0. */
static bool grow(void *array, size_t n, size_t more, size_t size)
{
	char *bigger = realloc(*(void **)array, (n + more) * size);

	if (!bigger)
		return false;
	memset(bigger + n * size, 0, more * size);
	*(void **)array = bigger;
	return true;
}

int np_tasks_add(struct np_tasks *t, const struct np_machine *m, size_t count)
{
	size_t k = m->n_nodes;

	if (!grow(&t->task, t->n, count, sizeof(*t->task)) ||
	    !grow(&t->pages, t->n * k, count * k, sizeof(*t->pages)) ||
	    !grow(&t->shm_pages, t->n * k, count * k, sizeof(*t->shm_pages)) ||
	    !grow(&t->file_pages, t->n * k, count * k, sizeof(*t->file_pages)) ||
	    !grow(&t->start, t->n, count, sizeof(*t->start)) ||
	    !grow(&t->cpus, t->n, count, sizeof(struct bitmask *)))
		return -ENOMEM;
	t->n += count;
	for (size_t i = 0; i < t->n; i++) {
		t->task[i].pages = t->pages + i * k;
		t->task[i].shm_pages = t->shm_pages + i * k;
	}
	return 0;
}

/* Each node can hold what the tasks have there. */
static int check_memory(const struct np_toml_file *file, const struct np_machine *m,
			const struct np_tasks *tasks)
{
	for (size_t k = 0; k < m->n_nodes; k++) {
		uint64_t left = m->node[k].mem_total / m->page_size;

		for (size_t i = 0; i < tasks->n; i++) {
			if (tasks->task[i].pages[k] > left)
				return np_fail(file->err, -EINVAL,
					       "%s: its tasks have more memory on node %d of %s than its "
					       "%llu MiB; give the node's size with --node-memory",
					       file->path, m->node[k].id, m->name,
					       (unsigned long long)m->node[k].mem_total >> 20);
			left -= tasks->task[i].pages[k];
		}
	}
	return 0;
}

void np_tasks_take_memory(const struct np_tasks *t, struct np_machine *m)
{
	for (size_t k = 0; k < m->n_nodes; k++) {
		m->node[k].mem_free = m->node[k].mem_total;
		for (size_t i = 0; i < t->n; i++)
			m->node[k].mem_free -= t->task[i].pages[k] * m->page_size;
	}
}

static int read_tasks(const struct np_toml_file *file, const struct np_machine *m,
		      struct np_tasks *t)
{
	struct np_toml_table top = np_toml_top(file);
	size_t n = json_array_size(json_object_get(file->root, "task"));
	int e;

	if (!n)
		return np_fail(file->err, -EINVAL,
			       "%s: it has no [[task]]; "
			       "Documentation/reference/task-sets.md describes a task set",
			       file->path);
	e = np_toml_check(&top, file_keys);
	if (!e)
		e = np_toml_check_each(&top, "task", task_keys);
	for (size_t i = 0; !e && i < n; i++) {
		struct np_toml_table one = np_toml_element(&top, "task", i);

		e = add_tasks(&one, m, t);
	}
	return e ? e : check_memory(file, m, t);
}

int np_task_set_read(const char *path, const struct np_machine *m, struct np_tasks *t,
		     struct np_err *err)
{
	struct np_toml_file file = { .path = path, .err = err };
	int e = np_toml_open(&file);

	memset(t, 0, sizeof(*t));
	if (!e)
		e = read_tasks(&file, m, t);
	np_toml_release(&file);
	if (e)
		np_tasks_free(t);
	return e;
}
