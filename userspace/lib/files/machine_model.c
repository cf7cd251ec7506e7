// SPDX-License-Identifier: GPL-2.0-only
/* experiments/lab/model_fields.py reads the same tables for the lab; a test compares the two. */
#include "machine_model.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../base/error.h"

#define MB 1e6
#define NODE(member) offsetof(struct np_model_node, member)
#define LINK(member) offsetof(struct np_model_link, member)

/* What a field of the file becomes in policies/model/model.h. */
struct field {
	const char *section, *name;
	size_t offset;
	double factor;
	bool optional;
};

static const struct field core_fields[] = {
	{ "core", "outstanding", NODE(core_outstanding), 1, false },
	{ "core", "bandwidth_mb_s", NODE(core_bytes_per_s), MB, true },
	{ "port", "bandwidth_mb_s", NODE(port_bytes_per_s), MB, false },
	{ "port", "remote_weight", NODE(port_remote_weight), 1, false },
	{ "port", "variability", NODE(port_variability), 1, false },
	{ NULL, NULL, 0, 0, false },
};

static const struct field dram_fields[] = {
	{ "dram", "bandwidth_mb_s", NODE(dram_bytes_per_s), MB, false },
	{ "dram", "latency_ns", NODE(dram_latency_ns), 1, false },
	{ "dram", "variability", NODE(dram_variability), 1, false },
	{ "dram", "local_share", NODE(dram_local_share), 1, true },
	{ "dram", "local_entries", NODE(local_entries), 1, true },
	{ "dram", "remote_entries", NODE(remote_entries), 1, true },
	{ "dram", "local_overflow_loss", NODE(local_overflow_loss), 1, true },
	{ "dram", "remote_overflow_loss", NODE(remote_overflow_loss), 1, true },
	{ "dram", "local_overflow_share", NODE(local_overflow_share), 1, true },
	{ "dram", "stream_loss", NODE(stream_loss), 1, true },
	{ NULL, NULL, 0, 0, false },
};

static const struct field link_fields[] = {
	{ NULL, "bandwidth_mb_s", LINK(bytes_per_s), MB, false },
	{ NULL, "latency_ns", LINK(latency_ns), 1, false },
	{ NULL, "header_bytes", LINK(header_bytes), 1, false },
	{ NULL, "variability", LINK(variability), 1, false },
	{ NULL, NULL, 0, 0, false },
};

struct reader {
	const char *path;
	struct np_machine *m;
	struct np_model *model;
	char *err;
	size_t err_len;
};

static int wrong(const struct reader *r, const char *section, const char *name, const char *what)
{
	return np_fail(r->err, r->err_len, -EINVAL, "%s: model.%s.%s: %s", r->path, section, name,
		       what);
}

/* Fields that the table has; those that it must have and has not are a fault when whole. */
static int set_fields(const struct reader *r, json_t *table, const char *where,
		      const struct field *field, bool whole, void *base)
{
	for (; field->name; field++) {
		json_t *section = field->section ? json_object_get(table, field->section) : table;
		json_t *entry = json_object_get(section, field->name);
		json_t *value = json_object_get(entry, "value");

		if (!entry && (field->optional || !whole))
			continue;
		if (!entry)
			return wrong(r, field->section ? field->section : where, field->name,
				     "is missing");
		if (!json_is_number(value) || !(json_number_value(value) >= 0))
			return wrong(r, field->section ? field->section : where, field->name,
				     "write it as { value = NUMBER from 0, source = \"..\" }");
		*(double *)((char *)base + field->offset) =
			json_number_value(value) * field->factor;
	}
	return 0;
}

/* A node without CPUs has no core and no port, one without memory no controller. */
static int set_node(const struct reader *r, json_t *table, size_t i, bool whole)
{
	struct np_model_node *node = &r->model->node[i];
	int e = 0;

	if (r->m->node[i].cpus)
		e = set_fields(r, table, "node", core_fields, whole, node);
	if (!e && r->m->node[i].has_memory)
		e = set_fields(r, table, "node", dram_fields, whole, node);
	return e;
}

