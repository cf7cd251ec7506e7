// SPDX-License-Identifier: GPL-2.0-only
/* policies: summary, origin, inputs and options of each policy. */
#include <stdio.h>

#include "../../policies/plan/plan.h"
#include "../lib/policy/policy_name.h"
#include "../lib/policy/program_about.h"
#include "policy_args.h"

static json_t *default_json(const struct np_option *o)
{
	switch (o->type) {
	case NP_OPT_ENUM:
		return json_string(o->words[(size_t)o->def]);
	case NP_OPT_BOOL:
		return json_boolean(o->def != 0);
	default:
		return json_real(o->def);
	}
}

static json_t *option_json(const struct np_option *o)
{
	json_t *j = json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", o->name,
			      "type", np_option_type_name(o->type), "default", default_json(o),
			      "unit", o->unit, "meaning", o->meaning);
	json_t *words;

	if (o->type == NP_OPT_ENUM) {
		words = json_array();
		for (size_t i = 0; o->words[i]; i++)
			json_array_append_new(words, json_string(o->words[i]));
		json_object_set_new(j, "words", words);
	} else if (o->type != NP_OPT_BOOL) {
		json_object_set_new(j, "min", json_real(o->min));
		json_object_set_new(j, "max", json_real(o->max));
	}
	return j;
}

static json_t *policy_json(const struct np_policy *p)
{
	json_t *options = json_array();

	for (size_t i = 0; i < np_options_count(p); i++)
		json_array_append_new(options, option_json(&p->option[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", p->name, "summary", p->summary,
			 "origin", p->origin, "needs", p->needs, "options", options);
}

static void print_values(const struct np_option *o)
{
	char def[64];

	np_option_text(o, o->def, def, sizeof(def));
	switch (o->type) {
	case NP_OPT_ENUM:
		for (size_t i = 0; o->words[i]; i++)
			printf("%s%s", i ? "|" : "", o->words[i]);
		break;
	case NP_OPT_BOOL:
		printf("on|off");
		break;
	default:
		printf("%g..%g", o->min, o->max);
	}
	printf(", default %s%s%s", def, *o->unit ? " " : "", o->unit);
}

static void print_policy(const struct np_policy *p)
{
	printf("%s\n    %s\n    from %s; needs to know: %s\n", p->name, p->summary, p->origin,
	       p->needs);
	for (size_t i = 0; i < np_options_count(p); i++) {
		const struct np_option *o = &p->option[i];

		printf("    -o %s=", o->name);
		print_values(o);
		printf("\n        %s\n", o->meaning);
	}
}

#define NAMED_MAX 64

struct named {
	const char *word[NAMED_MAX];
	const struct np_policy *policy[NAMED_MAX + 1]; /* ends with NULL */
	size_t n;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct named *named = state->input;

	if (key == NP_KEY_POLICY_TIMEOUT)
		return np_policy_timeout_parse(arg);
	np_json |= key == 'j';
	if (key != ARGP_KEY_ARG || named->n == NAMED_MAX)
		return key == 'j' ? 0 : ARGP_ERR_UNKNOWN;
	named->word[named->n++] = arg;
	return 0;
}

static int find(struct named *named)
{
	struct np_options options;
	struct np_err err;

	for (size_t i = 0; i < named->n; i++) {
		named->policy[i] = np_policy_asked(named->word[i], &options, &err);
		if (!named->policy[i])
			return np_usage("%s", err.text);
	}
	return NP_EXIT_OK;
}

static const struct argp_option options[] = {
	NP_POLICY_TIMEOUT_OPTION,
	{ "json", 'j', 0, 0, "print one JSON object", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[POLICY..]",
	.doc = "Lists the policies built in, or those named, shared objects (./mine.so) and programs (exec:./mine.py) too: "
	       "where each comes from, what it needs to know of the tasks, and its options. With options "
	       "(n-mass:pages=follow) it says whether the policy takes them.",
};

int cmd_policies(int argc, char **argv)
{
	struct named named = { .n = 0 };
	int status = np_args(&argp, argc, argv, 0, &named);
	const struct np_policy *const *show = named.n ? named.policy : np_policies;
	json_t *list;

	if (!status)
		status = find(&named);
	if (status)
		return status;
	list = json_array();
	for (size_t i = 0; show[i]; i++) {
		if (np_json)
			json_array_append_new(list, policy_json(show[i]));
		else
			print_policy(show[i]);
	}
	if (np_json)
		np_json_print(json_pack("{s:O}", "policies", list));
	json_decref(list);
	return NP_EXIT_OK;
}
