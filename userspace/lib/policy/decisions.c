// SPDX-License-Identifier: GPL-2.0-only
#include "decisions.h"

#include <errno.h>
#include <math.h>
#include <numa.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/printable.h"
#include "../files/json.h"
#include "../files/policy_input.h"
#include "../host/topology.h"

#define SHOWN 40 /* letters of a wrong value */

/* Use of a node in a decision. */
enum use { TO_RUN, TO_HOLD };

struct reader {
	const struct np_decisions_from *from;
	const struct np_machine *m;
	const struct np_task *tasks;
	struct np_plan *plan;
	size_t at, task; /* the decision that is read, and what it is about */
	json_t *object;
	struct np_err *err;
};

#define wrong(r, key, format, ...) \
	np_fail((r)->err, -EINVAL, "%s: decisions[%zu]%s%s " format, (r)->from->what, (r)->at, \
		*(key) ? "." : "", key, ##__VA_ARGS__)

/* Reports a value of the wrong type or range. */
static int wrong_value(const struct reader *r, const char *key, const json_t *value,
		       const char *should)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	int e = wrong(r, key, "is %.*s, not %s", SHOWN, text ? text : "missing", should);

	free(text);
	return e;
}

static int no_such_node(const struct reader *r, const char *key, const char *id)
{
	struct bitmask *nodes = np_machine_nodes(r->m);
	char list[NP_LIST_LEN];
	int e = wrong(r, key, "names node %.24s, which machine %.64s does not have; it has %.60s",
		      id, r->m->name, np_list_format(nodes, list, sizeof(list)));

	numa_bitmask_free(nodes);
	return e;
}

/* Whether the task may use the node for this, and the machine has it for this. */
static int check_use(const struct reader *r, const char *key, int node, enum use use)
{
	const struct np_task *t = &r->tasks[r->task];
	const struct np_node *n = &r->m->node[node];

	if (use == TO_RUN && !n->cpus)
		return wrong(r, key, "names node %d, which has no CPUs that a task may be given",
			     n->id);
	if (use == TO_HOLD && !n->has_memory)
		return wrong(r, key, "names node %d, which has no memory", n->id);
	if (!r->from->limited)
		return 0;
	if (use == TO_RUN && !np_may_run(r->m, t, node))
		return wrong(r, key,
			     "names node %d, on which process %d may not run: its cpuset, or CPUs "
			     "chosen for it; its may_run lists the nodes",
			     n->id, t->pid);
	if (use == TO_HOLD && !np_may_hold(r->m, t, node))
		return wrong(r, key,
			     "names node %d, in whose memory process %d may hold no pages: its "
			     "cpuset; its may_hold lists the nodes",
			     n->id, t->pid);
	return 0;
}

static int find_node(const struct reader *r, const char *key, long long id, enum use use, int *node)
{
	char text[24];

	*node = np_machine_node_index(r->m, id);
	snprintf(text, sizeof(text), "%lld", id);
	if (*node == NP_NODE_NONE)
		return no_such_node(r, key, text);
	return check_use(r, key, *node, use);
}

static int read_node(const struct reader *r, const char *key, enum use use, int *node)
{
	const json_t *j = json_object_get(r->object, key);

	if (!j || json_is_null(j))
		return 0;
	if (!json_is_integer(j))
		return wrong_value(r, key, j, "a node's number or null");
	return find_node(r, key, json_integer_value(j), use, node);
}

static int keep_row(const struct reader *r, const uint8_t *weight, int *row)
{
	*row = np_plan_spread(r->plan, r->m->n_nodes, weight);
	return *row == NP_NODE_NONE ? np_fail(r->err, -ENOMEM, "out of memory") : 0;
}

