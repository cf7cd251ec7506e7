// SPDX-License-Identifier: GPL-2.0-only
#include "plan_file.h"

#include <errno.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/replace_file.h"
#include "../files/json.h"
#include "../files/policy_input.h"
#include "../files/snapshot.h"
#include "../host/numa_balancing.h"
#include "../host/proc.h"
#include "../host/reclaimable.h"

#define PLAN_FORMAT (JSON_INDENT(2) | JSON_REAL_PRECISION(10))

/* Of enum np_mem_policy. */
static const char *const mem_name[] = {
	[NP_MEM_AUTO] = "auto", [NP_MEM_LEAVE] = "leave", [NP_MEM_PREFERRED] = "preferred",
	[NP_MEM_INTERLEAVE] = "interleave", [NP_MEM_WEIGHTED] = "weighted",
};

/* What is printed of the decisions, and the rest of what the policy has decided. */
static json_t *planning_json(const struct np_planning *p)
{
	json_t *planning = np_planning_json(p);

	for (size_t i = 0; i < p->plan.n; i++) {
		json_t *one = json_array_get(json_object_get(planning, "decisions"), i);
		const struct np_decision *d = &p->plan.decision[i];

		json_object_set_new(one, "mem", json_string(mem_name[d->mem]));
		json_object_set_new(one, "bonus", json_real(d->bonus));
	}
	return planning;
}

json_t *np_plan_file_json(const struct np_planning *p)
{
	json_t *root = np_snapshot_json(p->platform, &p->machine, &p->tasks);
	json_t *planning = planning_json(p);

	json_object_set_new(root, "plan", json_integer(NP_PLAN_FILE_VERSION));
	json_object_set_new(root, "boot", p->boot[0] ? json_string(p->boot) : json_null());
	json_object_update_missing(root, planning);
	json_decref(planning);
	return root;
}

/* By rename, but for what cannot be replaced: /dev/stdout, a pipe, a link. */
static int write_json(const json_t *root, const char *path)
{
	struct np_fresh fresh;
	struct stat st;
	int e;

	errno = 0;
	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return json_dump_file(root, path, PLAN_FORMAT) ? -(errno ? errno : EIO) : 0;
	e = np_fresh_open(&fresh, path);
	if (e)
		return e;
	if (!json_dumpf(root, fresh.f, PLAN_FORMAT))
		return np_fresh_keep(&fresh, path, false);
	np_fresh_drop(&fresh);
	return -(errno ? errno : EIO);
}

