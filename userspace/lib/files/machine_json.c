// SPDX-License-Identifier: GPL-2.0-only
/*
 * A machine file as one JSON object: sizes in bytes, lists of CPUs spelled out, numbers with their
 * sources.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "../base/size.h"
#include "machine_file.h"
#include "machine_set.h"

static json_t *node_json(const struct np_machine *m, size_t node)
{
	json_t *cpus = json_array();

	for (size_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] == (int)node)
			json_array_append_new(cpus, json_integer((json_int_t)cpu));
	return json_pack("{s:o,s:I}", "cpus", cpus, "memory", (json_int_t)m->node[node].mem_total);
}

static void set_bytes(json_t *table, const char *key)
{
	uint64_t bytes = 0;

	np_size_parse(json_string_value(json_object_get(table, key)), &bytes);
	json_object_set_new(table, key, json_integer((json_int_t)bytes));
}

/* The text form of the model, as np_model_parse() reads it; "" without a model. */
static json_t *model_text(const struct np_model *model)
{
	char *text = NULL;
	json_t *string = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f && model)
		np_model_print(model, f);
	if (f && !fclose(f))
		string = json_stringn(text, len);
	free(text);
	return string;
}

/* Of each node's CPUs to the memory of each, without load: null where there are none. */
static json_t *access_json(const struct np_machine *m)
{
	json_t *latency = json_array(), *bandwidth = json_array();

	for (size_t from = 0; from < m->n_nodes; from++) {
		json_t *ns = json_array(), *rate = json_array();

		for (size_t to = 0; to < m->n_nodes; to++) {
			bool is = m->node[from].cpus && m->node[to].has_memory;
			double bytes = np_model_route_bytes_per_s(m->model, (int)from, (int)to);

			json_array_append_new(ns, is ? json_real(np_model_unloaded_ns(m->model,
										      (int)from,
										      (int)to)) :
						       json_null());
			json_array_append_new(rate, is ? json_real(bytes / 1e6) : json_null());
		}
		json_array_append_new(latency, ns);
		json_array_append_new(bandwidth, rate);
	}
	return json_pack("{s:o,s:o}", "latency_ns", latency, "bandwidth_mb_s", bandwidth);
}

/* The file's own tables, where the tools' form of a value is another it takes its place. */
static json_t *to_json(json_t *root, const struct np_machine *m)
{
	json_t *nodes = json_array(), *cache;
	size_t i;

	for (i = 0; i < m->n_nodes; i++)
		json_array_append_new(nodes, node_json(m, i));
	json_object_del(root, "node");
	json_object_set_new(root, "nodes", nodes);
	set_bytes(root, "memory");
	json_array_foreach(json_object_get(root, "cache"), i, cache)
		set_bytes(cache, "size");
	json_object_set_new(root, "model_text", model_text(m->model));
	if (m->model)
		json_object_set_new(root, "access", access_json(m));
	return json_incref(root);
}

json_t *np_machine_file_json(const char *name, const char *const *set, size_t n_set, int *e,
			     struct np_err *err)
{
	char path[PATH_MAX];
	struct np_toml_file file = { .path = path, .err = err };
	struct np_machine m;
	struct np_model model;
	json_t *json = NULL;

	*e = np_machine_file_find(name, path, sizeof(path), err);
	if (*e)
		return NULL;
	*e = np_toml_open(&file);
	for (size_t i = 0; !*e && i < n_set; i++)
		*e = np_machine_set(file.root, set[i], err);
	if (!*e)
		*e = np_machine_file_load(&file, &m, &model);
	if (!*e) {
		json = to_json(file.root, &m);
		np_machine_free(&m);
	}
	np_toml_release(&file);
	return json;
}
