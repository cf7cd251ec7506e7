// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contention model for Python's ctypes: takes numbers and arrays of numbers, so that Python
 * repeats no struct.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../policies/model/fields.h"
#include "../../policies/predict/derive_model.h"

/* NULL with one line in err when the text is wrong. */
struct np_model *native_model(const char *text, char *err, size_t err_len)
{
	struct np_model *m = malloc(sizeof(*m));

	if (m && np_model_parse(m, text, err, err_len)) {
		free(m);
		return NULL;
	}
	return m;
}

/*
 * What plans go by on a machine that was never calibrated; distance: [n][n], memory: bytes of each
 * node. NULL with one line in err.
 */
struct np_model *native_derived(size_t n, const int *distance, const int *cpus,
				const double *memory, char *err, size_t err_len)
{
	struct np_node *node = calloc(n, sizeof(*node));
	int *copy = calloc(n * n, sizeof(*copy));
	struct np_model *m = calloc(1, sizeof(*m));
	struct np_machine machine = {
		.name = "derived", .n_nodes = n, .node = node, .distance = copy
	};
	int e = node && copy && m ? 0 : -ENOMEM;

	for (size_t i = 0; !e && i < n; i++)
		node[i] = (struct np_node) {
			.id = (int)i,
			.cpus = (unsigned int)cpus[i],
			.has_memory = memory[i] > 0,
		};
	if (!e) {
		memcpy(copy, distance, n * n * sizeof(*copy));
		e = np_model_derive(m, &machine, err, err_len);
	}
	free(node);
	free(copy);
	if (e) {
		free(m);
		return NULL;
	}
	return m;
}

void native_free(struct np_model *m)
{
	free(m);
}

static const struct np_model_field *field_of(const char *table, const char *key)
{
	const struct np_model_field *f = np_model_fields;

	while (f->member && (!f->table || strcmp(f->table, table) || strcmp(f->key, key)))
		f++;
	return f;
}

/* Whether the node has what the field tells of: cores or memory. */
static bool has(const struct np_model_field *f, const struct np_model_node *node)
{
	return strcmp(f->table, "dram") ? node->core_outstanding > 0 : node->dram_bytes_per_s > 0;
}

/* [model.TABLE] KEY of every node or link that has it becomes factor * itself + value. */
int native_change(struct np_model *m, const char *table, const char *key, double factor,
		  double value, char *err, size_t err_len)
{
	const struct np_model_field *f = field_of(table, key);

	for (size_t i = 0; f->member && f->scope == NP_SCOPE_NODE && i < m->n_nodes; i++) {
		double *member = np_model_member(f, &m->node[i]);

		if (has(f, &m->node[i]))
			*member = factor * *member + value * f->scale;
	}
	for (size_t i = 0; f->member && f->scope == NP_SCOPE_LINK && i < m->n_links; i++) {
		double *member = np_model_member(f, &m->link[i]);

		*member = factor * *member + value * f->scale;
	}
	return np_model_prepare(m, err, err_len);
}

/* flow: [n][from, to, cores]; result: [n][bytes a second, nanoseconds a line] */
int native_solve(const struct np_model *m, size_t n, const double (*flow)[3], double write_fraction,
		 double streams, double (*result)[2])
{
	struct np_model_flow *f = calloc(n, sizeof(*f));
	struct np_model_result *solved = calloc(n, sizeof(*solved));
	int e = f && solved ? 0 : -ENOMEM;

	for (size_t i = 0; !e && i < n; i++)
		f[i] = (struct np_model_flow) {
			.from = (int)flow[i][0],
			.to = (int)flow[i][1],
			.cores = flow[i][2],
			.write_fraction = write_fraction,
			.posted_fraction = write_fraction,
			.streams = streams,
		};
	if (!e)
		e = np_model_solve(m, f, n, solved);
	for (size_t i = 0; !e && i < n; i++) {
		result[i][0] = solved[i].bytes_per_s;
		result[i][1] = solved[i].latency_ns;
	}
	free(f);
	free(solved);
	return e;
}

/*
 * Latency in ns of a pointer chase by a core of a node in the memory of node `to`, beside `cores`
 * of its other cores that read bytes_per_s each there; 0: as much as they can. -1: the model
 * refuses it.
 */
double native_chase_ns(const struct np_model *m, int node, int to, double cores, double bytes_per_s)
{
	const struct np_model_flow flow[] = {
		{ .from = node, .to = to, .cores = 1, .outstanding = 1 },
		{ .from = node,
		  .to = to,
		  .cores = cores,
		  .demand_bytes_per_s = bytes_per_s,
		  .streams = 1 },
	};
	struct np_model_result result[2];

	return np_model_solve(m, flow, 2, result) ? -1 : result[0].latency_ns;
}
