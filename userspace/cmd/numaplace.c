// SPDX-License-Identifier: GPL-2.0-only
/* The command table: dispatch and help. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beside.h"
#include "cmd.h"

static const struct np_cmd commands[] = {
	{ "topology", cmd_topology, "",
	  "nodes, CPUs, caches, distances, memory; module and kernel" },
	{ "machine", cmd_machine, "NAME|SHAPE|FILE.toml",
	  "what a machine file describes; checks it" },
	{ "ps", cmd_ps, "[PID..]", "tasks: node, pages per node, locality, IPC, MPKI, penalty" },
	{ "top", cmd_top, "", "what ps shows, live in the terminal" },
	{ "files", cmd_files, "PID.. | PATH..",
	  "files: pages per node, who maps them, which are remote" },
	{ "place", cmd_place, "PID --cpus LIST --mem MODE:NODES", "binds a running task" },
	{ "counters", cmd_counters, "[--pid PID] [-C CPUS] [-- CMD]",
	  "IPC, cache misses, local and remote memory accesses" },
	{ "measure-penalty", cmd_measure_penalty, "--task CMD | --flip PID",
	  "measures the NUMA penalty of tasks" },
	{ "restore", cmd_restore, "PID | --all", "undoes every place and apply" },
	{ "migrate", cmd_migrate, "PID [--from A] --to B",
	  "moves pages of a running task, a file or a segment" },
	{ "policies", cmd_policies, "", "the policies built in, their options and needs" },
	{ "plan", cmd_plan, "--policy P [PID..]", "what a policy would do and why; does nothing" },
	{ "apply", cmd_apply, "--policy P [PID..]", "does what the policy says" },
	{ "predict", cmd_predict, "--machine M --tasks T",
	  "predicts what policies would bring, and compares" },
	{ "run", cmd_run, "--policy P -- CMD", "starts a program under a policy" },
	{ "daemon", cmd_daemon, "--policy P [PID..]", "keeps running tasks placed by a policy" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Programs beside this one, when they are built: numaplace-NAME. */
static const struct np_cmd programs[] = {
	{ "trace", NULL, "[NAME [PID]] [-- CMD]", "shows moves and placements while they happen" },
	{ "lab", NULL, "list | run --machine M -- CMD", "runs a program on a simulated machine" },
	{ "calibrate-machine", NULL, "FILE.toml", "measures this machine into a machine file" },
	{ "experiment", NULL, "list | run SUITE | report DIR",
	  "runs and compares whole experiments" },
	{ "campaign", NULL, "FILE.toml SUITE.. | resume DIR", "runs suites on many machines" },
	{ "worth", NULL, "[--lab MACHINE] -- CMD", "says what placement buys a program" },
	{ "judge", NULL, "--kernel A --kernel B [SUITE]",
	  "says whether kernel B is slower than kernel A" },
};

#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static void print_command(const struct np_cmd *c)
{
	char synopsis[128];

	snprintf(synopsis, sizeof(synopsis), "%s %s", c->name, c->args);
	printf("  %-42s %s\n", synopsis, c->summary);
}

static int print_help(void)
{
	char path[PATH_MAX];

	printf("Usage: numaplace COMMAND [ARGUMENT...]\n"
	       "Places tasks and their pages on the nodes of a NUMA machine.\n\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		print_command(&commands[i]);
	for (size_t i = 0; i < N_PROGRAMS; i++)
		if (np_beside_find(programs[i].name, path, sizeof(path)))
			print_command(&programs[i]);
	printf("\n`numaplace COMMAND --help` explains one; --json prints records for programs;\n"
	       "`numaplace --version` prints the version and the module's ABI.\n");
	return NP_EXIT_OK;
}

static int print_version(void)
{
	printf("numaplace %s (module ABI %d)\n", NUMAPLACE_VERSION, NUMAPLACE_ABI);
	return NP_EXIT_OK;
}

/* Single-letter insertions, deletions and replacements from a to b. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[64], n = strlen(b);

	if (n >= 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; *a; a++, i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = diagonal + (*a != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[n];
}

static int unknown_command(const char *name)
{
	const char *nearest = commands[0].name;

	for (size_t i = 0; i < N_COMMANDS + N_PROGRAMS; i++) {
		const char *have = i < N_COMMANDS ? commands[i].name :
						    programs[i - N_COMMANDS].name;

		if (edit_distance(name, have) < edit_distance(name, nearest))
			nearest = have;
	}
	for (size_t i = 0; i < N_PROGRAMS; i++)
		if (!strcmp(name, programs[i].name))
			return np_usage("the program numaplace-%s is not beside this one; `make` "
					"builds it",
					name);
	return np_usage("no command \"%s\"; the nearest is \"%s\", and numaplace --help lists all",
			name, nearest);
}

static int dispatch(int argc, char **argv)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc, argv);
	}
	if (!np_beside_find(argv[0], path, sizeof(path)))
		return unknown_command(argv[0]);
	return np_beside_run(argv[0], path, argv);
}

/* At every exit: output that could not be written is an error. */
static void close_output(void)
{
	bool empty = !__fpending(stdout), failed = ferror(stdout) != 0;

	errno = 0;
	if (!fclose(stdout) && !failed)
		return;
	if (!failed && empty && errno == EBADF) /* it was closed from the start, and not needed */
		return;
	fprintf(stderr, "numaplace: standard output cannot be written%s%s\n", errno ? ": " : "",
		errno ? strerror(errno) : "");
	_exit(NP_EXIT_FAIL);
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : NULL;
	char help[] = "--help";

	atexit(close_output);
	/* Ignored, as some parents leave it, it hides how a program ended. */
	signal(SIGCHLD, SIG_DFL);
	if (!first)
		return np_usage("no command; numaplace --help lists them");
	if (!strcmp(first, "--version") || !strcmp(first, "-V"))
		return print_version();
	if (!strcmp(first, "--help") || !strcmp(first, "-h") || !strcmp(first, "help")) {
		char *again[] = { argc > 2 ? argv[2] : NULL, help, NULL };

		return again[0] ? dispatch(2, again) : print_help();
	}
	return dispatch(argc - 1, argv + 1);
}
