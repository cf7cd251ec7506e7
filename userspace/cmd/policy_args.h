/* SPDX-License-Identifier: GPL-2.0-only */
/* The options that plan, apply and run have in common. */
#ifndef NUMAPLACE_POLICY_ARGS_H
#define NUMAPLACE_POLICY_ARGS_H

#include "../lib/plan/request.h"
#include "cmd_args.h"
#include "select_args.h"

/* Of every command that asks policies; its key goes to np_policy_timeout_parse(). */
/* clang-format off */
#define NP_POLICY_TIMEOUT_OPTION \
	{ "policy-timeout", NP_KEY_POLICY_TIMEOUT, "TIME", 0, "How long a policy that is a program may " \
	  "take for an answer (5s)", 0 }

/* For a command's option table; keys are those that np_policy_args_parse() knows. */
#define NP_POLICY_OPTIONS \
	{ "policy", 'p', "NAME[:O=V,..]", 0, "the policy: one that `numaplace policies` lists, a shared object, ./mine.so, or " \
	  "a program, exec:./mine.py; with options, as in n-mass:pages=follow", 0 }, \
	NP_POLICY_TIMEOUT_OPTION, \
	{ "option", 'o', "NAME=VALUE", 0, "an option of the policy; may be repeated", 0 }, \
	{ "model", 'M', "MACHINE", 0, "take the contention model of this machine file (a name of " \
	  "`lab list` or a .toml file); else of /etc/numaplace/machine.toml, or what " \
	  "NUMAPLACE_MACHINE_FILE names, else one derived from the distances", 0 }, \
	{ "sample", 's', "TIME", 0, "watch for so long how many CPUs each task keeps busy; 0: " \
	  "take it as one (default 200ms)", 0 }, \
	{ "least-gain", NP_KEY_LEAST_GAIN, "RATIO", 0, "Leave all tasks alone where the predicted " \
	  "throughput is less than RATIO times the present one (1; plan, and policies that are " \
	  "controls: 0)", 0 }, \
	{ "override", NP_KEY_OVERRIDE, NULL, 0, "Also change CPUs and memory policies that were " \
	  "chosen for a task (by itself, taskset, numactl), and use isolated CPUs", 0 }

#define NP_ASSUME_OPTION \
	{ "assume", 'a', "pid=N,penalty=P,mpki=M", 0, "what is known of a task, or without pid of every one; may be repeated", 0 }

#define NP_NODES_OPTION \
	{ "nodes", NP_KEY_NODES, "NODES", 0, "Place on these nodes only; pages that are on others move " \
	  "where the policy moves pages (all)", 0 }

/* plan's and apply's files. */
#define NP_PLAN_FILE_OPTIONS \
	{ "show", NP_KEY_SHOW, "FILE", 0, "Say what is in a plan that --json printed (- for standard input); " \
	  "asks no policy", 0 }, \
	{ "snapshot", NP_KEY_SNAPSHOT, "FILE", 0, "Plan for all tasks of a snapshot, as `numaplace ps " \
	  "--json` prints it; - for standard input", 0 }
/* clang-format on */

/* The words of the command line, before they are parsed. */
struct np_policy_cli {
	const char *policy, *model;
	struct np_words option, assume;
	struct np_select select;
	bool override;
	const char *nodes;
	double least_gain; /* below 0: not said, then usual_gain, of a control 0 */
	double usual_gain;
	unsigned long sample_ms;
	double timeout_s;		    /* of a policy that is a program */
	const char *show, *snapshot, *plan; /* files */
	struct np_common common;
};

void np_policy_cli_init(struct np_policy_cli *w);
void np_policy_cli_free(struct np_policy_cli *w);

/* A command of one policy: parses its words and carries it out. An exit status. */
int np_policy_cli_run(const struct argp *argp, int argc, char **argv,
		      int (*command)(struct np_policy_cli *w));

/* For a command's parser: as argp's, ARGP_ERR_UNKNOWN for a key that it does not know. */
int np_policy_args_parse(int key, const char *arg, struct np_policy_cli *w);

/* 0 or an errno of argp's parsers. */
int np_policy_timeout_parse(const char *arg);

/* Finds the policy, sets its options and adds the cgroup's tasks. An exit status. */
int np_policy_args_resolve(struct np_policy_cli *w, struct np_policy_args *args);

/* np_request_make(): NP_EXIT_OK, or an exit status after printing why. */
int np_cmd_request(struct np_request *p, const struct np_policy_args *args);

#endif
