/* SPDX-License-Identifier: GPL-2.0-only */
/* The input of a policy as JSON: parts of snapshots, of plans and of the question to a program. */
#ifndef NUMAPLACE_LIB_POLICY_INPUT_H
#define NUMAPLACE_LIB_POLICY_INPUT_H

#include <jansson.h>

#include "../../../policies/plan/plan.h"

/* [{"id", "cpus", "usable_cpus", "has_memory", "mem_total", "mem_free", "distances", ..}, ..] */
json_t *np_json_nodes(const struct np_machine *m);

/* {"name", "page_size", "nodes"} */
json_t *np_json_machine(const struct np_machine *m);

/* The figures of its contention model, by node in the order of its nodes, and where they come from;
 * or null. */
json_t *np_json_model(const struct np_machine *m);

/* A task, without what a policy is not told of it. */
json_t *np_json_task(const struct np_machine *m, const struct np_task *task);

/* Adds "may_run", "may_hold" and "runs_on" to a task: lists of nodes. */
void np_json_add_limits(json_t *object, const struct np_machine *m, const struct np_task *task);

/* {"pages": "follow", "rate": 935.0} */
json_t *np_json_options(const struct np_policy *policy, const struct np_options *o);

/* "machine file", ..; false when no model is from there. */
const char *np_model_origin_name(enum np_model_origin origin);
bool np_model_origin_find(const char *name, enum np_model_origin *origin);

/* "auto", .. */
const char *np_mem_policy_name(enum np_mem_policy mem);
bool np_mem_policy_find(const char *name, enum np_mem_policy *mem);

#endif