static int set_exceptions(const struct reader *r, json_t *nodes)
{
	json_t *table;
	size_t i;
	int e = 0;

	json_array_foreach(nodes, i, table) {
		json_t *node = json_object_get(table, "node");

		if (!json_is_integer(node) || json_integer_value(node) < 0 ||
		    (size_t)json_integer_value(node) >= r->m->n_nodes)
			return wrong(r, "node", "node", "is no node of this machine");
		e = set_node(r, table, (size_t)json_integer_value(node), false);
		if (e)
			break;
	}
	return e;
}

static int set_link(const struct reader *r, json_t *table, json_t *pair)
{
	struct np_model_link *link = &r->model->link[r->model->n_links];

	if (r->model->n_links == NP_MODEL_LINKS)
		return wrong(r, "link", "between", "there are too many links");
	for (size_t end = 0; end < 2; end++) {
		json_t *node = json_array_get(pair, end);

		if (json_array_size(pair) != 2 || !json_is_integer(node) ||
		    json_integer_value(node) < 0 ||
		    (size_t)json_integer_value(node) >= r->m->n_nodes)
			return wrong(r, "link", "between", "write pairs of nodes such as [[0, 1]]");
		link->node[end] = (int)json_integer_value(node);
	}
	r->model->n_links++;
	return set_fields(r, table, "link", link_fields, true, link);
}

static int set_links(const struct reader *r, json_t *links)
{
	json_t *table, *pair;
	size_t i, k;
	int e = 0;

	json_array_foreach(links, i, table)
		json_array_foreach(json_object_get(table, "between"), k, pair)
			if (!e)
				e = set_link(r, table, pair);
	return e;
}

static void set_cache_latency(const struct reader *r, json_t *caches)
{
	json_t *cache;
	json_int_t last = 0;
	double latency = 0;
	size_t i;

	json_array_foreach(caches, i, cache) {
		if (json_integer_value(json_object_get(cache, "level")) < last)
			continue;
		last = json_integer_value(json_object_get(cache, "level"));
		latency = json_number_value(json_object_get(cache, "latency_ns"));
	}
	for (i = 0; i < r->m->n_nodes; i++)
		if (r->m->node[i].cpus)
			r->model->node[i].cache_latency_ns = latency;
}

int np_machine_file_model(json_t *file, const char *path, struct np_machine *m,
			  struct np_model *model, char *err, size_t err_len)
{
	struct reader r = { .path = path, .m = m, .model = model, .err = err, .err_len = err_len };
	json_t *table = json_object_get(file, "model"), *line;
	char why[NP_ERR_LEN / 2];
	int e = 0;

	memset(model, 0, sizeof(*model));
	if (m->n_nodes > NP_MODEL_NODES)
		return np_fail(err, err_len, -EINVAL, "%s: model: there are more than %d nodes",
			       path, NP_MODEL_NODES);
	memcpy(model->name, m->name, sizeof(model->name));
	model->n_nodes = m->n_nodes;
	line = json_object_get(json_object_get(json_object_get(table, "line"), "bytes"), "value");
	if (!json_is_number(line))
		return wrong(&r, "line", "bytes", "is missing");
	model->line_bytes = json_number_value(line);
	for (size_t i = 0; !e && i < m->n_nodes; i++)
		e = set_node(&r, table, i, true);
	if (!e)
		e = set_exceptions(&r, json_object_get(table, "node"));
	if (!e)
		e = set_links(&r, json_object_get(table, "link"));
	if (e)
		return e;
	set_cache_latency(&r, json_object_get(file, "cache"));
	if (np_model_prepare(model, why, sizeof(why)))
		return np_fail(err, err_len, -EINVAL, "%s: model: %s", path, why);
	m->model = model;
	m->model_origin = NP_MODEL_FILE;
	return 0;
}
