// SPDX-License-Identifier: GPL-2.0-only
/* Reads a plan, and checks every value. */
#include "plan_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/printable.h"
#include "../files/policy_input.h"
#include "../files/snapshot.h"
#include "../policy/decisions.h"

#define wrong(s, format, ...) np_fail((s)->err, -EINVAL, "%s: " format, (s)->what, ##__VA_ARGS__)

static int no_memory(const struct np_plan_source *s)
{
	return np_fail(s->err, -ENOMEM, "out of memory");
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

/* "penalty" and "rate" are what decisions follow from, whatever policy has made them. */
static int set_option(const struct np_plan_source *s, struct np_request *p, const char *name,
		      const json_t *value)
{
	char why[NP_ERR_LEN], word[128];

	if (!option_word(name, value, word, sizeof(word)))
		return wrong(s, "options.%.64s is no number, switch or word", name);
	if (p->plugin && strcmp(name, "penalty") && strcmp(name, "rate"))
		return 0;
	return np_options_set(p->policy, &p->options, word, why, sizeof(why)) ?
		       wrong(s, "%.190s", why) :
		       0;
}

/* A policy that is not built in is not needed again: its name stands for it. */
static int stand_in(const struct np_plan_source *s, const char *name, struct np_request *p)
{
	static const struct np_option kept[] = { NP_OPTION_PENALTY, NP_OPTION_RATE, { 0 } };

	p->plugin = calloc(1, sizeof(*p->plugin));
	if (!p->plugin)
		return no_memory(s);
	snprintf(p->plugin->name, sizeof(p->plugin->name), "%s", name);
	np_printable(p->plugin->name);
	p->plugin->policy = (struct np_policy) {
		.name = p->plugin->name,
		.summary = "",
		.origin = "plug-in",
		.needs = "nothing",
		.option = kept,
	};
	p->policy = &p->plugin->policy;
	return 0;
}

static int read_policy(const struct np_plan_source *s, struct np_request *p)
{
	const char *name = json_string_value(json_object_get(s->root, "policy")), *key;
	json_t *options = json_object_get(s->root, "options"), *value;
	int e = 0;

	if (!name)
		return wrong(s, "policy is missing: the name of the policy that made the plan");
	p->policy = np_policy_find(name);
	if (!p->policy)
		e = stand_in(s, name, p);
	if (e)
		return e;
	if (options && !json_is_object(options))
		return wrong(s, "options are no object of the policy's options");
	np_options_defaults(p->policy, &p->options);
	json_object_foreach(options, key, value) {
		e = set_option(s, p, key, value);
		if (e)
			return e;
	}
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

/* The predictions that were saved with the plan, where there are some. */
static void recall_prediction(const struct np_plan_source *s, struct np_request *p)
{
	const json_t *predicted = json_object_get(s->root, "predicted");
	const char *source = json_string_value(json_object_get(predicted, "source"));

	if (!source || strcmp(source, np_provenance_name(NP_PROVENANCE_MODEL)) ||
	    !np_model_origin_find(json_string_value(json_object_get(s->root, "model")) ?: "",
				  &p->machine.model_origin))
		return;
	recall(json_object_get(predicted, "throughput"), p->plan.throughput);
	recall(json_object_get(predicted, "fairness"), p->plan.fairness);
	for (size_t i = 0; i < p->plan.n; i++) {
		const json_t *one = json_array_get(json_object_get(s->root, "decisions"), i);

		if (json_integer_value(json_object_get(one, "pid")) == p->tasks.task[i].pid)
			recall_decision(one, &p->plan.decision[i]);
	}
}

int np_plan_decide(const struct np_plan_source *s, struct np_request *p)
{
	const struct np_decisions_from from = { .what = s->what };
	int e;

	if (np_plan_init(&p->plan, &p->machine, p->tasks.n))
		return no_memory(s);
	e = np_plan_begin(p->policy, &p->machine, p->tasks.task, &p->options, &p->plan);
	if (e)
		return wrong(s, "its machine or a task makes no sense: no CPUs, or a distance that "
				"is missing");
	e = np_decisions_read(&from, s->root, &p->machine, p->tasks.task, &p->plan, s->err);
	if (e)
		return e;
	e = np_plan_finish(p->policy, &p->machine, p->tasks.task, &p->options, &p->plan);
	if (!e)
		e = np_plan_order(&p->plan, &p->machine, p->tasks.task);
	if (e)
		return np_fail(s->err, e, "%s cannot be worked out: %s", s->what, strerror(-e));
	recall_prediction(s, p);
	return 0;
}

/* Whether it is a plan at all, and one of this version. */
static int check_version(const struct np_plan_source *s)
{
	const json_t *version = json_object_get(s->root, "plan");

	if (!version && json_object_get(s->root, "snapshot"))
		return wrong(s, "it is a snapshot, which decides nothing; `numaplace plan --policy "
				"P --snapshot FILE --json` makes a plan of it");
	if (!version)
		return wrong(s, "it is no plan; `numaplace plan --json` prints one");
	if (!json_is_integer(version) || json_integer_value(version) != NP_PLAN_FILE_VERSION)
		return wrong(s,
			     "plan is not %d, the version that this numaplace reads; make the plan with "
			     "this numaplace",
			     NP_PLAN_FILE_VERSION);
	return 0;
}

static int read_flags(const struct np_plan_source *s, struct np_request *p)
{
	const json_t *boot = json_object_get(s->root, "boot"),
		     *override = json_object_get(s->root, "override");

	if (boot && !json_is_null(boot) && !json_is_string(boot))
		return wrong(s, "boot is neither the name of a boot nor null");
	if (override && !json_is_boolean(override))
		return wrong(s, "override is neither true nor false");
	snprintf(p->boot, sizeof(p->boot), "%s", json_string_value(boot) ?: "");
	p->override = json_is_true(override);
	return 0;
}

int np_plan_source_read(struct np_plan_source *s, struct np_request *p, const char *path,
			struct np_err *err)
{
	struct np_snapshot snapshot;
	int e;

	memset(p, 0, sizeof(*p));
	*s = (struct np_plan_source) { .err = err };
	s->root = np_json_read("plan", path, s->what, err);
	if (!s->root)
		return -errno;
	e = check_version(s);
	if (!e)
		e = np_snapshot_of_json(s->root, s->what, &snapshot, s->err);
	if (e)
		return e;
	p->balancing = -1;
	p->platform = snapshot.platform;
	p->machine = snapshot.machine;
	p->tasks = snapshot.tasks;
	e = read_flags(s, p);
	if (!e)
		e = read_policy(s, p);
	if (!e)
		e = np_plan_decide(s, p);
	if (e)
		np_request_free(p);
	return e;
}

int np_plan_file_read(struct np_request *p, const char *path, struct np_err *err)
{
	struct np_plan_source s;
	int e = np_plan_source_read(&s, p, path, err);

	json_decref(s.root);
	return e;
}
