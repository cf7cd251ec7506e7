// SPDX-License-Identifier: GPL-2.0-only
/*
 * A machine file as one JSON object: sizes in bytes, lists of CPUs spelled out, numbers with their
 * sources.
 */
#include <limits.h>
#include <stdlib.h>

#include "../../../policies/model/fields.h"
#include "../base/size.h"
#include "json.h"
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
static void print_model(const json_t *root, const struct np_machine *m, FILE *f)
{
	if (m->model)
		np_model_print(m->model, f);
}

/* Of the highest level for 0; NULL without one. */
static const json_t *cache_of(const json_t *root, int level)
{
	const json_t *cache, *found = NULL;
	size_t i;

	json_array_foreach(json_object_get(root, "cache"), i, cache)
		if (level ? np_json_number_of(cache, "level") == level :
			    np_json_number_of(cache, "level") > np_json_number_of(found, "level"))
			found = cache;
	return found;
}

static void print_cache(const char *name, const json_t *cache, FILE *f)
{
	fprintf(f, "%s=%.12g %.12g %.12g\n", name, np_json_number_of(cache, "size"),
		np_json_number_of(cache, "ways"), np_json_number_of(cache, "latency_ns"));
}

static void print_caches(const json_t *root, FILE *f)
{
	const json_t *last = cache_of(root, 0), *first = cache_of(root, 1),
		     *second = cache_of(root, 2);

	fprintf(f, "line=%.12g\n", np_json_number_of(last, "line_bytes"));
	if (first && first != last)
		fprintf(f, "l1=%.12g %.12g\n", np_json_number_of(first, "size"),
			np_json_number_of(first, "latency_ns"));
	if (second && second != last)
		print_cache("l2", second, f);
	print_cache("llc", last, f);
}

/* How many CPUs have one last level, where that is not all of a node. */
static void print_groups(const json_t *last, const struct np_machine *m, FILE *f)
{
	size_t shared = (size_t)np_json_number_of(last, "shared_by_cpus"), most = 0;

	for (size_t node = 0; node < m->n_nodes; node++) {
		size_t cpus = 0;

		for (size_t cpu = 0; cpu < m->n_cpus; cpu++)
			cpus += m->cpu_node[cpu] == (int)node;
		most = cpus > most ? cpus : most;
	}
	if (shared < most)
		fprintf(f, "llc_cpus=%zu\n", shared);
}

static double value_of(const json_t *table, const char *key)
{
	return np_json_number_of(json_object_get(table, key), "value");
}

/* What the file has for the plugin of the lab's QEMU: experiments/lab/plugin/config.h. */
static void print_plugin(const json_t *root, const struct np_machine *m, FILE *f)
{
	const json_t *model = json_object_get(root, "model"),
		     *core = json_object_get(model, "core"), *lab = json_object_get(model, "lab"),
		     *c2c = json_object_get(model, "c2c"), *tlb = json_object_get(model, "tlb");

	if (!model || !cache_of(root, 0))
		return;
	for (size_t cpu = 0; cpu < m->n_cpus; cpu++)
		fprintf(f, "%s%d", cpu ? "," : "cpu_node=", m->cpu_node[cpu]);
	fprintf(f, "\ncore=%.12g %.12g\nquantum=%.12g\nwindow=%.12g\n", value_of(core, "mhz"),
		value_of(core, "instructions_per_cycle"), 1e3 * value_of(lab, "quantum_us"),
		1e3 * value_of(lab, "window_us"));
	fprintf(f, "reorder=%.12g\n", value_of(core, "reorder_buffer"));
	fprintf(f, "c2c=%.12g %.12g %.12g %.12g\n", value_of(c2c, "local_ns"),
		value_of(c2c, "remote_ns"), value_of(c2c, "remote_home_ns"),
		value_of(c2c, "node_ns"));
	if (value_of(tlb, "l1_entries") > 0)
		fprintf(f, "tlb=%.12g %.12g %.12g %.12g %.12g\n", value_of(tlb, "l1_entries"),
			value_of(tlb, "l1_huge_entries"), value_of(tlb, "l2_entries"),
			value_of(tlb, "l2_huge_entries"), value_of(tlb, "l2_latency_ns"));
	if (np_json_number_of(root, "scale") > 1)
		fprintf(f, "scale=%.12g\n", np_json_number_of(root, "scale"));
	print_caches(root, f);
	print_groups(cache_of(root, 0), m, f);
	print_model(root, m, f);
}

static json_t *text(const json_t *root, const struct np_machine *m,
		    void (*print)(const json_t *, const struct np_machine *, FILE *))
{
	char *printed = NULL;
	json_t *string = NULL;
	size_t len;
	FILE *f = open_memstream(&printed, &len);

	if (f)
		print(root, m, f);
	if (f && !fclose(f))
		string = json_stringn(printed, len);
	free(printed);
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
static json_t *to_json(json_t *root, const struct np_machine *m, unsigned int scale)
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
	json_object_set_new(root, "model_text", text(root, m, print_model));
	json_object_set_new(root, "scale", json_integer(scale));
	json_object_set_new(root, "plugin", text(root, m, print_plugin));
	if (m->model)
		json_object_set_new(root, "access", access_json(m));
	return json_incref(root);
}

json_t *np_machine_file_json(const char *name, const char *const *set, size_t n_set, int *e,
			     struct np_err *err)
{
	char path[PATH_MAX];
	struct np_toml_file file = { .err = err };
	struct np_machine m;
	struct np_model model;
	json_t *json = NULL;
	unsigned int scale;

	*e = np_machine_file_open(&file, name, path, sizeof(path), &scale);
	for (size_t i = 0; !*e && i < n_set; i++)
		*e = np_machine_set(file.root, set[i], err);
	if (!*e)
		*e = np_machine_file_load(&file, scale, &m, &model);
	if (!*e) {
		json = to_json(file.root, &m, scale);
		np_machine_free(&m);
	}
	np_toml_release(&file);
	return json;
}
