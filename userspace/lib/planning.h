/* SPDX-License-Identifier: GPL-2.0-only */
/* A policy asked about running tasks on this machine, and its answer. */
#ifndef NUMAPLACE_LIB_PLANNING_H
#define NUMAPLACE_LIB_PLANNING_H

#include <jansson.h>
#include <stdio.h>

#include "../../policies/model.h"
#include "../../policies/plan.h"
#include "confined.h"
#include "error.h"
#include "machine.h"
#include "tasks.h"

/* Which policy is asked about which tasks. */
struct np_policy_args {
	const struct np_policy *policy;
	struct np_options options;
	const char **assume;		/* [n_assume] "pid=N,penalty=P,mpki=M" */
	size_t n_assume;
	const pid_t *pids;		/* [n_pids] */
	size_t n_pids;
	const char *model;		/* machine file to take the model of; NULL: find one */
	unsigned int sample_ms;		/* 0: every task is taken to keep one CPU busy */
	bool skip_gone;			/* leave out those that cannot be read (any more) */
};

/* The policy of a saved plan, where that came from a shared object. */
struct np_planned_plugin {
	struct np_policy policy;
	char name[64];
};

struct np_planning {
	enum np_where where;
	struct np_machine machine;	/* its model is the one below */
	struct np_model *model;		/* the machine file's, else derived from the distances */
	struct np_tasks tasks;
	struct np_confined confined;	/* cpusets; empty where tasks are not real */
	const struct np_policy *policy;
	struct np_planned_plugin *plugin;	/* that policy points to; NULL: elsewhere */
	struct np_options options;
	struct np_plan plan;		/* plan.decision[i] is about tasks.task[i] */
};

/*
 * Reads machine and tasks and asks the policy. 0, or -errno with one line in
 * err: -ESRCH when a task does not exist, -EOPNOTSUPP when the machine has one
 * node. The caller releases p with np_planning_free().
 */
int np_planning_make(struct np_planning *p, const struct np_policy_args *args,
		     char *err, size_t err_len);

/* The same for all tasks of a snapshot (a file, "-" for standard input), whatever machine it is of. */
int np_planning_from(struct np_planning *p, const struct np_policy_args *args, const char *snapshot,
		     char *err, size_t err_len);

/* This machine with what can be had of its memory; refused when it has one node. */
int np_planning_machine(struct np_machine *m, char *err, size_t err_len);

/*
 * The model of this machine, which points to it: of the file that is named, else of the
 * machine file with this machine's name (the lab's machines have one), else derived. The
 * caller frees *model, set even after an error.
 */
int np_planning_model(struct np_machine *m, struct np_model **model, const char *file, char *err,
		      size_t err_len);

/* The policy's part of it: p's machine and tasks are there, its plan becomes the answer. */
int np_planning_ask(struct np_planning *p, char *err, size_t err_len);

/* 0, or -EOPNOTSUPP with one line in err: a policy needs more than one node. */
int np_planning_check_nodes(const struct np_machine *m, char *err, size_t err_len);

void np_planning_free(struct np_planning *p);

/* {"where", "policy", "options", "model", "predicted", "unordered", "decisions": [..]} */
json_t *np_planning_json(const struct np_planning *p);

/* One decision, without what was done about it. */
json_t *np_decision_json(const struct np_planning *p, size_t i);

/* A line on the pages that no order of moves brings to their node; nothing when there are none. */
void np_unordered_print(FILE *out, const struct np_plan *plan);

/* The heading line and one aligned line a task. */
void np_planning_print(FILE *out, const struct np_planning *p);

/* "maximum-local (pages=follow, penalty=0, rate=935)". Returns text. */
const char *np_policy_text(const struct np_policy *policy, const struct np_options *o,
			   char *text, size_t text_len);

/* The kernel's number of the node, or "-". Returns text. */
const char *np_node_text(const struct np_machine *m, int node, char *text, size_t text_len);

#endif
