// SPDX-License-Identifier: GPL-2.0-only
/* trace: runs a bpftrace script on the module's tracepoints and the kernel's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmd/arg_units.h"
#include "../cmd/cmd_args.h"
#include "../lib/host/module_files.h"
#include "bpftrace.h"
#include "scripts.h"

#define MIN_US 1000
#define MAX_US 3600000000u

enum { KEY_FOR = NP_KEY_OWN };

struct trace_args {
	const char *name, *pid;
	unsigned int us;
	char **command;
};

static const struct argp_option options[] = {
	{ "for", KEY_FOR, "TIME", 0, "End after this time, such as 500ms or 10s", 0 },
	NP_JSON_OPTION,
	{ 0 },
};

static error_t take_word(struct trace_args *a, const char *word)
{
	pid_t pid;

	if (!a->name) {
		a->name = word;
		return 0;
	}
	if (a->pid)
		return ARGP_ERR_UNKNOWN;
	a->pid = word;
	return np_arg_pid(word, &pid);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trace_args *a = state->input;

	switch (key) {
	case KEY_FOR:
		return np_arg_microseconds(arg, "--for", MIN_US, MAX_US, &a->us);
	case 'j':
		np_json = true;
		return 0;
	case ARGP_KEY_ARG:
		return take_word(a, arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[list | NAME [PID]] [-- COMMAND [ARGUMENT..]]",
	.doc = "Shows what the module and the kernel do with pages and tasks while they do it, of "
	       "all processes or of one. Without a name it lists what can be shown.\v"
	       "It ends with Ctrl-C, after --for, or with the command, which starts when tracing "
	       "has begun and whose exit status is passed on. bpftrace takes some seconds to start.",
};

/* Words after "--" are the command's; argp would not tell them from its own. */
static char **cut_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		*argc = i;
		argv[i] = NULL;
		return argv + i + 1;
	}
	return NULL;
}

static int list(const struct np_scripts *scripts)
{
	json_t *j = json_array();

	for (size_t i = 0; i < scripts->n; i++) {
		const struct np_script *s = &scripts->script[i];

		if (np_json)
			json_array_append_new(j, json_pack("{s:s, s:s, s:s}", "name", s->name,
							   "summary", s->summary, "path", s->path));
		else
			printf("%-12s %s\n", s->name, s->summary);
	}
	if (np_json)
		np_json_print(json_pack("{s:O}", "scripts", j));
	json_decref(j);
	return NP_EXIT_OK;
}

static int unknown_script(const struct np_scripts *scripts, const char *name)
{
	char names[512] = "";

	for (size_t i = 0; i < scripts->n; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", scripts->script[i].name);
	return np_usage("trace: no script \"%s\"; there are %s", name, names);
}

static bool in_path(const char *program)
{
	const char *path = getenv("PATH");
	char copy[4096], file[4200], *save;

	snprintf(copy, sizeof(copy), "%s", path ? path : "");
	for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(file, sizeof(file), "%s/%s", dir, program);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* Checks the requirements of the scripts. */
static int check_machine(void)
{
	struct np_module_info info;
	struct np_err err;

	if (np_module_probe(&info, &err))
		return np_failed(NP_EXIT_CANNOT, "trace: %s", err.text);
	if (in_path("bpftrace"))
		return NP_EXIT_OK;
	return np_failed(NP_EXIT_CANNOT,
			 "trace: bpftrace is not installed; apt install bpftrace, or read the tracepoints "
			 "with perf record -e 'numaplace:*'");
}

static int check_process(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s", pid ? pid : "self");
	if (!access(path, F_OK))
		return NP_EXIT_OK;
	return np_failed(NP_EXIT_FAIL, "no process %s; `numaplace ps` lists those there are", pid);
}

static int trace(const struct trace_args *a, const struct np_scripts *scripts)
{
	struct np_bpftrace tracer = { .pid = a->pid, .us = a->us, .command = a->command };
	const struct np_script *script = np_scripts_get(scripts, a->name);
	int status;

	if (!script)
		return unknown_script(scripts, a->name);
	if (a->command && !a->command[0])
		return np_usage("trace: no command after --");
	status = check_machine();
	if (!status)
		status = check_process(a->pid);
	if (status)
		return status;
	tracer.script = script->path;
	return np_bpftrace_run(&tracer);
}

static bool wants_list(const struct trace_args *a)
{
	return !a->name || (!strcmp(a->name, "list") && !a->pid);
}

int cmd_trace(int argc, char **argv)
{
	struct trace_args a = { .command = cut_command(&argc, argv) };
	struct np_scripts scripts;
	int e, status = np_args(&argp, argc, argv, 0, &a);

	if (status)
		return status;
	if (wants_list(&a) && a.command)
		return np_usage("trace: a command needs the name of a script before --");
	e = np_scripts_find(&scripts);
	if (e) {
		status = np_failed(NP_EXIT_CANNOT,
				   "trace: the bpftrace scripts cannot be read: %s; they belong in "
				   "../share/numaplace/tracing beside this program's folder",
				   strerror(-e));
	} else {
		status = wants_list(&a) ? list(&scripts) : trace(&a, &scripts);
	}
	np_scripts_free(&scripts);
	return status;
}
