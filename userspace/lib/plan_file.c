// SPDX-License-Identifier: GPL-2.0-only
#include "plan_file.h"

#include <errno.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "proc.h"
#include "room.h"
#include "snapshot.h"

static char *boot_id(void)
{
	char *id = np_read_file("/proc/sys/kernel/random/boot_id");

	if (id)
		id[strcspn(id, "\n")] = '\0';
	return id;
}

static json_t *options_json(const struct np_planning *p)
{
	json_t *options = json_array();
	char value[64];

	for (size_t i = 0; i < np_options_count(p->policy); i++)
		json_array_append_new(options, json_sprintf("%s=%s", p->policy->option[i].name,
			np_option_text(&p->policy->option[i], p->options.value[i], value,
				       sizeof(value))));
	return options;
}

static json_t *spread_json(const struct np_planning *p, const struct np_decision *d)
{
	json_t *weights;

	if (d->spread == NP_NODE_NONE)
		return json_null();
	weights = json_array();
	for (size_t k = 0; k < p->machine.n_nodes; k++)
		json_array_append_new(weights, json_integer(
			p->plan.spread[(size_t)d->spread * p->machine.n_nodes + k]));
	return weights;
}

/* What the policy decided, and what was predicted of it: the model is not kept. */
static json_t *decided_json(const struct np_planning *p, size_t i)
{
	const struct np_decision *d = &p->plan.decision[i];

	return json_pack("{s:o,s:o,s:o,s:i,s:f,s:f,s:s,s:f,s:s,s:o}", "to",
			 np_json_node(&p->machine, d->to),
			 "pages_to", np_json_node(&p->machine, d->pages_to), "spread",
			 spread_json(p, d), "mem", (int)d->mem, "bonus", d->bonus, "penalty",
			 d->penalty, "penalty_source", np_source_name(d->penalty_source), "gain",
			 d->gain, "gain_source", np_source_name(d->gain_source), "reason",
			 np_json_text(d->reason));
}

static json_t *predicted_json(const struct np_planning *p)
{
	const struct np_plan *plan = &p->plan;

	if (plan->throughput[1].source != NP_SOURCE_MODEL)
		return json_null();
	return json_pack("{s:[f,f],s:[f,f],s:i}", "throughput", plan->throughput[0].value,
			 plan->throughput[1].value, "fairness", plan->fairness[0].value,
			 plan->fairness[1].value, "model", (int)p->machine.model_origin);
}

int np_plan_file_save(const struct np_planning *p, bool live, const char *path, char *err,
		      size_t err_len)
{
	json_t *root = np_snapshot_json(p->where, &p->machine, &p->tasks), *decided = json_array();
	char *boot = live ? boot_id() : NULL;
	int e = 0;

	for (size_t i = 0; i < p->plan.n; i++)
		json_array_append_new(decided, decided_json(p, i));
	json_object_set_new(root, "plan", json_integer(NP_PLAN_FILE_VERSION));
	json_object_set_new(root, "boot", boot ? json_string(boot) : json_null());
	json_object_set_new(root, "policy", json_string(p->policy->name));
	json_object_set_new(root, "options", options_json(p));
	json_object_set_new(root, "predicted", predicted_json(p));
	json_object_set_new(root, "decided", decided);
	if (json_array_size(decided) != p->plan.n)
		e = np_fail(err, err_len, -ENOMEM, "out of memory");
	else if (json_dump_file(root, path, JSON_INDENT(1)))
		e = np_fail(err, err_len, errno ? -errno : -EIO, "plan %s cannot be written: %s",
			    path, strerror(errno));
	json_decref(root);
	free(boot);
	return e;
}

/* What is read, for errors that say where. */
struct source {
	const char *name;
	char *err;
	size_t err_len;
};

static int wrong(const struct source *s, size_t i, const char *key, const char *what)
{
	return np_fail(s->err, s->err_len, -EINVAL, "plan %s: decided[%zu].%s %s", s->name, i, key,
		       what);
}

static int read_node(const struct source *s, size_t i, const json_t *object, const char *key,
		     const struct np_machine *m, int *node)
{
	const json_t *j = json_object_get(object, key);

	*node = NP_NODE_NONE;
	if (json_is_null(j))
		return 0;
	if (json_is_integer(j))
		*node = np_machine_node_index(m, (int)json_integer_value(j));
	return *node == NP_NODE_NONE ? wrong(s, i, key, "is no node of its machine") : 0;
}