/* {"0": 1, "1": 3} */
static int read_weights(const struct reader *r, json_t *weights, uint8_t *weight)
{
	unsigned int sum = 0;
	const char *id;
	json_t *value;

	json_object_foreach(weights, id, value) {
		json_int_t w = json_integer_value(value);
		int e, node = np_machine_node_of_text(r->m, id);

		if (node == NP_NODE_NONE)
			return no_such_node(r, "spread", *id ? id : "\"\"");
		if (!json_is_integer(value) || w < 0 || w > UINT8_MAX)
			return wrong_value(r, "spread", value, "a weight from 0 to 255");
		e = w ? check_use(r, "spread", node, TO_HOLD) : 0;
		if (e)
			return e;
		if (w)
			weight[node] = (uint8_t)w;
		sum += (unsigned int)w;
	}
	return sum ? 0 : wrong(r, "spread", "has a weight for no node; null leaves the pages");
}

static int read_spread(const struct reader *r, struct np_decision *d)
{
	json_t *j = json_object_get(r->object, "spread");
	uint8_t weight[r->m->n_nodes];
	int e;

	if (!j || json_is_null(j))
		return 0;
	if (!json_is_object(j))
		return wrong_value(r, "spread", j,
				   "weights by node, such as {\"0\": 1, \"1\": 3}, or null");
	if (d->pages_to != NP_NODE_NONE)
		return wrong(r, "spread", "is given beside pages_to; one of the two is null");
	memset(weight, 0, sizeof(weight));
	e = read_weights(r, j, weight);
	return e ? e : keep_row(r, weight, &d->spread);
}

static int read_nodes(const struct reader *r, struct np_decision *d)
{
	json_t *list = json_object_get(r->object, "to_nodes"), *id;
	uint8_t in[r->m->n_nodes];
	size_t at;

	if (!list || json_is_null(list))
		return 0;
	if (!json_array_size(list))
		return wrong_value(r, "to_nodes", list, "a list of nodes such as [0, 2], or null");
	if (d->to != NP_NODE_NONE)
		return wrong(r, "to_nodes", "is given beside to; one of the two is null");
	memset(in, 0, sizeof(in));
	json_array_foreach(list, at, id) {
		int node, e;

		if (!json_is_integer(id))
			return wrong_value(r, "to_nodes", id, "a node's number");
		e = find_node(r, "to_nodes", json_integer_value(id), TO_RUN, &node);
		if (e)
			return e;
		in[node] = 1;
	}
	return keep_row(r, in, &d->nodes);
}

static int read_penalty(const struct reader *r, struct np_decision *d)
{
	const json_t *j = json_object_get(r->object, "penalty"),
		     *value = json_object_get(j, "value");
	const char *source = json_string_value(json_object_get(j, "source"));
	double penalty = json_number_value(value);

	if (!j || json_is_null(j))
		return 0;
	if (!source || !np_provenance_find(source, &d->penalty_source))
		return wrong(r, "penalty.source", "is none of %s", np_provenance_names());
	if (!json_is_number(value) || !isfinite(penalty) || penalty < 0)
		return wrong_value(r, "penalty.value", value, "a number from 0 up");
	d->penalty = penalty;
	return 0;
}

static int read_bonus(const struct reader *r, struct np_decision *d)
{
	const json_t *j = json_object_get(r->object, "bonus");

	if (!j)
		return 0;
	if (!json_is_number(j) || !isfinite(json_number_value(j)) || json_number_value(j) <= 0)
		return wrong_value(r, "bonus", j, "a number above 0 (1: none)");
	d->bonus = json_number_value(j);
	return 0;
}

/* It fits what the decision says of pages, which has been read. */
static int read_mem(const struct reader *r, struct np_decision *d)
{
	const json_t *j = json_object_get(r->object, "mem");
	bool spread = d->spread != NP_NODE_NONE;

	if (j && !np_mem_policy_find(json_string_value(j) ?: "", &d->mem))
		return wrong_value(r, "mem", j,
				   "a memory policy: auto, leave, preferred, interleave or weighted");
	if (spread && d->mem == NP_MEM_PREFERRED)
		return wrong(r, "mem", "is \"preferred\" beside a spread; say auto or leave");
	if (!spread && (d->mem == NP_MEM_INTERLEAVE || d->mem == NP_MEM_WEIGHTED))
		return wrong(r, "mem", "is \"%s\" without a spread; say auto or leave",
			     np_mem_policy_name(d->mem));
	return 0;
}

