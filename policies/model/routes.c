// SPDX-License-Identifier: GPL-2.0-only
/* A model's machine: whether its numbers make sense, its routes, its idle latencies. */
#include "fields.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UNREACHABLE 255

__attribute__((format(printf, 3, 4))) static int fault(char *err, size_t err_len,
						       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, err_len, format, args);
	va_end(args);
	return -EINVAL;
}

/* A machine has a line; a node or a link may lack any number, which is 0 then. */
static int check_range(const char *what, const struct np_model_field *field, double value,
		       char *err, size_t err_len)
{
	double min = field->scope == NP_SCOPE_MODEL ? field->min * field->scale : 0;
	double max = field->max * field->scale;

	if (value >= min && value <= max)
		return 0;
	return fault(err, err_len, "%s%s is %g, must be %g to %g", what, field->member, value, min,
		     max);
}

static int check_ranges(enum np_model_scope scope, const void *base, const char *what, char *err,
			size_t err_len)
{
	const struct np_model_field *field = NULL;
	int result = 0;

	while (!result && (field = np_model_field_next(scope, field)))
		result = check_range(what, field, np_model_value(field, base), err, err_len);
	return result;
}

static int check_node(const struct np_model *m, size_t index, char *err, size_t err_len)
{
	const struct np_model_node *d = &m->node[index];
	char what[32];

	if (d->dram_bytes_per_s > 0 && !(d->dram_latency_ns > 0))
		return fault(err, err_len, "node %zu: has DRAM but no dram_latency_ns", index);
	if (!(d->dram_bytes_per_s > 0) && !(d->core_outstanding > 0))
		return fault(err, err_len,
			     "node %zu: has neither cores (core_outstanding) nor memory "
			     "(dram_bytes_per_s)",
			     index);
	snprintf(what, sizeof(what), "node %zu: ", index);
	return check_ranges(NP_SCOPE_NODE, d, what, err, err_len);
}

static int check_link(const struct np_model *m, size_t index, char *err, size_t err_len)
{
	const struct np_model_link *l = &m->link[index];
	char what[32];

	for (int end = 0; end < 2; end++)
		if (l->node[end] < 0 || l->node[end] >= (int)m->n_nodes)
			return fault(err, err_len, "link %zu: there is no node %d", index,
				     l->node[end]);
	if (l->node[0] == l->node[1])
		return fault(err, err_len, "link %zu: joins node %d to itself", index, l->node[0]);
	snprintf(what, sizeof(what), "link %zu: ", index);
	return check_ranges(NP_SCOPE_LINK, l, what, err, err_len);
}

static int check(const struct np_model *m, char *err, size_t err_len)
{
	int result = 0;

	if (!m->n_nodes || m->n_nodes > NP_MODEL_NODES)
		return fault(err, err_len, "%zu nodes, must be 1 to %d", m->n_nodes,
			     NP_MODEL_NODES);
	if (m->n_links > NP_MODEL_LINKS)
		return fault(err, err_len, "%zu links, must be at most %d", m->n_links,
			     NP_MODEL_LINKS);
	result = check_ranges(NP_SCOPE_MODEL, m, "", err, err_len);
	for (size_t i = 0; i < m->n_nodes && !result; i++)
		result = check_node(m, i, err, err_len);
	for (size_t i = 0; i < m->n_links && !result; i++)
		result = check_link(m, i, err, err_len);
	return result;
}

/* Extends the route to node `via` by link l if that makes a better route from `from`. */
static bool extend(struct np_model *m, size_t from, size_t via, size_t l, int direction)
{
	size_t to = (size_t)m->link[l].node[1 - direction];
	unsigned int hops = m->hops[from][via] + 1u;
	double ns = m->link_ns[from][via] + m->link[l].latency_ns;

	if (hops > NP_MODEL_HOPS || hops > m->hops[from][to] ||
	    (hops == m->hops[from][to] && ns >= m->link_ns[from][to]))
		return false;
	m->hops[from][to] = (unsigned char)hops;
	m->link_ns[from][to] = ns;
	memcpy(m->route[from][to], m->route[from][via], sizeof(m->route[from][to]));
	m->route[from][to][hops - 1] = (unsigned short)(2 * l + (size_t)direction);
	return true;
}

static void find_routes(struct np_model *m, size_t from)
{
	bool better = true;

	memset(m->hops[from], UNREACHABLE, sizeof(m->hops[from]));
	m->hops[from][from] = 0;
	m->link_ns[from][from] = 0;
	while (better) {
		better = false;
		for (size_t l = 0; l < m->n_links; l++)
			for (int direction = 0; direction < 2; direction++) {
				size_t via = (size_t)m->link[l].node[direction];

				if (m->hops[from][via] != UNREACHABLE)
					better |= extend(m, from, via, l, direction);
			}
	}
}

int np_model_prepare(struct np_model *m, char *err, size_t err_len)
{
	int result = check(m, err, err_len);

	if (result)
		return result;
	for (size_t from = 0; from < m->n_nodes; from++) {
		find_routes(m, from);
		for (size_t to = 0; to < m->n_nodes; to++)
			if (m->hops[from][to] == UNREACHABLE)
				return fault(err, err_len,
					     "nodes %zu and %zu: no route of up to %d links", from,
					     to, NP_MODEL_HOPS);
	}
	return 0;
}

double np_model_unloaded_ns(const struct np_model *m, int from, int to)
{
	if (!(m->node[to].dram_bytes_per_s > 0))
		return 0;
	return m->node[to].dram_latency_ns + m->link_ns[from][to];
}

/* A rate of 0 is no limit. */
static double narrower(double rate, double limit)
{
	return limit > 0 && limit < rate ? limit : rate;
}

double np_model_route_bytes_per_s(const struct np_model *m, int from, int to)
{
	double rate = m->node[to].dram_bytes_per_s;

	if (from != to)
		rate = narrower(rate, m->node[from].port_bytes_per_s);
	for (size_t hop = 0; hop < m->hops[from][to]; hop++)
		rate = narrower(rate, m->link[m->route[from][to][hop] / 2].bytes_per_s);
	return rate;
}
