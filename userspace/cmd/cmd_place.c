// SPDX-License-Identifier: GPL-2.0-only
/* numaplace place */
#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/base/cpulist.h"
#include "../lib/engine/cgroup_place.h"
#include "../lib/host/mempolicy.h"
#include "../lib/host/proc.h"
#include "cmd_args.h"

enum { KEY_ONE_THREAD = NP_KEY_OWN, KEY_NO_INHERIT };

struct arguments {
	struct np_common common;
	struct np_binding_words binding;
	bool inherit, one_thread;
};

static const struct argp_option options[] = {
	NP_BINDING_OPTIONS,
	{ "no-inherit", KEY_NO_INHERIT, NULL, 0,
	  "Children and threads that it starts later get what it had before, and are not placed and "
	  "restored as well; needs the module",
	  0 },
	{ "one-thread", KEY_ONE_THREAD, NULL, 0, "Only the thread PID, not its whole process", 0 },
	{ "cgroup", NP_KEY_CGROUP, "PATH", 0,
	  "The whole cgroup (version 2), such as /system.slice/redis.service, by its cpuset", 0 },
	{ "unit", NP_KEY_UNIT, "NAME", 0,
	  "The whole cgroup of this systemd unit, such as redis.service", 0 },
	NP_ENGINE_OPTION,
	NP_JSON_OPTION,
	{ 0 },
};

/* What is wrong with placing a whole cgroup; NULL: nothing. */
static const char *check_cgroup(const struct arguments *a)
{
	if (a->common.pids.n || (a->common.cgroup && a->common.unit))
		return "name one process, one --cgroup or one --unit";
	if (a->one_thread)
		return "--one-thread is for a process; a cgroup is placed as a whole";
	if (!a->inherit)
		return "--no-inherit is for a process; what a cgroup's tasks start is in the cgroup";
	if (a->common.engine != NP_ENGINE_AUTO)
		return "--engine is for a process; the kernel places a cgroup by its cpuset";
	return NULL;
}

static int check(const struct arguments *a)
{
	const char *wrong = NULL;

	if (a->common.cgroup || a->common.unit)
		wrong = check_cgroup(a);
	else if (a->common.pids.n != 1)
		wrong = "name one process, or --cgroup or --unit";
	if (!wrong && !np_binding_given(&a->binding))
		wrong = "say where: --cpus, --cpunodebind or --mem";
	if (!wrong)
		return 0;
	return np_failed(ECANCELED, "place: %s", wrong);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	int e;

	switch (key) {
	case KEY_NO_INHERIT:
		a->inherit = false;
		return 0;
	case KEY_ONE_THREAD:
		a->one_thread = true;
		return 0;
	case ARGP_KEY_END:
		return check(a);
	}
	e = np_binding_parse(key, arg, &a->binding);
	return e == ARGP_ERR_UNKNOWN ? np_common_parse(key, arg, &a->common) : e;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID\n--cgroup PATH\n--unit NAME",
	.doc = "Binds a running process, all its threads at once, to CPUs, and sets where its new "
	       "memory comes from. `numaplace restore` undoes it. Lists are written as in numactl: "
	       "0-2,5 or !1 (all but 1) or +0 (the first of those allowed) or all; -C, -N "
	       "and -m are numactl's.\v"
	       "Pages of a process that are already in memory stay where they are; `numaplace "
	       "migrate` moves them.\n\nA cgroup is placed by cpuset.cpus and, with --membind, "
	       "cpuset.mems: all that runs in it and below it, and what it starts later. The kernel "
	       "moves its pages to the nodes of --membind.",
};