static int read_spread(const struct source *s, size_t i, const json_t *object,
		       const struct np_machine *m, struct np_plan *plan)
{
	const json_t *weights = json_object_get(object, "spread");
	uint8_t *weight;

	if (json_is_null(weights))
		return 0;
	if (json_array_size(weights) != m->n_nodes)
		return wrong(s, i, "spread", "has not one weight for each node");
	weight = calloc(m->n_nodes, sizeof(*weight));
	if (!weight)
		return np_fail(s->err, s->err_len, -ENOMEM, "out of memory");
	for (size_t k = 0; k < m->n_nodes; k++)
		weight[k] = (uint8_t)json_integer_value(json_array_get(weights, k));
	plan->decision[i].spread = np_plan_spread(plan, m->n_nodes, weight);
	free(weight);
	return 0;
}

static int read_decided(const struct source *s, size_t i, const json_t *object,
			struct np_planning *p)
{
	struct np_decision *d = &p->plan.decision[i];
	const char *source = json_string_value(json_object_get(object, "penalty_source"));
	const char *reason = json_string_value(json_object_get(object, "reason"));
	json_int_t mem = json_integer_value(json_object_get(object, "mem"));
	int e = read_node(s, i, object, "to", &p->machine, &d->to);

	if (!e)
		e = read_node(s, i, object, "pages_to", &p->machine, &d->pages_to);
	if (!e)
		e = read_spread(s, i, object, &p->machine, &p->plan);
	if (e)
		return e;
	if (mem < NP_MEM_AUTO || mem > NP_MEM_WEIGHTED)
		return wrong(s, i, "mem", "is no memory policy");
	if (!source || !np_source_find(source, &d->penalty_source) || !reason)
		return wrong(s, i, "penalty_source", "or reason is missing");
	d->mem = (enum np_mem_policy)mem;
	d->bonus = json_number_value(json_object_get(object, "bonus"));
	d->penalty = json_number_value(json_object_get(object, "penalty"));
	snprintf(d->reason, sizeof(d->reason), "%s", reason);
	return 0;
}

/*
 * A policy from a shared object is not needed again: its name and the options that
 * follow from decisions, NP_OPTION_PENALTY and NP_OPTION_RATE, stand for it.
 */
static int read_plugin(const struct source *s, const char *name, const json_t *options,
		       struct np_planning *p)
{
	static const struct np_option kept[] = { NP_OPTION_PENALTY, NP_OPTION_RATE, { 0 } };
	char why[NP_ERR_LEN];

	p->plugin = calloc(1, sizeof(*p->plugin));
	if (!p->plugin)
		return np_fail(s->err, s->err_len, -ENOMEM, "out of memory");
	snprintf(p->plugin->name, sizeof(p->plugin->name), "%s", name);
	p->plugin->policy = (struct np_policy) {
		.name = p->plugin->name, .summary = "", .origin = "plug-in", .needs = "nothing",
		.option = kept,
	};
	p->policy = &p->plugin->policy;
	np_options_defaults(p->policy, &p->options);
	for (size_t i = 0; i < json_array_size(options); i++) {
		const char *word = json_string_value(json_array_get(options, i));

		if (!word)
			return np_fail(s->err, s->err_len, -EINVAL, "plan %s: an option is not a text",
				       s->name);
		if ((!strncmp(word, "penalty=", 8) || !strncmp(word, "rate=", 5)) &&
		    np_options_set(p->policy, &p->options, word, why, sizeof(why)))
			return np_fail(s->err, s->err_len, -EINVAL, "plan %s: %.200s", s->name, why);
	}
	return 0;
}

static int read_policy(const struct source *s, const json_t *root, struct np_planning *p)
{
	const char *name = json_string_value(json_object_get(root, "policy"));
	const json_t *options = json_object_get(root, "options");
	char why[NP_ERR_LEN];

	if (!name)
		return np_fail(s->err, s->err_len, -EINVAL, "plan %s: policy is missing", s->name);
	p->policy = np_policy_find(name);
	if (!p->policy)
		return read_plugin(s, name, options, p);
	np_options_defaults(p->policy, &p->options);
	for (size_t i = 0; i < json_array_size(options); i++) {
		const char *word = json_string_value(json_array_get(options, i));

		if (!word || np_options_set(p->policy, &p->options, word, why, sizeof(why)))
			return np_fail(s->err, s->err_len, -EINVAL, "plan %s: %.200s", s->name,
				       word ? why : "an option is not a text");
	}
	return 0;
}

static void recall(const json_t *pair, struct np_known known[2])
{
	for (size_t i = 0; i < 2; i++)
		known[i] = (struct np_known) { json_number_value(json_array_get(pair, i)),
					       NP_SOURCE_MODEL };
}

