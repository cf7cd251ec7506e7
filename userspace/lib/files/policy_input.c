// SPDX-License-Identifier: GPL-2.0-only
#include "policy_input.h"

#include <numa.h>
#include <stdio.h>
#include <string.h>

#include "../../../policies/model/fields.h"
#include "../host/tasks.h"
#include "json.h"

static const char *const mem_name[] = {
	[NP_MEM_AUTO] = "auto",		  [NP_MEM_LEAVE] = "leave",
	[NP_MEM_PREFERRED] = "preferred", [NP_MEM_INTERLEAVE] = "interleave",
	[NP_MEM_WEIGHTED] = "weighted",
};

const char *np_mem_policy_name(enum np_mem_policy mem)
{
	return mem_name[mem];
}

bool np_mem_policy_find(const char *name, enum np_mem_policy *mem)
{
	for (*mem = NP_MEM_AUTO; *mem <= NP_MEM_WEIGHTED; (*mem)++)
		if (!strcmp(name, mem_name[*mem]))
			return true;
	return false;
}

static const char *const origin_name[] = {
	[NP_MODEL_NONE] = "none",
	[NP_MODEL_FILE] = "machine file",
	[NP_MODEL_DERIVED] = "derived from distances",
	[NP_MODEL_SIMULATOR] = "the simulator's own",
};

const char *np_model_origin_name(enum np_model_origin origin)
{
	return origin_name[origin];
}

bool np_model_origin_find(const char *name, enum np_model_origin *origin)
{
	for (size_t i = 0; i < sizeof(origin_name) / sizeof(*origin_name); i++)
		if (!strcmp(name, origin_name[i])) {
			*origin = (enum np_model_origin)i;
			return true;
		}
	return false;
}

static json_t *known(const struct np_known *k)
{
	return np_json_known(k->value, k->source);
}

/* 0: not known. */
static json_t *amount(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *distances_json(const struct np_machine *m, size_t i)
{
	json_t *distances = json_array();

	for (size_t k = 0; k < m->n_nodes; k++)
		json_array_append_new(distances, json_integer(m->distance[i * m->n_nodes + k]));
	return distances;
}

static json_t *node_json(const struct np_machine *m, size_t i)
{
	const struct np_node *node = &m->node[i];
	struct bitmask *cpus = np_machine_cpus_of_node(m, (int)i);
	json_t *j = json_pack("{s:i,s:o,s:i,s:b,s:I,s:I,s:o,s:o,s:o,s:o}", "id", node->id, "cpus",
			      np_json_list(cpus), "usable_cpus", (int)node->cpus, "has_memory",
			      node->has_memory, "mem_total", (json_int_t)node->mem_total,
			      "mem_free", (json_int_t)node->mem_free, "distances",
			      distances_json(m, i), "traffic", known(&node->traffic), "bandwidth",
			      amount(node->bandwidth), "latency_ns", amount(node->latency_ns));

	numa_bitmask_free(cpus);
	return j;
}

json_t *np_json_nodes(const struct np_machine *m)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < m->n_nodes; i++)
		json_array_append_new(nodes, node_json(m, i));
	return nodes;
}

json_t *np_json_machine(const struct np_machine *m)
{
	return json_pack("{s:o,s:I,s:o}", "name", np_json_text(m->name), "page_size",
			 (json_int_t)m->page_size, "nodes", np_json_nodes(m));
}

static void add_fields(json_t *object, enum np_model_scope scope, const void *from)
{
	const struct np_model_field *f = NULL;

	while ((f = np_model_field_next(scope, f)))
		json_object_set_new(object, f->member, json_real(np_model_value(f, from)));
}

static json_t *model_node_json(const struct np_model *model, int i)
{
	const struct np_model_node *n = &model->node[i];
	json_t *j = json_object(), *unloaded = json_array();

	add_fields(j, NP_SCOPE_NODE, n);
	for (int to = 0; to < (int)model->n_nodes; to++)
		json_array_append_new(unloaded, json_real(np_model_unloaded_ns(model, i, to)));
	json_object_set_new(j, "unloaded_ns", unloaded);
	return j;
}

