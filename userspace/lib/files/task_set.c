// SPDX-License-Identifier: GPL-2.0-only
/* Task sets from TOML; Documentation/reference/task-sets.md has the keys. */
#include "task_set.h"

#include <errno.h>
#include <jansson.h>
#include <numa.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/printable.h"
#include "../base/size.h"
#include "../base/toml.h"

#define COUNT_MAX 1000000

struct table {
	const char *path;
	size_t index;
	json_t *object;
	const struct np_machine *m;
	struct np_err *err;
};

static const char *const keys[] = {
	"name", "count", "threads",	   "cores",  "node",	    "memory", "penalty",
	"mpki", "ipc",	 "bandwidth_mb_s", "writes", "outstanding", NULL,
};

#define wrong(t, key, format, ...) \
	np_fail((t)->err, -EINVAL, "%s: task %zu: %s " format, (t)->path, (t)->index, key, \
		##__VA_ARGS__)

static int check_keys(const struct table *t)
{
	const char *key;
	json_t *value;

	json_object_foreach(t->object, key, value) {
		size_t i = 0;

		while (keys[i] && strcmp(keys[i], key))
			i++;
		if (!keys[i])
			return wrong(t, key,
				     "is not known; known are name, count, threads, cores, "
				     "node, memory, penalty, mpki, ipc, bandwidth_mb_s, writes, "
				     "outstanding");
	}
	return 0;
}

/* Left as it is when the key is not there. */
static int whole(const struct table *t, const char *key, unsigned int *value)
{
	json_t *j = json_object_get(t->object, key);

	if (!j)
		return 0;
	if (!json_is_integer(j) || json_integer_value(j) < 1 || json_integer_value(j) > COUNT_MAX)
		return wrong(t, key, "is not a whole number from 1 to %d", COUNT_MAX);
	*value = (unsigned int)json_integer_value(j);
	return 0;
}

/* 0 and no source when the key is not there. */
static int known(const struct table *t, const char *key, double min, double max, double factor,
		 struct np_known *known)
{
	json_t *j = json_object_get(t->object, key);

	if (!j)
		return 0;
	if (!json_is_number(j) || !(json_number_value(j) >= min && json_number_value(j) <= max))
		return wrong(t, key, "is not a number from %g to %g", min, max);
	*known = (struct np_known) { json_number_value(j) * factor, NP_PROVENANCE_DECLARED };
	return 0;
}

static int read_memory(const struct table *t, struct np_task *task, uint64_t *pages)
{
	json_t *memory = json_object_get(t->object, "memory"), *size;
	const char *node;
	uint64_t bytes;

	if (json_is_string(memory)) {
		if (task->node == NP_NODE_NONE)
			return wrong(t, "memory",
				     "needs nodes, { \"0\" = \"64 MiB\" }, as the task has none");
		if (np_size_parse(json_string_value(memory), &bytes))
			return wrong(t, "memory", "is not a size such as \"64 MiB\"");
		pages[task->node] = bytes / t->m->page_size;
		return 0;
	}
	if (memory && !json_is_object(memory))
		return wrong(t, "memory", "is neither a size nor { \"NODE\" = SIZE }");
	json_object_foreach(memory, node, size) {
		int index = np_machine_node_of_text(t->m, node);

		if (index == NP_NODE_NONE || !t->m->node[index].has_memory)
			return wrong(t, "memory",
				     "is on node %s, which this machine does not have "
				     "or which has no memory",
				     *node ? node : "\"\"");
		if (!json_is_string(size) || np_size_parse(json_string_value(size), &bytes))
			return wrong(t, "memory", "of node %s is not a size such as \"64 MiB\"",
				     node);
		pages[index] = bytes / t->m->page_size;
	}
	return 0;
}

static int read_node(const struct table *t, struct np_task *task)
{
	json_t *node = json_object_get(t->object, "node");

	task->node = NP_NODE_NONE;
	if (!node)
		return 0;
	if (json_is_integer(node))
		task->node = np_machine_node_index(t->m, json_integer_value(node));
	if (task->node == NP_NODE_NONE || !t->m->node[task->node].cpus)
		return wrong(t, "node", "is no node of machine %s with CPUs", t->m->name);
	return 0;
}

static int read_task(const struct table *t, struct np_task *task, uint64_t *pages)
{
	const char *name = json_string_value(json_object_get(t->object, "name"));
	struct np_known penalty = { 1, NP_PROVENANCE_NONE }, mpki = { 0, NP_PROVENANCE_NONE };
	int e = check_keys(t);

	task->threads = task->cores = 1;
	if (!e && !name)
		e = wrong(t, "name", "is missing");
	if (e || (e = whole(t, "threads", &task->threads)) ||
	    (e = whole(t, "cores", &task->cores)) || (e = read_node(t, task)) ||
	    (e = read_memory(t, task, pages)) || (e = known(t, "penalty", 1, 100, 1, &penalty)) ||
	    (e = known(t, "mpki", 0, 1000, 1, &mpki)) ||
	    (e = known(t, "ipc", 0.001, 100, 1, &task->ipc)) ||
	    (e = known(t, "bandwidth_mb_s", 0, 1e9, 1e6, &task->bandwidth)) ||
	    (e = known(t, "writes", 0, 1, 1, &task->writes)) ||
	    (e = known(t, "outstanding", 1, 1000, 1, &task->outstanding)))
		return e;
	snprintf(task->comm, sizeof(task->comm), "%s", name);
	np_printable(task->comm);
	if (task->threads < task->cores)
		task->threads = task->cores;
	task->penalty = penalty.value;
	task->penalty_source = penalty.source;
	task->mpki = mpki.value;
	task->mpki_source = mpki.source;
	return 0;
}

static int add_tasks(const struct table *table, struct np_tasks *t)
{
	size_t k = table->m->n_nodes, first = t->n;
	unsigned int count = 1;
	int e = whole(table, "count", &count);

	if (e)
		return e;
	if (np_tasks_add(t, table->m, count))
		return np_fail(table->err, -ENOMEM, "out of memory");
	e = read_task(table, &t->task[first], t->pages + first * k);
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
static int check_memory(const struct table *t, const struct np_tasks *tasks)
{
	for (size_t k = 0; k < t->m->n_nodes; k++) {
		uint64_t left = t->m->node[k].mem_total / t->m->page_size;

		for (size_t i = 0; i < tasks->n; i++) {
			if (tasks->task[i].pages[k] > left)
				return np_fail(t->err, -EINVAL,
					       "%s: its tasks have more memory on node %d than its "
					       "%llu MiB; describe smaller ones",
					       t->path, t->m->node[k].id,
					       (unsigned long long)t->m->node[k].mem_total >> 20);
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

int np_task_set_read(const char *path, const struct np_machine *m, struct np_tasks *t,
		     struct np_err *err)
{
	struct table table = { .path = path, .m = m, .err = err };
	json_t *root = np_toml_read(path, err), *tasks = json_object_get(root, "task");
	int e = 0;

	memset(t, 0, sizeof(*t));
	if (!root)
		return errno == ENOENT ? -ENOENT : -EINVAL;
	if (!json_array_size(tasks))
		e = np_fail(err, -EINVAL,
			    "%s: it has no [[task]]; "
			    "Documentation/how-to/predict.md describes a task set",
			    path);
	json_array_foreach(tasks, table.index, table.object)
		if (!e)
			e = add_tasks(&table, t);
	if (!e)
		e = check_memory(&table, t);
	json_decref(root);
	if (e)
		np_tasks_free(t);
	return e;
}