/* What the model said when the plan was made, where it said something. */
static void recall_prediction(const json_t *root, struct np_planning *p)
{
	const json_t *predicted = json_object_get(root, "predicted");
	json_int_t model = json_integer_value(json_object_get(predicted, "model"));

	if (!json_is_object(predicted) || model < NP_MODEL_NONE || model > NP_MODEL_DERIVED)
		return;
	p->machine.model_origin = (enum np_model_origin)model;
	recall(json_object_get(predicted, "throughput"), p->plan.throughput);
	recall(json_object_get(predicted, "fairness"), p->plan.fairness);
	for (size_t i = 0; i < p->plan.n; i++) {
		const json_t *one = json_array_get(json_object_get(root, "decided"), i);
		struct np_decision *d = &p->plan.decision[i];

		d->gain = json_number_value(json_object_get(one, "gain"));
		if (!np_source_find(json_string_value(json_object_get(one, "gain_source")) ?: "",
				    &d->gain_source))
			d->gain_source = NP_SOURCE_NONE;
	}
}

/* The decisions over the machine and the tasks that p has, and what follows from them. */
static int decide(const struct source *s, const json_t *root, struct np_planning *p)
{
	const json_t *decided = json_object_get(root, "decided");
	int e;

	if (json_array_size(decided) != p->tasks.n)
		return np_fail(s->err, s->err_len, -EINVAL, "plan %s has %zu tasks and %zu decisions",
			       s->name, p->tasks.n, json_array_size(decided));
	if (np_plan_init(&p->plan, &p->machine, p->tasks.n))
		return np_fail(s->err, s->err_len, -ENOMEM, "out of memory");
	e = np_plan_begin(p->policy, &p->machine, p->tasks.task, &p->options, &p->plan);
	for (size_t i = 0; !e && i < p->tasks.n; i++) {
		e = read_decided(s, i, json_array_get(decided, i), p);
		if (e)
			return e;
	}
	if (!e)
		e = np_plan_finish(p->policy, &p->machine, p->tasks.task, &p->options, &p->plan);
	if (!e)
		e = np_plan_order(&p->plan, &p->machine, p->tasks.task);
	if (!e)
		recall_prediction(root, p);
	return e ? np_fail(s->err, s->err_len, e, "plan %s breaks the rules of a plan: a node without "
			   "CPUs or memory, or a number that makes no sense", s->name) : 0;
}

/* The plan as it was saved; *root is the caller's to release. */
static int parse(struct np_planning *p, const char *text, size_t len, const char *name,
		 json_t **root, char *err, size_t err_len)
{
	const struct source s = { name, err, err_len };
	struct np_snapshot snapshot;
	json_error_t why;
	int e;

	memset(p, 0, sizeof(*p));
	*root = json_loadb(text, len, 0, &why);
	if (!*root)
		return np_fail(err, err_len, -EINVAL, "plan %s is not JSON: line %d: %.160s", name,
			       why.line, why.text);
	if (json_integer_value(json_object_get(*root, "plan")) != NP_PLAN_FILE_VERSION)
		return np_fail(err, err_len, -EINVAL, "%s is no plan of version %d; `numaplace plan "
			       "--save FILE` writes one", name, NP_PLAN_FILE_VERSION);
	e = np_snapshot_parse(text, len, name, &snapshot, err, err_len);
	if (e)
		return e;
	p->where = snapshot.where;
	p->machine = snapshot.machine;
	p->tasks = snapshot.tasks;
	e = read_policy(&s, *root, p);
	if (!e)
		e = decide(&s, *root, p);
	if (e)
		np_planning_free(p);
	return e;
}

int np_plan_file_parse(struct np_planning *p, const char *text, size_t len, const char *name,
		       char *err, size_t err_len)
{
	json_t *root;
	int e = parse(p, text, len, name, &root, err, err_len);

	json_decref(root);
	return e;
}

static int read_file(struct np_planning *p, const char *path, json_t **root, char *err,
		     size_t err_len)
{
	char *text = np_read_file(path);
	int e;

	*root = NULL;
	if (!text)
		return np_fail(err, err_len, -errno, "plan %s cannot be read: %s", path,
			       strerror(errno));
	e = parse(p, text, strlen(text), path, root, err, err_len);
	free(text);
	return e;
}

int np_plan_file_read(struct np_planning *p, const char *path, char *err, size_t err_len)
{
	json_t *root;
	int e = read_file(p, path, &root, err, err_len);

	json_decref(root);
	return e;
}

static int stale(const char *path, char *err, size_t err_len, const char *why)
{
	return np_fail(err, err_len, -ESTALE, "plan %s cannot be applied: %s; make a new one", path,
		       why);
}

/* MemTotal changes by some pages when the kernel frees what only the boot needed. */
static bool same_memory(const struct np_node *a, const struct np_node *b)
{
	uint64_t more = a->mem_total > b->mem_total ? a->mem_total : b->mem_total;
	uint64_t less = a->mem_total > b->mem_total ? b->mem_total : a->mem_total;

	return a->has_memory == b->has_memory && more - less <= more / 100;
}

