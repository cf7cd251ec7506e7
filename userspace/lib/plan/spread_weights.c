// SPDX-License-Identifier: GPL-2.0-only
#include "spread_weights.h"

#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../host/mempolicy.h"
#include "../host/proc.h"

#define FOLDER "/sys/kernel/mm/mempolicy/weighted_interleave"

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
	bool known = true;

	for (size_t node = 0; node < m->n_nodes; node++) {
		char *text = np_read_file_of("%s" FOLDER "/node%d", root, m->node[node].id);

		weight[node] = text ? (uint8_t)atoi(text) : 0;
		known &= weight[node] || !m->node[node].has_memory;
		free(text);
	}
	return known;
}

/* The row of weights that the kernel is to have for decision i; NULL: it is none of that kind. */
static const uint8_t *row_wanted(const struct np_request *p, size_t i)
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
		const uint8_t *row = row_wanted(p, i);

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
static void print_list(FILE *out, const struct np_request *p, const uint8_t *weight,
		       const uint8_t *where)
{
	const char *between = "";

	for (size_t i = 0; i < p->machine.n_nodes; i++) {
		if (!where[i])
			continue;
		fprintf(out, "%s%d:%u", between, p->machine.node[i].id, weight[i]);
		between = " ";
	}
}

/* For a shell of root. Weights that are so already, and those of other nodes, stay. */
static void print_command(FILE *out, const struct np_request *p, const uint8_t *plan,
			  const uint8_t *kernel)
{
	fputs("cd " FOLDER, out);
	for (size_t i = 0; i < p->machine.n_nodes; i++)
		if (plan[i] && plan[i] != kernel[i])
			fprintf(out, " && echo %u >node%d", plan[i], p->machine.node[i].id);
}

static void print_difference(FILE *out, const struct np_request *p, const uint8_t *plan,
			     const uint8_t *kernel)
{
	fputs("new pages are interleaved by the kernel's weights, ", out);
	print_list(out, p, kernel, plan);
	fputs(", not by the plan's, ", out);
	print_list(out, p, plan, plan);
	fputs("; to set these for every task of the machine: ", out);
	print_command(out, p, plan, kernel);
}

/* A list or a command that is cut would be another one. */
static void difference_text(const struct np_request *p, const uint8_t *plan, const uint8_t *kernel,
			    char *text, size_t len)
{
	char *line = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&line, &n);
	bool whole = false;

	if (out) {
		print_difference(out, p, plan, kernel);
		whole = !fclose(out) && n < len;
	}
	if (whole)
		memcpy(text, line, n + 1);
	else
		snprintf(text, len,
			 "new pages are interleaved by the kernel's weights, not by the plan's; to "
			 "set these for every task of the machine, write wanted_weights of "
			 "`numaplace plan --json` to " FOLDER "/nodeN");
	free(line);
}

bool np_weights_text(const struct np_request *p, const uint8_t *kernel, char *text, size_t len)
{
	const uint8_t *plan = wanted(p, kernel);

	if (!plan || (kernel && same_proportion(p, plan, kernel)))
		return false;
	if (kernel)
		difference_text(p, plan, kernel, text, len);
	else
		snprintf(text, len,
			 "this kernel has no interleave weights (Linux 6.9 and later have): new "
			 "pages are interleaved evenly");
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
