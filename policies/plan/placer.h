/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the policies while they fill a plan: CPUs in use, order, distances. */
#ifndef NUMAPLACE_PLACER_H
#define NUMAPLACE_PLACER_H

#include "pages.h"
#include "plan.h"

#define POLICY(name) extern const struct np_policy np_policy_##name;
#include "policies.def"
#undef POLICY

struct np_placer {
	const struct np_machine *m;
	const struct np_task *tasks;
	size_t n;
	struct np_plan *plan;
	struct np_decision *decision; /* [n] of plan */
	size_t *order;		      /* [n] task indices, highest penalty first */
	uint64_t *used;		      /* [n_nodes] CPUs that tasks have so far */
	struct np_distances distances;
};

/* 0 or -ENOMEM. Release it with np_placer_free(). */
int np_placer_init(struct np_placer *p, const struct np_machine *m, const struct np_task *tasks,
		   size_t n, struct np_plan *out);
void np_placer_free(struct np_placer *p);

/* Gives task i the CPUs that it needs on node; takes back what it had. */
void np_place_on(struct np_placer *p, size_t i, int node);

/*
 * Cores that are busy on the nodes of in [n_nodes] that are not 0, shared out by their CPUs
 * without a core lost in rounding. Less than 0: they are free again.
 */
void np_use_cpus(struct np_placer *p, const uint8_t *in, int64_t cores);

/* Sets in [n_nodes] to 1 for each node that task i runs on now, else to 0. */
void np_nodes_now(const struct np_placer *p, size_t i, uint8_t *in);

/* True if task i may run on node and the CPUs that it needs are free there. */
bool np_has_room(const struct np_placer *p, int node, size_t i);

/* The node nearest to node on which task i may hold pages, or NP_NODE_NONE. */
int np_nearest_memory(const struct np_placer *p, size_t i, int node);

#endif