/* Why the machine is not the same any more; false when it is. */
static bool differs(const struct np_machine *then, const struct np_machine *now, char *why,
		    size_t len)
{
	if (strcmp(then->name, now->name))
		return snprintf(why, len, "it was made on machine %s, this is %s", then->name,
				now->name);
	if (then->n_nodes != now->n_nodes)
		return snprintf(why, len, "the machine had %zu nodes and has %zu", then->n_nodes,
				now->n_nodes);
	for (size_t i = 0; i < now->n_nodes; i++) {
		const struct np_node *a = &then->node[i], *b = &now->node[i];

		if (a->id != b->id)
			return snprintf(why, len, "the machine had node %d and has node %d", a->id,
					b->id);
		if (!same_memory(a, b))
			return snprintf(why, len, "node %d had %llu MiB of memory and has %llu",
					a->id, (unsigned long long)a->mem_total >> 20,
					(unsigned long long)b->mem_total >> 20);
	}
	for (size_t cpu = 0; cpu < then->n_cpus || cpu < now->n_cpus; cpu++) {
		int a = cpu < then->n_cpus ? then->cpu_node[cpu] : NP_NODE_NONE;
		int b = cpu < now->n_cpus ? now->cpu_node[cpu] : NP_NODE_NONE;

		if (a != b)
			return snprintf(why, len, "CPU %zu was %s and is %s", cpu,
					a == NP_NODE_NONE ? "offline" : "online",
					b == NP_NODE_NONE ? "offline" : a == NP_NODE_NONE ? "online" :
					"on another node");
	}
	for (size_t i = 0; i < now->n_nodes * now->n_nodes; i++)
		if (then->distance[i] != now->distance[i])
			return snprintf(why, len, "the distance from node %d to %d was %d and is %d",
					now->node[i / now->n_nodes].id, now->node[i % now->n_nodes].id,
					then->distance[i], now->distance[i]);
	return false;
}

static int check(const struct np_planning *p, const struct np_machine *now, const json_t *root,
		 const char *path, char *err, size_t err_len)
{
	const char *made_in = json_string_value(json_object_get(root, "boot"));
	char why[160], *boot;
	bool other;

	if (!made_in)
		return stale(path, err, err_len, "it was made from a snapshot, not from running tasks");
	if (differs(&p->machine, now, why, sizeof(why)))
		return stale(path, err, err_len, why);
	boot = boot_id();
	other = !boot || strcmp(boot, made_in);
	free(boot);
	return other ? stale(path, err, err_len, "the machine was booted since") : 0;
}

/* Pages and CPUs of task i as they are now; false when it has exited. */
static bool refresh(struct np_planning *p, size_t i)
{
	size_t nodes = p->machine.n_nodes;
	struct np_tasks now;
	char err[NP_ERR_LEN];
	bool same;

	if (np_tasks_read(&now, &p->machine, &p->tasks.task[i].pid, 1, 0, err, sizeof(err)))
		return false;
	same = now.start[0] == p->tasks.start[i];
	if (same) {
		memcpy(p->tasks.pages + i * nodes, now.pages, nodes * sizeof(*now.pages));
		copy_bitmask_to_bitmask(now.cpus[0], p->tasks.cpus[i]);
		p->tasks.task[i].node = now.task[0].node;
		p->tasks.task[i].threads = now.task[0].threads;
	}
	np_tasks_free(&now);
	return same;
}

static int renew(struct np_planning *p, struct np_machine *now, const json_t *root,
		 const char *path, size_t *gone, char *err, size_t err_len)
{
	const struct source s = { path, err, err_len };
	int e = check(p, now, root, path, err, err_len);

	if (e)
		return e;
	np_plan_free(&p->plan);
	np_machine_free(&p->machine);
	p->machine = *now;
	*now = (struct np_machine) { 0 };
	*gone = 0;
	for (size_t i = 0; i < p->tasks.n; i++)
		*gone += !refresh(p, i);
	if (np_confined_read(&p->confined, &p->machine, &p->tasks, NULL))
		return np_fail(err, err_len, -ENOMEM, "out of memory");
	return decide(&s, root, p);
}

int np_plan_file_renew(struct np_planning *p, const char *path, size_t *gone, char *err,
		       size_t err_len)
{
	struct np_machine now;
	json_t *root;
	int e = read_file(p, path, &root, err, err_len);

	if (!e) {
		e = np_machine_read(&now, "", err, err_len);
		if (!e) {
			np_room_add_cache(&now);
			e = renew(p, &now, root, path, gone, err, err_len);
			np_machine_free(&now);
		}
		if (e)
			np_planning_free(p);
	}
	json_decref(root);
	return e;
}
