// SPDX-License-Identifier: GPL-2.0-only
/* plan: what a policy would do with running tasks, and why. Does nothing. */
#include "policy_args.h"

static const struct argp_option options[] = {
	NP_POLICY_OPTIONS,
	NP_ASSUME_OPTION,
	NP_CGROUP_OPTION,
	NP_JSON_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return np_policy_args_parse(key, arg, state->input);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID..",
	.doc = "Says what a policy would do with running tasks, why, how many pages would move, "
	       "what that costs and what it should bring. Does nothing.\v"
	       "COST is the time for moving the pages, GAIN the expected speed-up. A penalty that "
	       "is not known is taken from the machine's distances, an MPKI that is not known as 0; "
	       "--assume says them.",
};

static int plan(struct np_policy_words *w)
{
	struct np_policy_args args;
	struct np_planning p;
	int status = np_policy_args_resolve(w, &args);

	if (status)
		return status;
	if (!args.n_pids && !args.skip_gone)
		return np_usage("plan: no process id; `numaplace ps` lists the processes");
	status = np_cmd_planning(&p, &args);
	if (status)
		return status;
	if (np_json)
		np_json_print(np_planning_json(&p));
	else
		np_planning_print(stdout, &p);
	np_planning_free(&p);
	return NP_EXIT_OK;
}

int cmd_plan(int argc, char **argv)
{
	struct np_policy_words w;
	int status;

	np_policy_words_init(&w);
	status = np_args(&argp, argc, argv, 0, &w);
	if (!status)
		status = plan(&w);
	np_policy_words_free(&w);
	return status;
}