static json_t *model_link_json(const struct np_machine *m, const struct np_model_link *l)
{
	json_t *j = json_pack("{s:[o,o]}", "nodes", np_json_node(m, l->node[0]),
			      np_json_node(m, l->node[1]));

	add_fields(j, NP_SCOPE_LINK, l);
	return j;
}

json_t *np_json_model(const struct np_machine *m)
{
	const struct np_model *model = m->model;
	json_t *nodes, *links;

	if (!model || model->n_nodes != m->n_nodes)
		return json_null();
	nodes = json_array();
	links = json_array();
	for (int i = 0; i < (int)model->n_nodes; i++)
		json_array_append_new(nodes, model_node_json(model, i));
	for (size_t i = 0; i < model->n_links; i++)
		json_array_append_new(links, model_link_json(m, &model->link[i]));
	return json_pack("{s:s,s:f,s:o,s:o}", "origin", np_model_origin_name(m->model_origin),
			 "line_bytes", model->line_bytes, "nodes", nodes, "links", links);
}

json_t *np_json_task(const struct np_machine *m, const struct np_task *t)
{
	double locality = np_task_locality(m, t);

	return json_pack("{s:i,s:o,s:i,s:i,s:o,s:o,s:o*,s:o,s:o,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:"
			 "o,s:o,s:o,s:o}",
			 "pid", t->pid, "comm", np_json_text(t->comm), "threads", (int)t->threads,
			 "cores", (int)t->cores, "node", np_json_node(m, t->node), "pages",
			 np_json_pages(m, t->pages), "shm_pages",
			 t->shm_pages ? np_json_pages(m, t->shm_pages) : NULL, "locality",
			 locality < 0 ? json_null() : json_real(locality), "penalty",
			 np_json_known(t->penalty, t->penalty_source), "penalty_distance",
			 t->penalty_distance, "mpki", np_json_known(t->mpki, t->mpki_source), "ipc",
			 known(&t->ipc), "cycles", known(&t->cycles), "bandwidth",
			 known(&t->bandwidth), "local_access", known(&t->local_access), "age_s",
			 known(&t->age_s), "shared_pages", (json_int_t)t->shared_pages, "writes",
			 known(&t->writes), "outstanding", known(&t->outstanding), "accesses",
			 t->accesses ? np_json_reals(m, t->accesses) : json_null(), "memory",
			 t->memory[0] ? np_json_text(t->memory) : json_null());
}

static json_t *nodes_where(const struct np_machine *m, const struct np_task *t,
			   bool (*is)(const struct np_machine *m, const struct np_task *t,
				      int node))
{
	json_t *list = json_array();

	for (int node = 0; node < (int)m->n_nodes; node++)
		if (is(m, t, node))
			json_array_append_new(list, np_json_node(m, node));
	return list;
}

/* As struct np_task has it. */
static bool runs_on(const struct np_machine *m, const struct np_task *t, int node)
{
	return t->node != NP_NODE_NONE ? node == t->node :
					 m->node[node].cpus && (!t->on || t->on[node]);
}

void np_json_add_limits(json_t *object, const struct np_machine *m, const struct np_task *t)
{
	json_object_set_new(object, "may_run", nodes_where(m, t, np_may_run));
	json_object_set_new(object, "may_hold", nodes_where(m, t, np_may_hold));
	json_object_set_new(object, "runs_on", nodes_where(m, t, runs_on));
}

json_t *np_json_options(const struct np_policy *policy, const struct np_options *o)
{
	json_t *object = json_object();
	char text[64];

	for (size_t i = 0; i < np_options_count(policy); i++) {
		const struct np_option *option = &policy->option[i];
		json_t *value;

		if (option->type == NP_OPT_ENUM)
			value = json_string(
				np_option_text(option, o->value[i], text, sizeof(text)));
		else if (option->type == NP_OPT_BOOL)
			value = json_boolean(o->value[i] != 0);
		else
			value = json_real(o->value[i]);
		json_object_set_new(object, option->name, value);
	}
	return object;
}
