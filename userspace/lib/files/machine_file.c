// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes, CPUs, memory and distances of a machine file; its other parts are checked where they are
 * read.
 */
#include "machine_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../policies/model/fields.h"
#include "../base/cpulist.h"
#include "../base/size.h"
#include "../base/toml.h"
#include "json.h"
#include "machine_caches.h"
#include "machine_model.h"
#include "machine_scale.h"
#include "machine_shape.h"
#include "penalty.h"

#define PAGE_SIZE_OF_FILES 4096
#define LOCAL_DISTANCE	   10
#define MAX_DISTANCE	   254 /* 255 says "cannot be reached" */
#define MIB		   (1 << 20)

static const struct np_toml_key file_keys[] = {
	{ "name", NP_TOML_TEXT, false },
	{ "summary", NP_TOML_TEXT, false },
	{ "for", NP_TOML_TEXT, true }, /* lab list; not read here */
	{ "source", NP_TOML_TEXT, false },
	{ "cpus", NP_TOML_WHOLE, false },
	{ "memory", NP_TOML_TEXT, false },
	{ "distances", NP_TOML_LIST, false },
	{ "node", NP_TOML_TABLES, false },
	{ "cache", NP_TOML_TABLES, true },
	{ "model", NP_TOML_TABLE, true },
	{ "penalty", NP_TOML_TABLE, true },
	{ "measured", NP_TOML_TABLE, true }, /* results of calibrate-machine; not read */
	{ 0 },
};

static const struct np_toml_key node_keys[] = {
	{ "cpus", NP_TOML_TEXT, false },
	{ "memory", NP_TOML_TEXT, false },
	{ 0 },
};

static int read_size(const struct np_toml_table *t, uint64_t *bytes)
{
	const char *text = np_json_text_of(t->json, "memory");

	if (np_size_parse(text, bytes))
		return np_toml_wrong(t, "memory",
				     "'%s' is not a size such as '512 MiB' or '1 GiB', or '0'",
				     text);
	if (*bytes % MIB)
		return np_toml_wrong(t, "memory", "'%s' is not a whole number of MiB", text);
	return 0;
}

static int read_cpus(const struct np_toml_table *t, struct np_machine *m, size_t node)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	const char *list = np_json_text_of(t->json, "cpus");
	int e = 0;

	if (np_list_parse_kernel(list, cpus))
		e = np_toml_wrong(t, "cpus", "'%s' is not a list of CPUs such as '0-1,4'", list);
	for (unsigned int cpu = 0; !e && cpu < NP_MAX_CPUS; cpu++) {
		if (!numa_bitmask_isbitset(cpus, cpu))
			continue;
		if (m->cpu_node[cpu] != NP_NODE_NONE)
			e = np_toml_wrong(t, "cpus", "CPU %u is also on node %d", cpu,
					  m->cpu_node[cpu]);
		m->cpu_node[cpu] = (int)node;
		m->node[node].cpus++;
		if (cpu >= m->n_cpus)
			m->n_cpus = cpu + 1;
	}
	numa_bitmask_free(cpus);
	return e;
}

static int read_node(const struct np_toml_table *t, struct np_machine *m, size_t i)
{
	struct np_node *node = &m->node[i];
	int e = read_cpus(t, m, i);

	if (!e)
		e = read_size(t, &node->mem_total);
	if (!e && !node->cpus && !node->mem_total)
		e = np_toml_wrong(t, NULL, "the node has neither CPUs nor memory");
	node->id = (int)i;
	node->has_memory = node->mem_total > 0;
	node->mem_free = node->mem_total;
	return e;
}

static int read_nodes(const struct np_toml_table *file, struct np_machine *m)
{
	bool boots = false;
	int e = np_toml_check_each(file, "node", node_keys);

	for (size_t i = 0; !e && i < m->n_nodes; i++) {
		struct np_toml_table t = np_toml_element(file, "node", i);

		e = read_node(&t, m, i);
		boots |= m->node[i].cpus && m->node[i].has_memory;
	}
	if (!e && !boots)
		e = np_toml_wrong(file, "node",
				  "no node has both CPUs and memory, and a kernel needs one to "
				  "start on");
	return e;
}

/* The file says how many CPUs there are, and its nodes which. */
static int check_cpus(const struct np_toml_table *file, const struct np_machine *m)
{
	json_int_t cpus = json_integer_value(json_object_get(file->json, "cpus"));
	struct bitmask *described = np_machine_cpus(m);
	char list[NP_LIST_LEN / 4];
	int e = 0;

	if (cpus < 1 || cpus > NP_MAX_CPUS)
		e = np_toml_wrong(file, "cpus", "%lld is outside 1 to %d", (long long)cpus,
				  NP_MAX_CPUS);
	else if (m->n_cpus != (size_t)cpus || numa_bitmask_weight(described) != m->n_cpus)
		e = np_toml_wrong(file, "cpus",
				  "the machine has CPUs 0 to %lld, but its nodes describe %s",
				  (long long)cpus - 1,
				  np_list_format(described, list, sizeof(list)));
	numa_bitmask_free(described);
	return e;
}

