// SPDX-License-Identifier: GPL-2.0-only
/*
 * Weights by which pages are spread over nodes, and sets of nodes that a task runs on: by the
 * bandwidth that each node's CPUs get (rows 0 to k - 1), the same for all (row k), the nodes that
 * are near to each other, and what the plans of policies bring.
 */
#include <errno.h>

#include "../plan/bandwidth.h"
#include "search.h"

#define EVERY_SIZE 8 /* nodes up to which sets of every size are tried; else each twice the last */

/* NP_NODE_NONE: no memory. */
static short add(struct np_search *s, const uint8_t *weight)
{
	struct np_row *row;

	if (s->n_rows == s->row_room) {
		size_t room = 2 * s->row_room + 64;
		struct np_row **bigger = room > INT16_MAX ? NULL :
							    realloc(s->row, room * sizeof(*s->row));

		if (!bigger)
			return NP_NODE_NONE;
		s->row = bigger;
		s->row_room = room;
	}
	row = malloc(sizeof(*row) + s->k);
	if (!row)
		return NP_NODE_NONE;
	row->sum = row->cpus = 0;
	memcpy(row->weight, weight, s->k);
	for (size_t node = 0; node < s->k; node++) {
		row->sum += weight[node];
		row->cpus += weight[node] ? s->m->node[node].cpus : 0;
	}
	s->row[s->n_rows] = row;
	return (short)s->n_rows++;
}

static short find(const struct np_search *s, size_t first, const uint8_t *weight)
{
	for (size_t i = first; i < s->n_rows; i++)
		if (!memcmp(s->row[i]->weight, weight, s->k))
			return (short)i;
	return NP_NODE_NONE;
}

/* The number of the row with these weights [k]; NP_NODE_NONE: no memory. */
static short row_of(struct np_search *s, const uint8_t *weight)
{
	short found = find(s, 0, weight);

	return found == NP_NODE_NONE ? add(s, weight) : found;
}

static bool add_weights(struct np_search *s, double *table, uint8_t *weight)
{
	bool room = true;

	np_bandwidth_table(s->m, table);
	for (int node = 0; room && node < (int)s->k; node++) {
		np_bandwidth_weights(s->m, NULL, table, node, 0, weight);
		room = add(s, weight) != NP_NODE_NONE;
	}
	for (size_t node = 0; node < s->k; node++)
		weight[node] = s->m->node[node].has_memory;
	return room && add(s, weight) != NP_NODE_NONE;
}

/* The node with CPUs nearest to start that is not in the set. */
static int nearest(const struct np_search *s, int start, const uint8_t *in)
{
	int best = NP_NODE_NONE;

	for (int node = 0; node < (int)s->k; node++)
		if (!in[node] && s->m->node[node].cpus &&
		    (best == NP_NODE_NONE ||
		     np_distance(s->m, start, node) < np_distance(s->m, start, best)))
			best = node;
	return best;
}

/* Around each node, the nearest first. */
static bool add_sets(struct np_search *s, uint8_t *in)
{
	bool room = true;

	s->first_set = s->n_rows;
	for (int start = 0; start < (int)s->k && room; start++) {
		size_t size = 1, next = 2;
		int node = start;

		memset(in, 0, s->k);
		for (in[start] = s->m->node[start].cpus > 0; in[start] && room; size++) {
			if (size == next && find(s, s->first_set, in) == NP_NODE_NONE)
				room = add(s, in) != NP_NODE_NONE;
			if (size == next)
				next = s->k <= EVERY_SIZE ? next + 1 : 2 * next;
			node = nearest(s, start, in);
			if (node == NP_NODE_NONE)
				break;
			in[node] = 1;
		}
	}
	s->n_sets = s->n_rows - s->first_set;
	return room;
}

static bool any_has_several_cores(const struct np_search *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tasks[i].cores > 1)
			return true;
	return false;
}

int np_search_rows_init(struct np_search *s)
{
	double *table;
	uint8_t *weight;
	bool room;

	if (s->n > NP_MANY_TASKS) /* np_search_choice() is not called */
		return 0;
	table = malloc(s->k * s->k * sizeof(*table));
	weight = malloc(s->k);
	room = table && weight && add_weights(s, table, weight) &&
	       (s->n > NP_FEW_TASKS || !any_has_several_cores(s) || add_sets(s, weight));

	free(table);
	free(weight);
	return room ? 0 : -ENOMEM;
}

void np_search_rows_free(struct np_search *s)
{
	for (size_t i = 0; i < s->n_rows; i++)
		free(s->row[i]);
	free(s->row);
}

struct np_placement_choice np_choice_of(struct np_search *s, size_t i, const struct np_plan *plan)
{
	const struct np_decision *d = &plan->decision[i];
	struct np_placement_choice choice = np_choice_stay(s->tasks[i].node);

	if (d->to != NP_NODE_NONE)
		choice.node = (short)d->to;
	if (d->nodes != NP_NODE_NONE)
		choice.nodes = row_of(s, plan->spread + (size_t)d->nodes * s->k);
	if (choice.nodes != NP_NODE_NONE)
		choice.node = NP_NODE_NONE;
	if (d->pages_to != NP_NODE_NONE) {
		choice.a = choice.b = (short)d->pages_to;
		choice.on_a = NP_QUARTERS;
	}
	if (d->spread != NP_NODE_NONE)
		choice.row = row_of(s, plan->spread + (size_t)d->spread * s->k);
	return choice;
}
