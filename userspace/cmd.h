/* SPDX-License-Identifier: GPL-2.0-only */
/* The command table: dispatch and help both come from it. */
#ifndef NUMAPLACE_CMD_H
#define NUMAPLACE_CMD_H

#include <stdbool.h>
#include <jansson.h>

/* Exit statuses of every command. */
enum {
	NP_EXIT_OK = 0,
	NP_EXIT_FAIL = 1,	/* what was asked did not happen */
	NP_EXIT_USAGE = 2,	/* the command line is wrong */
	NP_EXIT_CANNOT = 3,	/* this machine cannot do that */
};

struct np_cmd {
	const char *name;
	int (*run)(int argc, char **argv);	/* argv[0] is the command's name */
	const char *args;	/* as in "PID --cpus LIST" */
	const char *summary;
};

int cmd_topology(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_place(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_migrate(int argc, char **argv);
int cmd_jobs(int argc, char **argv);
int cmd_cancel(int argc, char **argv);
int cmd_policies(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_run(int argc, char **argv);

/*
 * Prints "numaplace: ..." on stderr, or {"error": "..."} on stdout when
 * np_json is set. One line: what, on which object, why, what to do.
 */
void np_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Set by a command that was given --json, before anything is printed. */
extern bool np_json;

/* Prints j on stdout, indented, newline at the end, and releases it. */
void np_json_print(json_t *j);

#endif
