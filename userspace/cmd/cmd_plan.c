// SPDX-License-Identifier: GPL-2.0-only
/* plan: prints the plan of a policy for running tasks, and changes nothing. */
#include "../lib/plan/plan_file.h"
#include "policy_args.h"

static const struct argp_option options[] = {
	/* clang-format off */
	NP_POLICY_OPTIONS,
	NP_NODES_OPTION,
	NP_ASSUME_OPTION,
	NP_CGROUP_OPTION,
	NP_SELECT_OPTIONS,
	NP_PLAN_FILE_OPTIONS,
	NP_JSON_OPTION,
	{ 0 },
	/* clang-format on */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return np_policy_args_parse(key, arg, state->input);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID..\n--show FILE",
	.doc = "Says what a policy would do with running tasks, why, how many pages would move, "
	       "what that costs and what it should bring. Does nothing.\v"
	       "COST is the time for moving the pages, GAIN the expected speed-up. A penalty that "
	       "is not known is taken from the machine's distances, an MPKI that is not known as 0; "
	       "--assume says them. What --json prints is applied later by `numaplace apply --plan FILE`.",
};

static void report(const struct np_request *p)
{
	if (np_json)
		np_json_print(np_plan_file_json(p));
	else
		np_request_print(stdout, p);
}

static int show(const struct np_policy_cli *w)
{
	struct np_err err;
	struct np_request p;

	if (w->policy || w->snapshot || w->common.pids.n || w->common.cgroup || w->common.unit ||
	    np_select_given(&w->select) || w->select.exclude.n || w->override || w->nodes ||
	    w->assume.n || w->option.n || w->least_gain >= 0 || w->model)
		return np_usage("plan: --show FILE goes with nothing but --json");
	if (np_plan_file_read(&p, w->show, &err))
		return np_failed(NP_EXIT_FAIL, "%s", err.text);
	report(&p);
	np_request_free(&p);
	return NP_EXIT_OK;
}

static int make(struct np_policy_cli *w, const struct np_policy_args *args, struct np_request *p)
{
	struct np_snapshot s;
	struct np_err err;
	int e;

	if (!w->snapshot)
		return np_cmd_request(p, args);
	if (np_snapshot_read(w->snapshot, &s, &err))
		return np_usage("%s", err.text);
	e = np_request_from(p, args, &s, &err);
	return e ? np_failed(np_engine_exit(e), "%s", err.text) : NP_EXIT_OK;
}

static int plan(struct np_policy_cli *w)
{
	struct np_policy_args args;
	struct np_request p;
	int status;

	w->usual_gain = 0;
	status = w->show ? show(w) : np_policy_args_resolve(w, &args);
	if (status || w->show)
		return status;
	if (w->snapshot && (args.n_pids || args.skip_gone || w->select.exclude.n))
		return np_usage("plan: a snapshot has its own tasks; leave the others out");
	if (!args.n_pids && !args.skip_gone && !w->snapshot)
		return np_usage("plan: no process id; `numaplace ps` lists the processes");
	status = make(w, &args, &p);
	if (status)
		return status;
	report(&p);
	np_request_free(&p);
	return NP_EXIT_OK;
}

int cmd_plan(int argc, char **argv)
{
	return np_policy_cli_run(&argp, argc, argv, plan);
}