static int check_memory(const struct np_toml_table *file, const struct np_machine *m)
{
	uint64_t total, sum = 0;
	bool wrapped = false;
	int e = read_size(file, &total);

	for (size_t i = 0; i < m->n_nodes && !wrapped; i++)
		wrapped = __builtin_add_overflow(sum, m->node[i].mem_total, &sum);
	if (!e && wrapped)
		return np_toml_wrong(file, "memory", "its nodes sum up to more than 2^64 bytes");
	if (e || total == sum)
		return e;
	return np_toml_wrong(file, "memory",
			     "the machine has %llu MiB, but its nodes sum up to %llu MiB",
			     (unsigned long long)total / MIB, (unsigned long long)sum / MIB);
}

static int read_distance(const struct np_toml_table *file, const json_t *value, size_t i, size_t k,
			 int *distance)
{
	struct np_toml_shown shown = np_toml_show(value);

	*distance = (int)json_integer_value(value);
	if (!json_is_integer(value))
		return np_toml_wrong(file, "distances",
				     "%s (node %zu to %zu) is not a whole number", shown.text, i,
				     k);
	if (i == k && *distance != LOCAL_DISTANCE)
		return np_toml_wrong(file, "distances", "%s (node %zu to itself) must be %d",
				     shown.text, i, LOCAL_DISTANCE);
	if (i != k && (*distance <= LOCAL_DISTANCE || *distance > MAX_DISTANCE))
		return np_toml_wrong(file, "distances", "%s (node %zu to %zu) must be %d to %d",
				     shown.text, i, k, LOCAL_DISTANCE + 1, MAX_DISTANCE);
	return 0;
}

static int read_distances(const struct np_toml_table *file, struct np_machine *m)
{
	json_t *rows = json_object_get(file->json, "distances");
	size_t n = m->n_nodes;
	bool square = json_array_size(rows) == n;
	int e = 0;

	for (size_t i = 0; square && i < n; i++)
		square = json_array_size(json_array_get(rows, i)) == n;
	if (!square)
		return np_toml_wrong(file, "distances",
				     "%zu nodes need a square matrix of %zu rows with %zu "
				     "numbers each",
				     n, n, n);
	for (size_t i = 0; !e && i < n * n; i++)
		e = read_distance(file, json_array_get(json_array_get(rows, i / n), i % n), i / n,
				  i % n, &m->distance[i]);
	return e;
}

static int set_name(const struct np_toml_table *file, struct np_machine *m)
{
	const char *name = np_json_text_of(file->json, "name");
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	if (np_machine_shape_is(name))
		n = strlen(name);
	if (n && !name[n] && n >= sizeof(m->name))
		return np_toml_wrong(file, "name",
				     "'%.20s..' has %zu characters, at most %zu may be", name, n,
				     sizeof(m->name) - 1);
	if (!n || name[n] || strchr(".-", *name))
		return np_toml_wrong(file, "name",
				     "'%s' must be lower-case letters, digits, '-' and '.'", name);
	memcpy(m->name, name, n + 1);
	return 0;
}

static int make_room(const struct np_toml_table *file, struct np_machine *m)
{
	m->n_nodes = json_array_size(json_object_get(file->json, "node"));
	m->page_size = PAGE_SIZE_OF_FILES;
	if (!m->n_nodes || m->n_nodes > NP_MAX_NODES)
		return np_toml_wrong(file, "node", "there are %zu nodes, must be 1 to %d",
				     m->n_nodes, NP_MAX_NODES);
	m->node = calloc(m->n_nodes, sizeof(*m->node));
	m->distance = calloc(m->n_nodes * m->n_nodes, sizeof(*m->distance));
	m->cpu_node = malloc(NP_MAX_CPUS * sizeof(*m->cpu_node));
	if (!m->node || !m->distance || !m->cpu_node)
		return np_fail(file->file->err, -ENOMEM, "out of memory");
	for (size_t cpu = 0; cpu < NP_MAX_CPUS; cpu++)
		m->cpu_node[cpu] = NP_NODE_NONE;
	return 0;
}

static int read_machine(const struct np_toml_table *file, struct np_machine *m)
{
	int e = np_toml_check(file, file_keys);

	if (!e)
		e = set_name(file, m);
	if (!e)
		e = make_room(file, m);
	if (!e)
		e = read_nodes(file, m);
	if (!e)
		e = check_cpus(file, m);
	if (!e)
		e = check_memory(file, m);
	return e ? e : read_distances(file, m);
}

