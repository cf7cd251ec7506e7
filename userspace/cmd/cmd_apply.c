// SPDX-License-Identifier: GPL-2.0-only
/* apply: carries out a policy's plan, all of it or nothing. */
#include <signal.h>
#include <stdio.h>

#include "../lib/plan/apply.h"
#include "../lib/plan/file_moves.h"
#include "../lib/plan/plan_file.h"
#include "../lib/policy/policy_name.h"
#include "arg_units.h"
#include "policy_args.h"
#include "progress.h"

enum { KEY_VERIFY = NP_KEY_OWN };

static double verify_s; /* 0: not */

static const struct argp_option options[] = {
	NP_POLICY_OPTIONS,
	NP_NODES_OPTION,
	NP_ASSUME_OPTION,
	NP_ENGINE_OPTION,
	NP_PACE_OPTIONS,
	NP_CGROUP_OPTION,
	NP_SELECT_OPTIONS,
	{ "plan", NP_KEY_PLAN, "FILE", 0,
	  "Do what a plan says that `numaplace plan --json` printed (- for standard input); refused "
	  "when the machine is no longer the same",
	  0 },
	{ "verify", KEY_VERIFY, "TIME", 0,
	  "Count the tasks for so long before and after; where they are slower by more than the "
	  "noise, undo everything (5s)",
	  0 },
	NP_JSON_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == KEY_VERIFY)
		return np_arg_seconds(arg, "--verify", &verify_s);
	return np_policy_args_parse(key, arg, state->input);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID..\n--plan FILE",
	.doc = "Does what a policy says: binds every thread of each task to its node's CPUs, makes "
	       "its new pages prefer the node where its pages go, then moves the pages.\v"
	       "If a step fails, or on Ctrl-C, everything done so far is undone; a task that has "
	       "exited is skipped. `numaplace restore` brings CPUs and memory policies back, also "
	       "after a crash of this program. `numaplace plan` says beforehand what will be done.",
};

static void report(const struct np_applied *a, int e, const char *err)
{
	json_t *j;

	if (np_json) {
		j = np_applied_json(a);
		if (e)
			json_object_set_new(j, "error", np_json_text(err));
		np_json_print(j);
	} else {
		np_applied_print(stdout, a);
	}
	if (e && a->not_undone.text[0])
		np_error("%s; not all that this apply had done was undone: %s", err,
			 a->not_undone.text);
	else if (e)
		np_error("%s%s", err,
			 a->undone ? "; everything that this apply had done was undone" : "");
}

/* Pages that were moved of those that the plan moves, all tasks and files together. */
static void watch(const struct np_applied *a, const struct np_migrate_result *so_far)
{
	uint64_t planned = 0, moved = so_far->moved, bytes = so_far->bytes, ns = so_far->ns;

	for (size_t i = 0; i < a->p->plan.n; i++) {
		planned += a->p->plan.decision[i].pages_to_move;
		moved += a->step[i].moved.moved;
		bytes += a->step[i].moved.bytes;
		ns += a->step[i].moved.ns;
	}
	for (size_t i = 0; a->p->files && i < a->p->files->n; i++) {
		planned += a->p->files->move[i].pages;
		moved += a->file_step[i].moved.moved;
		bytes += a->file_step[i].moved.bytes;
		ns += a->file_step[i].moved.ns;
	}
	if (planned)
		np_progress_draw((double)moved / (double)planned, moved, bytes, ns);
}

static int carry_out(const struct np_request *p, const struct np_engine_ops *ops,
		     const struct np_policy_cli *w)
{
	struct np_err err;
	struct np_applied a;
	const struct np_apply_how how = {
		.engine = ops,
		.throttle = w->common.throttle,
		.stop = &np_stopped,
		.note_pages = true,
		.watch = np_progress_watched() ? watch : NULL,
		.verify = { .seconds = verify_s, .needed = true },
	};
	int e = np_apply(&a, p, &how, &err);

	if (how.watch)
		np_progress_clear();
	if (a.step)
		report(&a, e, err.text);
	else
		np_error("%s", err.text);
	np_applied_free(&a);
	return np_engine_exit(e);
}

/* The saved plan as it is to be done now. */
static int renew(const struct np_policy_cli *w, struct np_request *p)
{
	struct np_err err;
	size_t gone;
	int e;

	if (w->policy || w->common.pids.n || w->common.cgroup || w->common.unit || w->assume.n ||
	    np_select_given(&w->select) || w->select.exclude.n || w->override || w->nodes ||
	    w->option.n || w->least_gain >= 0 || w->model)
		return np_usage("apply: --plan FILE names policy and tasks; leave the others out");
	e = np_plan_file_renew(p, w->plan, &gone, &err);
	if (e)
		np_error("%s", err.text);
	else if (gone && !np_json)
		fprintf(stderr,
			"numaplace: %zu of the plan's %zu tasks have exited since and are "
			"skipped\n",
			gone, p->tasks.n);
	return np_engine_exit(e);
}

static int ask(struct np_policy_cli *w, struct np_request *p)
{
	struct np_policy_args args;
	int status = np_policy_args_resolve(w, &args);

	if (status)
		return status;
	if (!args.n_pids && !args.skip_gone)
		return np_usage("apply: no process id; `numaplace ps` lists the processes");
	return np_cmd_request(p, &args);
}

static int apply(struct np_policy_cli *w)
{
	const struct np_engine_ops *ops;
	struct np_request p;
	int status;

	/* A signal ends the reading of standard input. */
	status = w->plan ? renew(w, &p) : NP_EXIT_OK;
	/* The engines check stop between calls; a signal must not make a call fail. */
	np_stop_by_signals(SA_RESTART);
	np_policy_stop(&np_stopped);
	if (!w->plan)
		status = ask(w, &p);
	if (status)
		return status;
	ops = np_cmd_engine(w->common.engine, &status);
	if (ops)
		status = carry_out(&p, ops, w);
	np_request_free(&p);
	return status;
}

int cmd_apply(int argc, char **argv)
{
	return np_policy_cli_run(&argp, argc, argv, apply);
}
