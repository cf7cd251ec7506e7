/* SPDX-License-Identifier: GPL-2.0-only */
/* Consequences of a policy's answer: pages, cost, gain. */
#ifndef NUMAPLACE_PAGES_H
#define NUMAPLACE_PAGES_H

#include "../predict/distances.h"

/*
 * For each decision: plan->pages_after, so that no node gets more than it has
 * room for (tasks of low penalty give way), pages_to_move, cost and gain.
 * rate_mib: MiB a second at which pages move. 0 or -ENOMEM.
 */
int np_plan_pages(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan,
		  double rate_mib);

/* Free pages of node that a plan may fill. */
uint64_t np_pages_room(const struct np_machine *m, size_t node);

/* Pages of t on node, of k nodes, that must stay there: those that other processes use too. */
uint64_t np_pages_fixed(const struct np_task *t, size_t node, size_t k);

/* The gain of each decision whose pages_after stand. 0 or -ENOMEM. */
int np_plan_gain(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan);

/* Tasks of plan, highest penalty first, else as given, into order [n]. */
void np_plan_by_penalty(const struct np_plan *plan, size_t *order);

#endif
