// SPDX-License-Identifier: GPL-2.0-only
#include "machine_model.h"

#include <string.h>

#include "../../../policies/model/fields.h"
#include "../base/error.h"
#include "sourced.h"

#define KEYS_MAX 32

static const struct np_toml_key sections[] = {
	{ "line", NP_TOML_TABLE, false }, { "core", NP_TOML_TABLE, false },
	{ "port", NP_TOML_TABLE, false }, { "dram", NP_TOML_TABLE, false },
	{ "c2c", NP_TOML_TABLE, true },	  { "tlb", NP_TOML_TABLE, true },
	{ "lab", NP_TOML_TABLE, true },	  { "link", NP_TOML_TABLES, true },
	{ "node", NP_TOML_TABLES, true }, { 0 },
};

static const struct np_toml_key exceptions[] = {
	{ "node", NP_TOML_WHOLE, false },
	{ "core", NP_TOML_TABLE, true },
	{ "port", NP_TOML_TABLE, true },
	{ "dram", NP_TOML_TABLE, true },
	{ 0 },
};

static bool is_of(const struct np_model_field *field, const char *table)
{
	return field->table && !strcmp(field->table, table);
}

/* The keys of [model.TABLE]; an exception of a node need not have any. */
static void list_keys(const char *table, bool whole, struct np_toml_key *keys)
{
	if (!strcmp(table, "link"))
		*keys++ = (struct np_toml_key) { "between", NP_TOML_LIST, false };
	for (const struct np_model_field *f = np_model_fields; f->member; f++)
		if (is_of(f, table))
			*keys++ = (struct np_toml_key) { f->key, NP_TOML_ANY,
							 !whole || f->absent != NP_REQUIRED };
	*keys = (struct np_toml_key) { 0 };
}

static int read_table(const struct np_toml_table *t, const char *table, bool whole, void *base)
{
	struct np_toml_key keys[KEYS_MAX];
	int e;

	list_keys(table, whole, keys);
	e = np_toml_check(t, keys);
	for (const struct np_model_field *f = np_model_fields; !e && f->member; f++) {
		double value = f->absent;

		if (!is_of(f, table))
			continue;
		if (json_object_get(t->json, f->key))
			e = np_sourced_read(t, f->key, f->min, f->max, &value);
		else if (!whole)
			continue;
		if (!e && f->scope != NP_SCOPE_LAB)
			*np_model_member(f, base) = value * f->scale;
	}
	return e;
}

/* The tables of a node in t that are there. */
static int read_node(const struct np_toml_table *t, bool whole, struct np_model_node *node)
{
	static const char *const tables[] = { "core", "port", "dram" };
	int e = 0;

	for (size_t i = 0; !e && i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct np_toml_table sub = np_toml_sub(t, tables[i]);

		if (sub.json)
			e = read_table(&sub, tables[i], whole, node);
	}
	return e;
}

static bool is_node(const json_t *number, size_t nodes)
{
	return json_is_integer(number) && json_integer_value(number) >= 0 &&
	       (size_t)json_integer_value(number) < nodes;
}

static int no_node(const struct np_toml_table *t, const char *key, const json_t *number)
{
	return np_toml_wrong(t, key, "there is no node %s", np_toml_show(number).text);
}

/* A [[model.node]]: values that differ on one node. */
static int read_exception(const struct np_toml_table *t, struct np_model *model)
{
	json_t *node = json_object_get(t->json, "node");
	int e = np_toml_check(t, exceptions);

	if (e)
		return e;
	if (!is_node(node, model->n_nodes))
		return no_node(t, "node", node);
	return read_node(t, false, &model->node[json_integer_value(node)]);
}

/* A node without CPUs has no core and no port, one without memory no controller. */
static void drop_what_it_lacks(const struct np_node *has, struct np_model_node *node)
{
	const struct np_model_field *f = NULL;

	while ((f = np_model_field_next(NP_SCOPE_NODE, f)))
		if (f->table && !(is_of(f, "dram") ? has->has_memory : has->cpus > 0))
			*np_model_member(f, node) = 0;
}

static int read_nodes(const struct np_toml_table *t, const struct np_machine *m,
		      struct np_model *model)
{
	size_t n = json_array_size(json_object_get(t->json, "node"));
	int e = read_node(t, true, &model->node[0]);

	for (size_t i = 1; i < m->n_nodes; i++)
		model->node[i] = model->node[0];
	for (size_t i = 0; !e && i < n; i++) {
		struct np_toml_table one = np_toml_element(t, "node", i);

		e = read_exception(&one, model);
	}
	for (size_t i = 0; i < m->n_nodes; i++)
		drop_what_it_lacks(&m->node[i], &model->node[i]);
	return e;
}

