/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's options: on the command line, and in a file that SIGHUP reads again. */
#ifndef NUMAPLACE_DAEMON_ARGS_H
#define NUMAPLACE_DAEMON_ARGS_H

#include "../lib/daemon/daemon.h"
#include "policy_args.h"

struct np_daemon_args {
	const char *command; /* that the errors are of */
	struct np_policy_cli words;
	unsigned int interval_us;
	struct np_hysteresis_rules hysteresis;
	unsigned int count; /* tasks whose counters are read at once */
	double min_busy, min_size_mib;
	double reading; /* percent of a CPU */
	double trial_s; /* 0: none */
	bool leave, pages;
	const char *metrics, *events, *file;
	char *text;  /* of the file */
	char **argv; /* parsed words, in text and in the caller's argv */
};

/* --interval; 0, or ECANCELED after printing the error. */
int np_arg_interval(const char *text, unsigned int *us);

/* The options' values where none is given. */
void np_daemon_args_defaults(struct np_daemon_args *a, const char *command);

/* NP_EXIT_OK, or an exit status after printing why. Released in either case. */
int np_daemon_args_read(struct np_daemon_args *a, int argc, char **argv);
void np_daemon_args_free(struct np_daemon_args *a);

/*
 * Sets the options that may change while the daemon runs: policy, options, assumptions, throttle,
 * hysteresis and which tasks are eligible. An exit status.
 */
int np_daemon_args_apply(struct np_daemon_args *a, struct np_daemon *d);

#endif
