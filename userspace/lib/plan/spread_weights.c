// SPDX-License-Identifier: GPL-2.0-only
#include "spread_weights.h"

#include <numaif.h>
#include <stdlib.h>

#include "../host/interleave_weights.h"
#include "../host/mempolicy.h"

/* Even weights: interleave. */
static int mode_of_weights(const struct np_request *p, const uint8_t *weight)
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

static const uint8_t *weights_of(const struct np_request *p, const struct np_decision *d)
{
	return p->plan.spread + (size_t)d->spread * p->machine.n_nodes;
}

int np_spread_mode(const struct np_request *p, const struct np_decision *d)
{
	if (d->mem == NP_MEM_AUTO)
		return mode_of_weights(p, weights_of(p, d));
	return d->mem == NP_MEM_WEIGHTED ? NP_MPOL_WEIGHTED_INTERLEAVE : MPOL_INTERLEAVE;
}

bool np_weights_read(const char *root, const struct np_machine *m, uint8_t *weight)
{
	json_t *kernel = np_weights_kernel_read(root);
	bool known = kernel;

	for (size_t node = 0; kernel && node < m->n_nodes; node++) {
		json_int_t value;
		char id[16];

		snprintf(id, sizeof(id), "%d", m->node[node].id);
		value = json_integer_value(json_object_get(kernel, id));
		known &= value || !m->node[node].has_memory;
		weight[node] = value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
	}
	json_decref(kernel);
	return known;
}

const uint8_t *np_weights_wanted(const struct np_request *p, size_t i)
{
	const struct np_decision *d = &p->plan.decision[i];

	if (d->spread == NP_NODE_NONE || d->mem == NP_MEM_LEAVE ||
	    np_spread_mode(p, d) != NP_MPOL_WEIGHTED_INTERLEAVE)
		return NULL;
	return weights_of(p, d);
}

json_t *np_weights_row_json(const struct np_machine *m, const uint8_t *weight)
{
	json_t *j = json_object();
	char id[16];

	for (size_t node = 0; node < m->n_nodes; node++) {
		snprintf(id, sizeof(id), "%d", m->node[node].id);
		if (weight[node])
			json_object_set_new(j, id, json_integer(weight[node]));
	}
	return j;
}

/* On the nodes that the plan spreads over. */
static bool same_proportion(const struct np_request *p, const uint8_t *a, const uint8_t *b)
{
	for (size_t i = 0; i < p->machine.n_nodes; i++)
		for (size_t k = 0; k < i; k++)
			if (a[i] && a[k] && a[i] * b[k] != a[k] * b[i])
				return false;
	return true;
}

/*
 * The weights that the plan wants: of its first decision that kernel does not serve (NULL:
 * first of all), else of its first; NULL: it wants none.
 */
static const uint8_t *wanted(const struct np_request *p, const uint8_t *kernel)
{
	const uint8_t *first = NULL;

	for (size_t i = 0; i < p->plan.n; i++) {
		const uint8_t *row = np_weights_wanted(p, i);

		if (row && (!kernel || !same_proportion(p, row, kernel)))
			return row;
		first = first ? first : row;
	}
	return first;
}

void np_weights_add_json(const struct np_request *p, json_t *object)
{
	uint8_t *kernel = calloc(p->machine.n_nodes + 1, sizeof(*kernel));
	/* A snapshot's tasks run on another machine, or did at another time. */
	bool known = kernel && p->boot[0] && np_weights_read("", &p->machine, kernel);
	const uint8_t *plan = wanted(p, known ? kernel : NULL);

	json_object_set_new(object, "kernel_weights",
			    plan && known ? np_weights_row_json(&p->machine, kernel) : json_null());
	json_object_set_new(object, "wanted_weights",
			    plan ? np_weights_row_json(&p->machine, plan) : json_null());
	free(kernel);
}

/* "0:100 1:37" */
static const char *list_text(const struct np_request *p, const uint8_t *weight,
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

bool np_weights_text(const struct np_request *p, const uint8_t *kernel, char *text, size_t len)
{
	const uint8_t *plan = wanted(p, kernel);
	char have[64], want[64];

	if (!plan || (kernel && same_proportion(p, plan, kernel)))
		return false;
	if (!kernel)
		snprintf(text, len,
			 "this kernel has no interleave weights (Linux 6.9 and later have): new "
			 "pages are interleaved evenly");
	else
		snprintf(text, len,
			 "new pages are interleaved by the kernel's weights, %s, not by the "
			 "plan's, %s; `--weights write` of apply, run and daemon writes the plan's, for "
			 "every task of the machine",
			 list_text(p, kernel, plan, have, sizeof(have)),
			 list_text(p, plan, plan, want, sizeof(want)));
	return true;
}

bool np_weights_note(const struct np_request *p, char *text, size_t len)
{
	uint8_t *kernel = calloc(p->machine.n_nodes + 1, sizeof(*kernel));
	bool known = kernel && np_weights_read("", &p->machine, kernel);
	bool note = kernel && np_weights_text(p, known ? kernel : NULL, text, len);

	free(kernel);
	return note;
}
