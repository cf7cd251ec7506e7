/* SPDX-License-Identifier: GPL-2.0-only */
/* The command table: dispatch and help both come from it. */
#ifndef NUMAPLACE_CMD_H
#define NUMAPLACE_CMD_H

#include <argp.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../lib/engine/engine.h"
#include "../lib/files/json.h"
#include "../lib/host/tasks.h"
#include "../lib/host/topology.h"

/* Exit statuses of every command. */
enum {
	NP_EXIT_OK = 0,
	NP_EXIT_FAIL = 1,   /* the request did not happen */
	NP_EXIT_USAGE = 2,  /* the command line is wrong */
	NP_EXIT_CANNOT = 3, /* this machine cannot do that */
};

struct np_cmd {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
	const char *args;		   /* as in "PID --cpus LIST" */
	const char *summary;
};

int cmd_topology(int argc, char **argv);
int cmd_machine(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_counters(int argc, char **argv);
int cmd_measure_penalty(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_place(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_files(int argc, char **argv);
int cmd_migrate(int argc, char **argv);
int cmd_policies(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_daemon(int argc, char **argv);

/*
 * Prints "numaplace: ..." on stderr, also with --json. One line: what, on which object, why, what
 * to do.
 */
void np_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Set by a command that was given --json, before anything is printed. */
extern bool np_json;

/* np_error() and this status, or error number: return np_failed(NP_EXIT_FAIL, "..."). */
int np_failed(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a wrong command line: return np_usage("..."). */
#define np_usage(...) np_failed(NP_EXIT_USAGE, __VA_ARGS__)

/*
 * argp_parse() with errors of one line: 0, or an exit status after the error
 * was printed. A parser that printed its own error returns ECANCELED. --help
 * prints and exits. argv[0] is the command's name.
 */
int np_args(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

/* Parse options and arguments; 0, or ECANCELED after printing the error. */
int np_arg_engine(const char *text, enum np_engine *engine);
int np_arg_number(const char *text, const char *what, unsigned long max, unsigned long *value);

/* An array that the caller frees. */
struct np_pids {
	pid_t *pid;
	size_t n;
};

/* Appends a pid: 0 or ENOMEM; as text, as above. */
int np_pids_add(struct np_pids *pids, pid_t pid);
int np_arg_add_pid(const char *text, struct np_pids *pids);

/*
 * Sets what a signal does unless it is ignored: nohup(1) ignores SIGHUP, a shell SIGINT for jobs in
 * the background, and it stays so, also in a command that is started.
 */
void np_catch(int signal, const struct sigaction *action);

/* The same of SIGINT, SIGTERM and SIGHUP. */
void np_catch_ends(void (*handler)(int signal), int flags);

/* The signal of these that has come since np_stop_by_signals(); 0: none. flags: of sigaction(). */
extern volatile sig_atomic_t np_stopped;
void np_stop_by_signals(int flags);

/* This machine; NP_EXIT_OK, or an exit status after printing the error. */
int np_cmd_machine(struct np_machine *m);

/* The engine, or NULL after printing the error; *status is then to be returned. */
const struct np_engine_ops *np_cmd_engine(enum np_engine engine, int *status);

/* Prints j on stdout, indented, newline at the end, and releases it. */
void np_json_print(json_t *j);

#endif
