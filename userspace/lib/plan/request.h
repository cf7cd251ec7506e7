/* SPDX-License-Identifier: GPL-2.0-only */
/* Request for a plan: a policy, tasks and machine, and the answer. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_REQUEST_H
#define NUMAPLACE_LIB_REQUEST_H

#include <jansson.h>
#include <stdio.h>

#include "../../../policies/model/model.h"
#include "../../../policies/plan/plan.h"
#include "../base/cpulist.h"
#include "../base/error.h"
#include "../files/snapshot.h"
#include "../host/tasks.h"
#include "../host/topology.h"
#include "task_limits.h"

struct np_file_moves;

/* Which policy is asked about which tasks. */
struct np_policy_args {
	const struct np_policy *policy;
	struct np_options options;
	const char **assume; /* [n_assume] as np_tasks_assume() takes it */
	size_t n_assume;
	const pid_t *pids; /* [n_pids] */
	size_t n_pids;
	double least_gain; /* predicted throughput afterwards / now, of less the plan is rejected */
	const char *model; /* machine file to take the model of; NULL: find one */
	unsigned int sample_ms; /* 0: every task is taken to keep one CPU busy */
	bool skip_gone;		/* leave out those that cannot be read (any more) */
	const char *nodes;	/* list of the nodes to place on; NULL: all */
	bool override; /* of user-set affinities and memory policies, and of isolated CPUs */
};

/* The policy of a plan that was read, where that is not built in. */
struct np_request_plugin {
	struct np_policy policy;
	char name[128];
};

struct np_request {
	enum np_platform platform;
	double least_gain;	   /* of np_policy_args */
	struct np_machine machine; /* its model is the one below */
	struct np_model *model;	   /* a machine file's, else derived from the distances */
	struct np_tasks tasks;
	struct np_task_limits limits; /* cpusets and reserved CPUs; empty where tasks are not real */
	bool override;		      /* as in np_policy_args */
	char nodes[NP_LIST_LEN];      /* the same; "": all */
	char isolated[NP_LIST_LEN];   /* CPUs that are kept free; "": none */
	char boot[40];		      /* that its tasks run in; "": they are of a snapshot */
	int balancing;		      /* np_balancing_read(); -1 also: not this machine's tasks */
	const struct np_policy *policy;
	struct np_request_plugin *plugin; /* that policy points to; NULL: elsewhere */
	struct np_options options;
	struct np_plan plan; /* plan.decision[i] is about tasks.task[i] */
	/* With the policy's option "files", of running tasks; else NULL. */
	struct np_file_moves *files;
	/* [2 * tasks.n * n_nodes] tasks.pages and shm_pages with files counted, which the policy sees */
	uint64_t *with_files;
};

/*
 * Reads machine and tasks and asks the policy. 0, or -errno with one line in
 * err: -ESRCH when a task does not exist, -EOPNOTSUPP when the machine has one
 * node. The caller releases p with np_request_free().
 */
int np_request_make(struct np_request *p, const struct np_policy_args *args, struct np_err *err);

/* The same for all tasks of a snapshot, whatever machine it is of; s is empty afterwards, also on error. */
int np_request_from(struct np_request *p, const struct np_policy_args *args, struct np_snapshot *s,
		    struct np_err *err);

/* This machine with what can be had of its memory; refused when it has one node. */
int np_request_machine(struct np_machine *m, struct np_err *err);

/*
 * The model of this machine, which points to it: of the file that is named, else of
 * np_machine_file_here() where that has a [model], as `calibrate-machine` writes it, else
 * derived. Never of a file of the machine's name: that of a lab's machine is what makes it
 * slow, which no real machine tells. The caller frees *model, set even after an error.
 */
int np_request_model(struct np_machine *m, struct np_model **model, const char *named,
		     struct np_err *err);

/* The policy's part of it: p's machine and tasks are there, its plan becomes the answer. */
int np_request_ask(struct np_request *p, struct np_err *err);

/*
 * Reads the files of its running tasks where the policy's option "files" is on, for a plan that is made. 0,
 * or -errno with one line in err.
 */
int np_request_plan_files(struct np_request *p, struct np_err *err);

/* Counts the files of its tasks where that option is on. tasks.pages stay what they are. 0 or -ENOMEM. */
int np_request_count_files(struct np_request *p);

/* CPUs and nodes that its tasks may be given; override: all that their cpusets allow. */
int np_request_limit(struct np_request *p, bool override, struct np_err *err);

/*
 * A model from the distances and all CPUs, also those that no task may be given: some run there.
 * As np_model_derive().
 */
int np_request_derive_model(struct np_model *out, const struct np_machine *m, char *err,
			    size_t len);

/* 0, or -EOPNOTSUPP with one line in err: a policy needs more than one node. */
int np_request_check_nodes(const struct np_machine *m, struct np_err *err);

void np_request_free(struct np_request *p);

/*
 * {"platform", "policy", "options", "override", "isolated", "numa_balancing",
 * "model", "predicted", "unordered", "decisions": [..]}
 */
json_t *np_request_json(const struct np_request *p);

/* The same with these decisions, which it takes over: those of np_decision_json() and more in each. */
json_t *np_request_json_with(const struct np_request *p, json_t *decisions);

/* One decision, without what was done about it. */
json_t *np_decision_json(const struct np_request *p, size_t i);

/* A line on the pages that no order of moves brings to their node; nothing when there are none. */
void np_unordered_print(FILE *out, const struct np_plan *plan);

/* A line each on what else is to be known: CPUs that are kept free, the kernel's balancing. */
void np_request_print_notes(FILE *out, const struct np_request *p);

/* The heading line and one aligned line a task. */
void np_request_print(FILE *out, const struct np_request *p);

/* "maximum-local (pages=follow, penalty=0, rate=935)". Returns text. */
const char *np_policy_text(const struct np_policy *policy, const struct np_options *o, char *text,
			   size_t text_len);

/* The kernel's number of the node, or "-". Returns text. */
const char *np_node_text(const struct np_machine *m, int node, char *text, size_t text_len);

/* The node, or nodes ("0,2"), that a task is to run on; "-" for none. Returns text. */
#define NP_NODES_TEXT 64
const char *np_place_text(const struct np_request *p, const struct np_decision *d, char *text,
			  size_t text_len);

#endif