static void report(const struct np_place_request *r, const char *engine)
{
	char cpus[NP_LIST_LEN] = "unchanged", mem[NP_LIST_LEN + 32] = "unchanged";
	struct np_proc_stat st = { .comm = "exited" };

	np_proc_stat(r->pid, &st);
	if (r->cpus)
		np_list_format(r->cpus, cpus, sizeof(cpus));
	if (r->mem_mode >= 0)
		np_mempolicy_format(r->mem_mode, r->mem_nodes, mem, sizeof(mem));
	if (np_json)
		np_json_print(json_pack("{s:i,s:o,s:s,s:s,s:s,s:b,s:s}", "pid", r->pid, "comm",
					np_json_text(st.comm), "threads", r->one_thread ? "one" : "all", "cpus",
					cpus, "mem", mem, "inherit", r->inherit, "engine", engine));
	else
		printf("placed %d (%s), %s: CPUs %s, memory %s (%s)\n", r->pid, st.comm,
		       r->one_thread ? "one thread" : "all threads", cpus, mem, engine);
}

/* answer: np_cgroup_place()'s, to which what was asked for is added. */
static void report_cgroup(const struct np_cgroup_place *r, json_t *answer)
{
	json_t *cpus = r->cpus ? np_json_list(r->cpus) : json_string("unchanged");
	json_t *mem = r->mems ? np_json_list(r->mems) : json_string("unchanged");

	if (!np_json)
		printf("placed cgroup %s: CPUs %s, memory %s%s (cgroup)\n",
		       json_string_value(json_object_get(answer, "cgroup")),
		       json_string_value(cpus), r->mems ? "bind:" : "", json_string_value(mem));
	if (r->mems)
		json_object_set_new(answer, "mem", json_sprintf("bind:%s", json_string_value(mem)));
	else
		json_object_set(answer, "mem", mem);
	json_object_set(answer, "cpus", cpus);
	json_object_set_new(answer, "engine", json_string("cgroup"));
	if (np_json)
		np_json_print(json_incref(answer));
	json_decref(cpus);
	json_decref(mem);
}

static int place_cgroup(const struct arguments *a, const struct np_binding *b)
{
	const struct np_cgroup_place r = {
		.name = { .path = a->common.cgroup, .unit = a->common.unit },
		.cpus = b->cpus,
		.mems = b->mem_mode == MPOL_BIND ? b->mem_nodes : NULL,
	};
	struct np_err err;
	json_t *answer;
	int e;

	if (b->mem_mode >= 0 && !r.mems)
		return np_usage("place: a cgroup cannot have memory policy %s, only nodes: say "
				"--membind NODES, or place its processes one by one",
				a->binding.mem);
	e = np_cgroup_place(&r, &answer, &err);
	if (e)
		np_error("%s", err.text);
	else
		report_cgroup(&r, answer);
	json_decref(answer);
	return np_engine_exit(e);
}

static int carry_out(const struct arguments *a, const struct np_binding *b)
{
	struct np_place_request r = {
		.pid = a->common.pids.pid[0],
		.inherit = a->inherit,
		.one_thread = a->one_thread,
		.cpus = b->cpus,
		.mem_mode = b->mem_mode,
		.mem_nodes = b->mem_nodes,
	};
	const struct np_engine_ops *ops;
	struct np_err err;
	int status, e;

	ops = np_cmd_engine(a->common.engine, &status);
	if (!ops)
		return status;
	e = ops->place(&r, &err);
	if (e)
		np_error("%s", err.text);
	else
		report(&r, ops->name);
	return np_engine_exit(e);
}

static int place(const struct arguments *a, const struct np_machine *m)
{
	struct np_binding b;
	struct np_node_args s;
	struct np_err err;
	int status;

	np_node_args_open(&s, m);
	if (np_binding_resolve(&a->binding, &s, &b, &err))
		status = np_usage("%s", err.text);
	else if (a->common.cgroup || a->common.unit)
		status = place_cgroup(a, &b);
	else
		status = carry_out(a, &b);
	np_binding_free(&b);
	np_node_args_close(&s);
	return status;
}

int cmd_place(int argc, char **argv)
{
	struct arguments a = { .inherit = true };
	struct np_machine m = { 0 };
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status)
		status = np_cmd_machine(&m);
	if (!status)
		status = place(&a, &m);
	np_machine_free(&m);
	np_common_free(&a.common);
	return status;
}
