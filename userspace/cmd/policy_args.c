// SPDX-License-Identifier: GPL-2.0-only
#include "policy_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/policy/policy_name.h"
#include "arg_units.h"

#define SAMPLE_MS     200
#define SAMPLE_MAX_MS 60000

void np_policy_cli_init(struct np_policy_cli *w)
{
	*w = (struct np_policy_cli) {
		.sample_ms = SAMPLE_MS,
		.least_gain = -1,
		.usual_gain = 1,
		.timeout_s = NP_POLICY_TIMEOUT,
	};
}

void np_policy_cli_free(struct np_policy_cli *w)
{
	free(w->option.word);
	free(w->assume.word);
	np_select_free(&w->select);
	np_common_free(&w->common);
}

int np_policy_cli_run(const struct argp *argp, int argc, char **argv,
		      int (*command)(struct np_policy_cli *w))
{
	struct np_policy_cli w;
	int status;

	np_policy_cli_init(&w);
	status = np_args(argp, argc, argv, 0, &w);
	if (!status)
		status = command(&w);
	np_policy_cli_free(&w);
	return status;
}

int np_policy_timeout_parse(const char *arg)
{
	double seconds;
	int e = np_arg_seconds(arg, "--policy-timeout", &seconds);

	if (!e)
		np_policy_timeout(seconds);
	return e;
}

int np_policy_args_parse(int key, const char *arg, struct np_policy_cli *w)
{
	int e;

	switch (key) {
	case 'p':
		w->policy = arg;
		return 0;
	case NP_KEY_POLICY_TIMEOUT:
		return np_arg_seconds(arg, "--policy-timeout", &w->timeout_s);
	case 'o':
		return np_words_add(&w->option, arg);
	case 'a':
		return np_words_add(&w->assume, arg);
	case NP_KEY_SHOW:
		w->show = arg;
		return 0;
	case NP_KEY_SNAPSHOT:
		w->snapshot = arg;
		return 0;
	case NP_KEY_PLAN:
		w->plan = arg;
		return 0;
	case NP_KEY_OVERRIDE:
		w->override = true;
		return 0;
	case NP_KEY_NODES:
		w->nodes = arg;
		return 0;
	case NP_KEY_LEAST_GAIN:
		return np_arg_real(arg, "--least-gain", 1000, &w->least_gain);
	case 'M':
		w->model = arg;
		return 0;
	case 's':
		return np_arg_milliseconds(arg, "--sample", SAMPLE_MAX_MS, &w->sample_ms);
	}
	e = np_select_parse(key, arg, &w->select);
	return e == ARGP_ERR_UNKNOWN ? np_common_parse(key, arg, &w->common) : e;
}

static const char *policy_names(char *text, size_t text_len)
{
	size_t at = 0;

	for (size_t i = 0; np_policies[i] && at < text_len; i++)
		at += (size_t)snprintf(text + at, text_len - at, "%s%s", i ? ", " : "",
				       np_policies[i]->name);
	return text;
}

int np_policy_args_resolve(struct np_policy_cli *w, struct np_policy_args *args)
{
	char names[NP_ERR_LEN];
	struct np_err err;
	bool grouped = w->common.cgroup || w->common.unit;
	int status = np_common_resolve(&w->common);

	np_policy_timeout(w->timeout_s);
	if (!status)
		status = np_select_resolve(&w->select, grouped, &w->common.pids);
	if (status)
		return status;
	*args = (struct np_policy_args) {
		.assume = w->assume.word,
		.n_assume = w->assume.n,
		.pids = w->common.pids.pid,
		.n_pids = w->common.pids.n,
		.skip_gone = grouped || np_select_given(&w->select),
		.override = w->override,
		.nodes = w->nodes,
		.sample_ms = (unsigned int)w->sample_ms,
		.model = w->model,
	};
	if (!w->policy)
		return np_usage("no policy; say --policy and one of %s",
				policy_names(names, sizeof(names)));
	args->policy = np_policy_asked(w->policy, &args->options, &err);
	if (!args->policy)
		return np_usage("%s", err.text);
	args->least_gain = w->least_gain >= 0 ? w->least_gain :
			   strncmp(args->policy->origin, "control", strlen("control")) ?
						w->usual_gain :
						0;
	for (size_t i = 0; i < w->option.n; i++)
		if (np_options_set(args->policy, &args->options, w->option.word[i], err.text,
				   sizeof(err.text)))
			return np_usage("%s", err.text);
	return NP_EXIT_OK;
}

int np_cmd_request(struct np_request *p, const struct np_policy_args *args)
{
	struct np_err err;
	int e = np_request_make(p, args, &err);

	if (!e && np_tasks_denied(&p->tasks, &err))
		fprintf(stderr, "numaplace: %s\n", err.text);
	if (!e)
		return NP_EXIT_OK;
	if (e == -EINVAL)
		return np_usage("%s", err.text);
	return np_failed(np_engine_exit(e), "%s", err.text);
}