static int check_pair(const struct np_toml_table *t, const json_t *pair, size_t nodes)
{
	if (json_array_size(pair) != 2 ||
	    json_equal(json_array_get(pair, 0), json_array_get(pair, 1)))
		return np_toml_wrong(t, "between", "%s is not a pair of nodes such as [0, 1]",
				     np_toml_show(pair).text);
	for (size_t end = 0; end < 2; end++)
		if (!is_node(json_array_get(pair, end), nodes))
			return no_node(t, "between", json_array_get(pair, end));
	return 0;
}

/* Of a link's own pairs, from that link on: another [[link]] may join the same nodes. */
static int check_new(const struct np_toml_table *t, const struct np_model *model, size_t from)
{
	const int *last = model->link[model->n_links - 1].node;

	for (size_t i = from; i + 1 < model->n_links; i++) {
		const int *node = model->link[i].node;

		if ((node[0] == last[0] && node[1] == last[1]) ||
		    (node[0] == last[1] && node[1] == last[0]))
			return np_toml_wrong(t, "between", "nodes %d and %d stand there twice",
					     last[0], last[1]);
	}
	return 0;
}

static int read_link(const struct np_toml_table *t, struct np_model *model)
{
	json_t *pairs = json_object_get(t->json, "between"), *pair;
	struct np_model_link link = { 0 };
	size_t first = model->n_links;
	int e = read_table(t, "link", true, &link);
	size_t i;

	if (!e && !json_array_size(pairs))
		e = np_toml_wrong(t, "between", "write pairs of nodes such as [[0, 1], [1, 2]]");
	json_array_foreach(pairs, i, pair) {
		if (!e && model->n_links == NP_MODEL_LINKS)
			e = np_toml_wrong(t, "between", "there are more than %d links",
					  NP_MODEL_LINKS);
		if (!e)
			e = check_pair(t, pair, model->n_nodes);
		if (e)
			break;
		for (size_t end = 0; end < 2; end++)
			link.node[end] = (int)json_integer_value(json_array_get(pair, end));
		model->link[model->n_links++] = link;
		e = check_new(t, model, first);
	}
	return e;
}

static int read_links(const struct np_toml_table *t, struct np_model *model)
{
	size_t n = json_array_size(json_object_get(t->json, "link"));
	int e = 0;

	if (!n && model->n_nodes > 1)
		return np_toml_wrong(t, NULL, "%zu nodes need at least one [[model.link]]",
				     model->n_nodes);
	for (size_t i = 0; !e && i < n; i++) {
		struct np_toml_table one = np_toml_element(t, "link", i);

		e = read_link(&one, model);
	}
	return e;
}

/* Of the last level. */
static double cache_latency_ns(json_t *caches)
{
	json_int_t last = 0;
	double latency = 0;
	json_t *cache;
	size_t i;

	json_array_foreach(caches, i, cache) {
		if (json_integer_value(json_object_get(cache, "level")) < last)
			continue;
		last = json_integer_value(json_object_get(cache, "level"));
		latency = json_number_value(json_object_get(cache, "latency_ns"));
	}
	return latency;
}

static int read_model(const struct np_toml_table *t, const struct np_machine *m,
		      struct np_model *model)
{
	struct np_toml_table line = np_toml_sub(t, "line"), lab = np_toml_sub(t, "lab"),
			     c2c = np_toml_sub(t, "c2c"), tlb = np_toml_sub(t, "tlb");
	int e;

	if (m->n_nodes > NP_MODEL_NODES)
		return np_toml_wrong(t, NULL, "there are more than %d nodes", NP_MODEL_NODES);
	memset(model, 0, sizeof(*model));
	memcpy(model->name, m->name, sizeof(model->name));
	model->n_nodes = m->n_nodes;
	e = np_toml_check(t, sections);
	if (!e)
		e = read_table(&line, "line", true, model);
	if (!e && c2c.json)
		e = read_table(&c2c, "c2c", true, NULL);
	if (!e && tlb.json)
		e = read_table(&tlb, "tlb", true, NULL);
	if (!e && lab.json)
		e = read_table(&lab, "lab", true, NULL);
	if (!e)
		e = read_nodes(t, m, model);
	return e ? e : read_links(t, model);
}

int np_machine_file_model(const struct np_toml_table *file, struct np_machine *m,
			  struct np_model *model)
{
	struct np_toml_table t = np_toml_sub(file, "model");
	char why[NP_ERR_LEN / 2];
	int e = read_model(&t, m, model);

	if (e)
		return e;
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->node[i].cpus)
			model->node[i].cache_latency_ns = cache_latency_ns(
				json_object_get(file->json, "cache"));
	if (np_model_prepare(model, why, sizeof(why)))
		return np_toml_wrong(&t, NULL, "%s", why);
	m->model = model;
	m->model_origin = NP_MODEL_FILE;
	return 0;
}
