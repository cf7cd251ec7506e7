// SPDX-License-Identifier: GPL-2.0-only
#include "weights.h"

#include <limits.h>
#include <numaif.h>
#include <stdlib.h>

#include "memory_policy.h"
#include "proc.h"

#define WEIGHTS "/sys/kernel/mm/mempolicy/weighted_interleave"

/* Even weights: interleave. */
static int mode_of_weights(const struct np_planning *p, const uint8_t *weight)
{
	uint8_t one = 0;

	for (size_t node = 0; node < p->machine.n_nodes; node++) {
		if (!weight[node])
			continue;
		if (one && weight[node] != one)
			return NP_MPOL_WEIGHTED_INTERLEAVE;
		one = weight[node];
	}
	return MPOL_INTERLEAVE;
}

static const uint8_t *weights_of(const struct np_planning *p, const struct np_decision *d)
{
	return p->plan.spread + (size_t)d->spread * p->machine.n_nodes;
}

int np_spread_mode(const struct np_planning *p, const struct np_decision *d)
{
	if (d->mem == NP_MEM_AUTO)
		return mode_of_weights(p, weights_of(p, d));
	return d->mem == NP_MEM_WEIGHTED ? NP_MPOL_WEIGHTED_INTERLEAVE : MPOL_INTERLEAVE;
}

bool np_weights_read(const char *root, const struct np_machine *m, uint8_t *weight)
{
	for (size_t node = 0; node < m->n_nodes; node++) {
		char path[PATH_MAX], *text;
		unsigned long value;

		snprintf(path, sizeof(path), "%s" WEIGHTS "/node%d", root, m->node[node].id);
		text = np_read_file(path);
		value = text ? strtoul(text, NULL, 10) : 0;
		free(text);
		if (!value && m->node[node].has_memory)
			return false;
		weight[node] = value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
	}
	return true;
}

/* The first decision that the kernel's weights matter to, or NULL. */
static const struct np_decision *first_weighted(const struct np_planning *p)
{
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct np_decision *d = &p->plan.decision[i];

		if (d->spread != NP_NODE_NONE && d->mem != NP_MEM_LEAVE &&
		    np_spread_mode(p, d) == NP_MPOL_WEIGHTED_INTERLEAVE)
			return d;
	}
	return NULL;
}

json_t *np_weights_json(const struct np_planning *p)
{
	uint8_t *weight = calloc(p->machine.n_nodes + 1, sizeof(*weight));
	json_t *j = NULL;
	char id[16];

	/* A snapshot's tasks run on another machine, or did at another time. */
	if (weight && p->boot[0] && first_weighted(p) && np_weights_read("", &p->machine, weight)) {
		j = json_object();
		for (size_t node = 0; node < p->machine.n_nodes; node++) {
			snprintf(id, sizeof(id), "%d", p->machine.node[node].id);
			json_object_set_new(j, id, json_integer(weight[node]));
		}
	}
	free(weight);
	return j ? j : json_null();
}

/* On the nodes that the plan spreads over. */
static bool same_proportion(const struct np_planning *p, const uint8_t *a, const uint8_t *b)
{
	for (size_t i = 0; i < p->machine.n_nodes; i++)
		for (size_t k = 0; k < i; k++)
			if (a[i] && a[k] && a[i] * b[k] != a[k] * b[i])
				return false;
	return true;
}

/* "0:100 1:37" */
static const char *list_text(const struct np_planning *p, const uint8_t *weight,
			     const uint8_t *where, char *text, size_t len)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < p->machine.n_nodes && at < len; i++)
		if (where[i])
			at += (size_t)snprintf(text + at, len - at, "%s%d:%u", at ? " " : "",
					       p->machine.node[i].id, weight[i]);
	return text;
}

bool np_weights_text(const struct np_planning *p, const uint8_t *kernel, char *text, size_t len)
{
	const struct np_decision *d = first_weighted(p);
	const uint8_t *plan = d ? weights_of(p, d) : NULL;
	char have[128], want[128];

	if (!d || (kernel && same_proportion(p, plan, kernel)))
		return false;
	if (!kernel)
		snprintf(text, len, "this kernel has no weights for interleaving (Linux 6.9 has): pages "
			 "that are allocated from now on are interleaved evenly");
	else
		snprintf(text, len, "pages that are allocated from now on are spread by the kernel's "
			 "weights, %s, not by the plan's, %s; root can write those to "
			 WEIGHTS "/nodeN, for every task of this machine",
			 list_text(p, kernel, plan, have, sizeof(have)),
			 list_text(p, plan, plan, want, sizeof(want)));
	return true;
}