static int load(const struct np_toml_file *file, struct np_machine *m, struct np_model *model)
{
	struct np_toml_table top = np_toml_top(file);
	struct np_penalties penalties = { 0 };
	int e;

	memset(m, 0, sizeof(*m));
	e = read_machine(&top, m);
	if (!e)
		e = np_machine_file_caches(&top);
	if (!e && json_object_get(file->root, "model"))
		e = np_machine_file_model(&top, m, model);
	if (!e)
		e = np_penalties_from(&penalties, &top);
	np_penalties_free(&penalties);
	if (e)
		np_machine_free(m);
	return e;
}

/* Its name says its speed, too. */
static int rename_scaled(struct np_machine *m, json_t *root, struct np_model *model,
			 unsigned int scale, struct np_err *err)
{
	char name[sizeof(m->name) + 16];

	snprintf(name, sizeof(name), "%s/%u", m->name, scale);
	if (strlen(name) >= sizeof(m->name))
		return np_fail(err, -EINVAL, "machine '%s' has a name that is too long", name);
	strcpy(m->name, name);
	if (m->model)
		strcpy(model->name, name);
	json_object_set_new(root, "name", json_string(name));
	return 0;
}

/* The file is checked as it is, so that a fault has its line, and then changed. */
int np_machine_file_load(const struct np_toml_file *file, unsigned int scale, struct np_machine *m,
			 struct np_model *model)
{
	int e = load(file, m, model);

	if (e || scale == 1)
		return e;
	np_machine_free(m);
	np_machine_scale_apply(file->root, scale);
	e = load(file, m, model);
	if (!e)
		e = rename_scaled(m, file->root, model, scale, file->err);
	if (e)
		np_machine_free(m);
	return e;
}

/* Whether a file has to have the table. */
static bool is_required(const char *table)
{
	const struct np_model_field *f = NULL;

	while ((f = np_model_field_next(NP_SCOPE_LAB, f)))
		if (f->absent == NP_REQUIRED && !strcmp(f->table, table))
			return true;
	return false;
}

/* Numbers of the lab that the file leaves out: they are printed and may be set, as others. */
static void add_lab_numbers(json_t *root)
{
	json_t *model = json_object_get(root, "model"), *table;
	const struct np_model_field *f = NULL;

	while (json_is_object(model) && (f = np_model_field_next(NP_SCOPE_LAB, f))) {
		if (f->absent == NP_REQUIRED)
			continue;
		if (!json_object_get(model, f->table) && !is_required(f->table))
			json_object_set_new(model, f->table, json_object());
		table = json_object_get(model, f->table);
		if (json_is_object(table) && !json_object_get(table, f->key))
			json_object_set_new(table, f->key,
					    json_pack("{s:f,s:s}", "value", f->absent, "source",
						      "assumed: of every machine"));
	}
}

int np_machine_file_open(struct np_toml_file *file, const char *name, char *path, size_t len,
			 unsigned int *scale)
{
	char machine[PATH_MAX];
	bool shape;
	int e = np_machine_scale_split(name, machine, sizeof(machine), scale, file->err);

	if (e)
		return e;
	shape = np_machine_shape_is(machine);
	e = np_machine_file_find(shape ? NP_MACHINE_SHAPE_MODEL : machine, path, len, file->err);
	file->path = path;
	if (!e)
		e = np_toml_open(file);
	if (!e)
		add_lab_numbers(file->root);
	return e || !shape ? e : np_machine_shape_apply(file->root, machine, file->err);
}

int np_machine_file_read(const char *name, struct np_machine *m, struct np_model *model,
			 struct np_err *err)
{
	char path[PATH_MAX];
	struct np_toml_file file = { .err = err };
	unsigned int scale;
	int e = np_machine_file_open(&file, name, path, sizeof(path), &scale);

	memset(m, 0, sizeof(*m));
	if (!e)
		e = np_machine_file_load(&file, scale, m, model);
	np_toml_release(&file);
	return e;
}

/* Whether it has a [model]: measure-penalty --save makes files that have a [penalty] only. */
static int has_model(const char *path, struct np_err *err)
{
	struct np_toml_file file = { .path = path, .err = err };
	int e = np_toml_open(&file), has = json_object_get(file.root, "model") != NULL;

	np_toml_release(&file);
	return e ? -EINVAL : has;
}

int np_machine_file_here_model(const struct np_machine *m, struct np_model *model, bool *same_name,
			       struct np_err *err)
{
	char path[PATH_MAX];
	struct np_machine file;
	size_t nodes;
	int e = np_machine_file_here("", path, sizeof(path), err);

	if (e == 1)
		e = has_model(path, err);
	if (e <= 0)
		return e;
	e = np_machine_file_read(path, &file, model, err);
	if (e)
		return e;
	nodes = file.n_nodes;
	*same_name = !strcmp(file.name, m->name);
	np_machine_free(&file);
	if (nodes != m->n_nodes && np_machine_file_named())
		return np_fail(err, -EINVAL,
			       "the model of machine file %s is of %zu nodes, this machine has %zu",
			       path, nodes, m->n_nodes);
	return nodes == m->n_nodes;
}