static int read_if_nearer(const struct reader *r, struct np_decision *d)
{
	const json_t *j = json_object_get(r->object, "if_nearer");

	if (j && !json_is_boolean(j))
		return wrong_value(r, "if_nearer", j, "true or false");
	d->if_nearer = json_is_true(j);
	return 0;
}

/* One line, whatever it holds. */
static int read_reason(const struct reader *r, struct np_decision *d)
{
	const json_t *j = json_object_get(r->object, "reason");

	if (!j)
		return 0;
	if (!json_is_string(j))
		return wrong_value(r, "reason", j, "a text");
	np_reason(d, "%s", json_string_value(j));
	np_printable(d->reason);
	return 0;
}

static int read_one(const struct reader *r)
{
	struct np_decision *d = &r->plan->decision[r->task];
	int e = read_node(r, "to", TO_RUN, &d->to);

	if (!e)
		e = read_node(r, "pages_to", TO_HOLD, &d->pages_to);
	if (!e)
		e = read_if_nearer(r, d);
	if (!e)
		e = read_spread(r, d);
	if (!e)
		e = read_nodes(r, d);
	if (!e)
		e = read_mem(r, d);
	if (!e)
		e = read_penalty(r, d);
	if (!e)
		e = read_bonus(r, d);
	return e ? e : read_reason(r, d);
}

/* The task of that pid that has no decision yet, most likely the one of the same place. */
static int find_task(struct reader *r, bool *decided)
{
	const json_t *j = json_object_get(r->object, "pid");
	json_int_t pid = json_integer_value(j);
	bool twice = false;

	if (!json_is_object(r->object))
		return wrong_value(r, "", r->object, "an object with a pid");
	if (!json_is_integer(j))
		return wrong_value(r, "pid", j, "the pid of a task");
	for (size_t i = 0; i < r->plan->n; i++) {
		r->task = (r->at + i) % r->plan->n;
		if (r->tasks[r->task].pid != pid)
			continue;
		if (!decided[r->task]) {
			decided[r->task] = true;
			return 0;
		}
		twice = true;
	}
	return twice ? wrong(r, "pid", "is %lld, which an earlier decision is about",
			     (long long)pid) :
		       wrong(r, "pid", "is %lld, which is none of the tasks", (long long)pid);
}

int np_decisions_read(const struct np_decisions_from *from, const json_t *root,
		      const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan,
		      struct np_err *err)
{
	struct reader r = { .from = from, .m = m, .tasks = tasks, .plan = plan, .err = err };
	const json_t *list = json_object_get(root, "decisions");
	bool *decided = calloc(plan->n + 1, sizeof(*decided));
	int e = 0;

	if (!decided)
		return np_fail(err, -ENOMEM, "out of memory");
	if (!json_is_array(list))
		e = np_fail(err, -EINVAL, "%s: decisions is %s, not a list of decisions",
			    from->what, list ? "of another type" : "missing");
	for (r.at = 0; !e && r.at < json_array_size(list); r.at++) {
		r.object = json_array_get(list, r.at);
		e = find_task(&r, decided);
		if (!e)
			e = read_one(&r);
	}
	free(decided);
	return e;
}

json_t *np_decisions_undecided(const struct np_machine *m, const struct np_task *tasks,
			       const struct np_plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->n; i++) {
		const struct np_decision *d = &plan->decision[i];

		json_array_append_new(
			list,
			json_pack("{s:i, s:o, s:n, s:n, s:o, s:n, s:n, s:s, s:f, s:o, s:s}", "pid",
				  (int)tasks[i].pid, "from", np_json_node(m, d->from), "to",
				  "to_nodes", "home", np_json_node(m, d->home), "pages_to",
				  "spread", "mem", np_mem_policy_name(d->mem), "bonus", d->bonus,
				  "penalty", np_json_known(d->penalty, d->penalty_source), "reason",
				  ""));
	}
	return list;
}