int np_plan_file_save(const struct np_planning *p, const char *path, char *err, size_t err_len)
{
	json_t *root = np_plan_file_json(p);
	int e = write_json(root, path);

	if (e)
		np_fail(err, err_len, e, "plan %s cannot be written: %s", path, strerror(-e));
	json_decref(root);
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
	return np_fail(s->err, s->err_len, -EINVAL, "plan %s: decisions[%zu].%s %s", s->name, i, key,
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
	unsigned int sum = 0;
	uint8_t *weight;
	char id[16];

	if (json_is_null(weights))
		return 0;
	weight = calloc(m->n_nodes, sizeof(*weight));
	if (!weight)
		return np_fail(s->err, s->err_len, -ENOMEM, "out of memory");
	for (size_t k = 0; k < m->n_nodes; k++) {
		snprintf(id, sizeof(id), "%d", m->node[k].id);
		weight[k] = (uint8_t)json_integer_value(json_object_get(weights, id));
		sum += weight[k];
	}
	if (sum)
		plan->decision[i].spread = np_plan_spread(plan, m->n_nodes, weight);
	free(weight);
	return sum ? 0 : wrong(s, i, "spread", "has a weight for no node");
}

/* Left out by older plans: no task is on several nodes then. */
static int read_nodes(const struct source *s, size_t i, const json_t *object,
		      const struct np_machine *m, struct np_plan *plan)
{
	const json_t *list = json_object_get(object, "to_nodes"), *id;
	uint8_t *in;
	size_t at;

	if (!list || json_is_null(list))
		return 0;
	in = calloc(m->n_nodes, sizeof(*in));
	if (!in)
		return np_fail(s->err, s->err_len, -ENOMEM, "out of memory");
	json_array_foreach(list, at, id) {
		int node = json_is_integer(id) ? np_machine_node_index(m, (int)json_integer_value(id)) :
			   NP_NODE_NONE;

		if (node == NP_NODE_NONE)
			break;
		in[node] = 1;
	}
	if (at && at == json_array_size(list))
		plan->decision[i].nodes = np_plan_spread(plan, m->n_nodes, in);
	free(in);
	return plan->decision[i].nodes != NP_NODE_NONE ? 0 :
	       wrong(s, i, "to_nodes", "is no list of nodes of its machine");
}

static bool read_mem(const json_t *object, enum np_mem_policy *mem)
{
	const char *name = json_string_value(json_object_get(object, "mem")) ?: "";

	for (*mem = NP_MEM_AUTO; *mem <= NP_MEM_WEIGHTED; (*mem)++)
		if (!strcmp(name, mem_name[*mem]))
			return true;
	return false;
}

static int read_decided(const struct source *s, size_t i, const json_t *object,
			struct np_planning *p)
{
	struct np_decision *d = &p->plan.decision[i];
	const json_t *penalty = json_object_get(object, "penalty"), *value;
	const char *source = json_string_value(json_object_get(penalty, "source"));
	const char *reason = json_string_value(json_object_get(object, "reason"));
	int e = read_node(s, i, object, "to", &p->machine, &d->to);

	if (!e)
		e = read_node(s, i, object, "pages_to", &p->machine, &d->pages_to);
	if (!e)
		e = read_spread(s, i, object, &p->machine, &p->plan);
	if (!e)
		e = read_nodes(s, i, object, &p->machine, &p->plan);
	if (e)
		return e;
	if (!read_mem(object, &d->mem))
		return wrong(s, i, "mem", "is no memory policy");
	if (!source || !np_provenance_find(source, &d->penalty_source) || !reason)
		return wrong(s, i, "penalty.source", "or reason is missing");
	d->bonus = json_number_value(json_object_get(object, "bonus"));
	value = json_object_get(penalty, "value");
	if (json_is_number(value))
		d->penalty = json_number_value(value);
	snprintf(d->reason, sizeof(d->reason), "%s", reason);
	return 0;
}

/* One option as it would be said: "pages=stay"; false for what is no value. */
static bool option_word(const char *name, const json_t *value, char *word, size_t len)
{
	if (json_is_boolean(value))
		snprintf(word, len, "%s=%s", name, json_is_true(value) ? "on" : "off");
	else if (json_is_number(value))
		snprintf(word, len, "%s=%.10g", name, json_number_value(value));
	else if (json_is_string(value))
		snprintf(word, len, "%s=%s", name, json_string_value(value));
	else
		return false;
	return true;
}

/*
 * A policy from a shared object is not needed again: its name and the options that
 * follow from decisions, NP_OPTION_PENALTY and NP_OPTION_RATE, stand for it.
 */
static int read_plugin(const struct source *s, const char *name, json_t *options,
		       struct np_planning *p)
{
	static const struct np_option kept[] = { NP_OPTION_PENALTY, NP_OPTION_RATE, { 0 } };
	char why[NP_ERR_LEN], word[128];
	const char *key;
	json_t *value;

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
	json_object_foreach(options, key, value) {
		if (!option_word(key, value, word, sizeof(word)))
			return np_fail(s->err, s->err_len, -EINVAL, "plan %s: option %.64s has no "
				       "value", s->name, key);
		if ((!strcmp(key, "penalty") || !strcmp(key, "rate")) &&
		    np_options_set(p->policy, &p->options, word, why, sizeof(why)))
			return np_fail(s->err, s->err_len, -EINVAL, "plan %s: %.200s", s->name, why);
	}
	return 0;
}

static int read_policy(const struct source *s, const json_t *root, struct np_planning *p)
{
	const char *name = json_string_value(json_object_get(root, "policy")), *key;
	json_t *options = json_object_get(root, "options"), *value;
	char why[NP_ERR_LEN] = "an option has no value", word[128];

	if (!name)
		return np_fail(s->err, s->err_len, -EINVAL, "plan %s: policy is missing", s->name);
	p->policy = np_policy_find(name);
	if (!p->policy)
		return read_plugin(s, name, options, p);
	np_options_defaults(p->policy, &p->options);
	json_object_foreach(options, key, value)
		if (!option_word(key, value, word, sizeof(word)) ||
		    np_options_set(p->policy, &p->options, word, why, sizeof(why)))
			return np_fail(s->err, s->err_len, -EINVAL, "plan %s: %.200s", s->name, why);
	return 0;
}

static void recall(const json_t *pair, struct np_known known[2])
{
	for (size_t i = 0; i < 2; i++)
		known[i] = (struct np_known) { json_number_value(json_array_get(pair, i)),
					       NP_PROVENANCE_MODEL };
}

static void recall_decision(const json_t *one, struct np_decision *d)
{
	const json_t *traffic = json_object_get(json_object_get(one, "traffic"), "predicted");

	d->gain = json_number_value(json_object_get(one, "gain"));
	if (!np_provenance_find(json_string_value(json_object_get(one, "gain_source")) ?: "",
				&d->gain_source))
		d->gain_source = NP_PROVENANCE_NONE;
	d->traffic.value = json_number_value(json_object_get(traffic, "value"));
	if (!np_provenance_find(json_string_value(json_object_get(traffic, "source")) ?: "",
				&d->traffic.source))
		d->traffic.source = NP_PROVENANCE_NONE;
}

/* What the model said when the plan was made, where it said something. */
static void recall_prediction(const json_t *root, struct np_planning *p)
{
	const json_t *predicted = json_object_get(root, "predicted");
	const char *source = json_string_value(json_object_get(predicted, "source"));

	if (!source || strcmp(source, np_provenance_name(NP_PROVENANCE_MODEL)) ||
	    !np_model_origin_find(json_string_value(json_object_get(root, "model")) ?: "",
				  &p->machine.model_origin))
		return;
	recall(json_object_get(predicted, "throughput"), p->plan.throughput);
	recall(json_object_get(predicted, "fairness"), p->plan.fairness);
	for (size_t i = 0; i < p->plan.n; i++)
		recall_decision(json_array_get(json_object_get(root, "decisions"), i),
				&p->plan.decision[i]);
}

/* The decisions over the machine and the tasks that p has, and what follows from them. */
static int decide(const struct source *s, const json_t *root, struct np_planning *p)
{
	const json_t *decided = json_object_get(root, "decisions");
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
	p->balancing = -1;
	snprintf(p->boot, sizeof(p->boot), "%s",
		 json_string_value(json_object_get(*root, "boot")) ?: "");
	p->override = json_is_true(json_object_get(*root, "override"));
	p->platform = snapshot.platform;
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

static const char *name_of(const char *path)
{
	return strcmp(path, "-") ? path : "on standard input";
}

/* All of it, which the caller frees; NULL with errno set. */
static char *read_standard_input(void)
{
	char *text = NULL;
	size_t room = 0;

	/* A JSON text has no NUL: the whole input is one record. */
	if (getdelim(&text, &room, '\0', stdin) >= 0)
		return text;
	free(text);
	return ferror(stdin) ? NULL : strdup("");
}

static int read_file(struct np_planning *p, const char *path, json_t **root, char *err,
		     size_t err_len)
{
	char *text = !strcmp(path, "-") ? read_standard_input() : np_read_file(path);
	int e;

	*root = NULL;
	if (!text)
		return np_fail(err, err_len, -errno, "plan %s cannot be read: %s", name_of(path),
			       strerror(errno));
	e = parse(p, text, strlen(text), name_of(path), root, err, err_len);
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

static int check(const struct np_planning *p, const struct np_machine *now, const char *path,
		 char *err, size_t err_len)
{
	char why[160], boot[sizeof(p->boot)];

	if (!p->boot[0])
		return stale(path, err, err_len, "it was made from a snapshot, not from running tasks");
	if (differs(&p->machine, now, why, sizeof(why)))
		return stale(path, err, err_len, why);
	np_boot_id(boot, sizeof(boot));
	return strcmp(boot, p->boot) ? stale(path, err, err_len, "the machine was booted since") : 0;
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
	int e = check(p, now, path, err, err_len);

	if (e)
		return e;
	np_plan_free(&p->plan);
	np_machine_free(&p->machine);
	p->machine = *now;
	*now = (struct np_machine) { 0 };
	*gone = 0;
	for (size_t i = 0; i < p->tasks.n; i++)
		*gone += !refresh(p, i);
	p->balancing = np_balancing_read();
	e = np_planning_confine(p, p->override, err, err_len);
	return e ? e : decide(&s, root, p);
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
			e = renew(p, &now, root, name_of(path), gone, err, err_len);
			np_machine_free(&now);
		}
		if (e)
			np_planning_free(p);
	}
	json_decref(root);
	return e;
}
