// SPDX-License-Identifier: GPL-2.0-only
/* numaplace place */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "lib/list.h"
#include "lib/memory_policy.h"
#include "lib/proc.h"
#include "lib/spaces.h"

enum { KEY_ONE_THREAD = 0x100, KEY_INHERIT, KEY_NO_INHERIT, KEY_ENGINE };

struct arguments {
	struct np_pids pids;
	const char *cpus, *nodes, *mem, *membind;
	bool inherit, one_thread;
	enum np_engine engine;
};

static const struct argp_option options[] = {
	{ "cpus", 'C', "LIST", 0, "Run on these CPUs only", 0 },
	{ "physcpubind", 0, NULL, OPTION_ALIAS, NULL, 0 },
	{ "cpunodebind", 'N', "NODES", 0, "Run on the CPUs of these nodes only", 0 },
	{ "mem", 'M', "MODE:NODES", 0, "New memory comes from there: bind:NODES, preferred:NODE, "
	  "preferred-many:NODES, interleave:NODES, weighted-interleave:NODES, local, default; needs "
	  "the module", 0 },
	{ "membind", 'm', "NODES", 0, "The same as --mem bind:NODES", 0 },
	{ "inherit", KEY_INHERIT, NULL, 0, "Children and threads started from now on are placed, and "
	  "restored, as well (the default)", 0 },
	{ "no-inherit", KEY_NO_INHERIT, NULL, 0, "They get what it had before; needs the module", 0 },
	{ "one-thread", KEY_ONE_THREAD, NULL, 0, "Only the thread PID, not its whole process", 0 },
	{ "engine", KEY_ENGINE, "ENGINE", 0, "auto (the module if it is loaded), module, syscall", 0 },
	{ "json", 'j', NULL, 0, "Print one JSON object", 0 },
	{ 0 },
};

static int check(const struct arguments *a)
{
	const char *wrong = NULL;

	if (a->pids.n != 1)
		wrong = "name one process";
	else if (a->cpus && a->nodes)
		wrong = "--cpus and --cpunodebind exclude each other";
	else if (a->mem && a->membind)
		wrong = "--mem and --membind exclude each other";
	else if (!a->cpus && !a->nodes && !a->mem && !a->membind)
		wrong = "say where: --cpus, --cpunodebind or --mem";
	if (!wrong)
		return 0;
	np_error("place: %s", wrong);
	return ECANCELED;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'C':
		a->cpus = arg;
		return 0;
	case 'N':
		a->nodes = arg;
		return 0;
	case 'M':
		a->mem = arg;
		return 0;
	case 'm':
		a->membind = arg;
		return 0;
	case 'j':
		np_json = true;
		return 0;
	case KEY_INHERIT:
		a->inherit = true;
		return 0;
	case KEY_NO_INHERIT:
		a->inherit = false;
		return 0;
	case KEY_ONE_THREAD:
		a->one_thread = true;
		return 0;
	case KEY_ENGINE:
		return np_arg_engine(arg, &a->engine);
	case ARGP_KEY_ARG:
		return np_arg_add_pid(arg, &a->pids);
	case ARGP_KEY_END:
		return check(a);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID",
	.doc = "Binds a running process, all its threads at once, to CPUs, and sets where its new "
	       "memory comes from. `numaplace restore` undoes it. Lists are written as in numactl: "
	       "0-2,5 or !1 (all but 1) or +0 (the first of those allowed) or all.\v"
	       "Pages that are already in memory stay where they are; `numaplace migrate` moves "
	       "them.",
};

/* Turns the words into masks that the machine can satisfy. 0 or -EINVAL with err. */
static int resolve(const struct arguments *a, const struct np_spaces *s, struct np_place_request *r,
		   struct bitmask **cpus, struct bitmask **mem, char *err, size_t err_len)
{
	char membind[NP_LIST_LEN];
	const char *policy = a->mem;

	r->mem_mode = -1;
	if (a->cpus)
		*cpus = np_list_parse(a->cpus, &s->cpu, err, err_len);
	else if (a->nodes)
		*cpus = np_spaces_cpus_of(s, a->nodes, err, err_len);
	if ((a->cpus || a->nodes) && !*cpus)
		return -EINVAL;
	if (a->membind) {
		snprintf(membind, sizeof(membind), "bind:%s", a->membind);
		policy = membind;
	}
	if (policy && np_memory_policy_parse(policy, &s->memory, &r->mem_mode, mem, err, err_len))
		return -EINVAL;
	r->cpus = *cpus;
	r->mem_nodes = *mem;
	return 0;
}

static void report(const struct np_place_request *r, const char *engine)
{
	char cpus[NP_LIST_LEN] = "unchanged", mem[NP_LIST_LEN + 32] = "unchanged";
	struct np_proc_stat st = { .comm = "exited" };

	np_proc_stat(r->pid, &st);
	if (r->cpus)
		np_list_format(r->cpus, cpus, sizeof(cpus));
	if (r->mem_mode >= 0)
		np_memory_policy_format(r->mem_mode, r->mem_nodes, mem, sizeof(mem));
	if (np_json)
		np_json_print(json_pack("{s:i,s:s,s:s,s:s,s:s,s:b,s:s}", "pid", r->pid, "comm",
					st.comm, "threads", r->one_thread ? "one" : "all", "cpus",
					cpus, "mem", mem, "inherit", r->inherit, "engine", engine));
	else
		printf("placed %d (%s), %s: CPUs %s, memory %s (%s)\n", r->pid, st.comm,
		       r->one_thread ? "one thread" : "all threads", cpus, mem, engine);
}

static int place(const struct arguments *a, const struct np_machine *m)
{
	struct np_place_request r = { .pid = a->pids.pid[0], .inherit = a->inherit,
				      .one_thread = a->one_thread };
	struct bitmask *cpus = NULL, *mem = NULL;
	const struct np_control *control;
	int status = NP_EXIT_USAGE, e;
	struct np_spaces s;
	char err[NP_ERR_LEN];

	np_spaces_open(&s, m);
	e = resolve(a, &s, &r, &cpus, &mem, err, sizeof(err));
	if (e) {
		np_error("%s", err);
	} else if ((control = np_cmd_engine(a->engine, &status))) {
		e = control->place(&r, err, sizeof(err));
		status = np_control_exit(e);
		if (e)
			np_error("%s", err);
		else
			report(&r, control->name);
	}
	np_spaces_close(&s);
	if (cpus)
		numa_bitmask_free(cpus);
	if (mem)
		numa_bitmask_free(mem);
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
	free(a.pids.pid);
	return status;
}
