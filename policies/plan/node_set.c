// SPDX-License-Identifier: GPL-2.0-only
#include "node_set.h"

#include <errno.h>

#define PAGE_STEPS 16 /* shares of a task's pages that differ by less count as alike */

/* Sets of one size, compared. */
struct choice {
	const struct np_placer *p;
	size_t i;
	int need;	    /* nodes */
	bool by_room;	    /* else by the task's pages */
	double pages;	    /* all of the task */
	uint8_t *in, *best; /* [n_nodes] */
	double best_worth, best_distance;
};

static double free_cpus(const struct np_placer *p, int node)
{
	return fmax(0, (double)p->m->node[node].cpus - (double)p->used[node]);
}

static double worth(const struct choice *c, int node)
{
	if (c->by_room)
		return free_cpus(c->p, node);
	return c->pages > 0 ? floor(PAGE_STEPS * (double)c->p->tasks[c->i].pages[node] / c->pages) :
			      0;
}

/* CPUs of the largest `most` nodes that the task may run on and that are not in `in`. */
static unsigned int largest(const struct np_placer *p, size_t i, const uint8_t *in, int most)
{
	unsigned int cpus = 0, below = UINT32_MAX;

	while (most > 0) {
		unsigned int size = 0;
		int alike = 0;

		for (int node = 0; node < (int)p->m->n_nodes; node++) {
			unsigned int has = p->m->node[node].cpus;

			if ((in && in[node]) || !np_may_run(p->m, &p->tasks[i], node) ||
			    has >= below)
				continue;
			alike = has > size ? 1 : alike + (has == size);
			size = has > size ? has : size;
		}
		if (!size)
			break;
		alike = alike < most ? alike : most;
		cpus += size * (unsigned int)alike;
		most -= alike;
		below = size;
	}
	return cpus;
}

static int may_run_on(const struct np_placer *p, size_t i)
{
	int n = 0;

	for (int node = 0; node < (int)p->m->n_nodes; node++)
		n += np_may_run(p->m, &p->tasks[i], node);
	return n;
}

/*
 * Adds the node of most worth, of equal ones the nearest to start, with which the set can still
 * fit.
 */
static bool add_one(struct choice *c, int start, unsigned int *cpus, int left)
{
	const struct np_machine *m = c->p->m;
	const struct np_task *t = &c->p->tasks[c->i];
	int best = NP_NODE_NONE;

	for (int node = 0; node < (int)m->n_nodes; node++) {
		bool fits;

		if (c->in[node] || !np_may_run(m, t, node))
			continue;
		c->in[node] = 1;
		fits = *cpus + m->node[node].cpus + largest(c->p, c->i, c->in, left - 1) >=
		       t->cores;
		c->in[node] = 0;
		if (fits && (best == NP_NODE_NONE || worth(c, node) > worth(c, best) ||
			     (worth(c, node) == worth(c, best) &&
			      np_distance(m, start, node) < np_distance(m, start, best))))
			best = node;
	}
	if (best == NP_NODE_NONE)
		return false;
	c->in[best] = 1;
	*cpus += m->node[best].cpus;
	return true;
}

static void compare(struct choice *c)
{
	const struct np_machine *m = c->p->m;
	double sum = 0, distance = 0;

	for (int node = 0; node < (int)m->n_nodes; node++) {
		if (!c->in[node])
			continue;
		sum += worth(c, node);
		for (int other = 0; other < (int)m->n_nodes; other++)
			distance += c->in[other] ? np_distance(m, node, other) : 0;
	}
	if (sum < c->best_worth || (sum == c->best_worth && distance >= c->best_distance))
		return;
	c->best_worth = sum;
	c->best_distance = distance;
	memcpy(c->best, c->in, m->n_nodes);
}

/* From each node on. */
static void choose(struct choice *c, bool by_room)
{
	const struct np_machine *m = c->p->m;

	c->by_room = by_room;
	c->best_worth = -1;
	c->best_distance = 0;
	for (int start = 0; start < (int)m->n_nodes; start++) {
		unsigned int cpus = m->node[start].cpus;
		int left = c->need - 1;

		if (!np_may_run(m, &c->p->tasks[c->i], start))
			continue;
		memset(c->in, 0, m->n_nodes);
		c->in[start] = 1;
		if (cpus + largest(c->p, c->i, c->in, left) < c->p->tasks[c->i].cores)
			continue;
		while (left && add_one(c, start, &cpus, left))
			left--;
		if (!left)
			compare(c);
	}
}

static double room_on(const struct np_placer *p, const uint8_t *in)
{
	double room = 0;

	for (int node = 0; node < (int)p->m->n_nodes; node++)
		room += in[node] ? free_cpus(p, node) : 0;
	return room;
}

/* Decides that task i runs on the nodes of in [n_nodes] that are not 0. False: no memory. */
static bool place_on_nodes(struct np_placer *p, size_t i, const uint8_t *in)
{
	p->decision[i].nodes = np_plan_spread(p->plan, p->m->n_nodes, in);
	if (p->decision[i].nodes == NP_NODE_NONE)
		return false;
	np_use_cpus(p, in, p->tasks[i].cores);
	return true;
}

bool np_place_on_fewest(struct np_placer *p, size_t i)
{
	size_t k = p->m->n_nodes;
	struct choice c = { .p = p, .i = i, .in = calloc(2 * k, 1) };
	int all = may_run_on(p, i);
	bool placed = false;
	char text[64];

	c.best = c.in + k;
	for (size_t node = 0; node < k; node++)
		c.pages += (double)p->tasks[i].pages[node];
	while (c.in && c.need < all && largest(p, i, NULL, c.need) < p->tasks[i].cores)
		c.need++;
	if (c.in && c.need && c.need < all) {
		choose(&c, false);
		if (room_on(p, c.best) < p->tasks[i].cores)
			choose(&c, true);
		placed = place_on_nodes(p, i, c.best);
	}
	if (placed)
		np_reason(&p->decision[i],
			  "keeps %u CPUs busy, more than a node has: nodes %s are the "
			  "fewest with so many",
			  p->tasks[i].cores, np_nodes_text(p->m, c.best, text, sizeof(text)));
	free(c.in);
	return placed;
}

/* Pages of each node of the set when those from outside are shared out; returns how many these are. */
static uint64_t pages_wanted(const struct np_placer *p, size_t i, const uint8_t *in, double *want)
{
	const struct np_task *t = &p->tasks[i];
	uint64_t outside = 0;
	size_t holders = 0;

	for (int node = 0; node < (int)p->m->n_nodes; node++) {
		bool holds = in[node] && np_may_hold(p->m, t, node);

		want[node] = holds ? (double)t->pages[node] : 0;
		holders += holds;
		if (!holds)
			outside += t->pages[node] - np_pages_fixed(t, (size_t)node, p->m->n_nodes);
	}
	for (int node = 0; node < (int)p->m->n_nodes; node++)
		if (in[node] && np_may_hold(p->m, t, node))
			want[node] += (double)outside / (double)holders;
	return holders ? outside : 0;
}

int np_pages_into_nodes(struct np_placer *p, size_t i)
{
	size_t k = p->m->n_nodes;
	struct np_decision *d = &p->decision[i];
	uint8_t *weight = calloc(k, 1);
	double *want = calloc(k, sizeof(*want)), most = 0;
	int e = weight && want ? 0 : -ENOMEM;

	if (!e && pages_wanted(p, i, p->plan->spread + (size_t)d->nodes * k, want)) {
		for (size_t node = 0; node < k; node++)
			most = fmax(most, want[node]);
		for (size_t node = 0; node < k; node++)
			weight[node] = (uint8_t)ceil(want[node] / most * UINT8_MAX);
		d->spread = np_plan_spread(p->plan, k, weight);
		d->mem = NP_MEM_LEAVE;
		e = d->spread == NP_NODE_NONE ? -ENOMEM : 0;
	}
	free(weight);
	free(want);
	return e;
}

const char *np_nodes_text(const struct np_machine *m, const uint8_t *in, char *text,
			  size_t text_len)
{
	size_t at = 0, left = 0;
	bool first = true;

	for (size_t node = 0; node < m->n_nodes; node++)
		left += in[node] != 0;
	text[0] = '\0';
	for (size_t node = 0; node < m->n_nodes && at < text_len; node++) {
		if (!in[node])
			continue;
		left--;
		at += (size_t)snprintf(text + at, text_len - at, "%s%d",
				       first ? "" :
				       left  ? ", " :
					       " and ",
				       m->node[node].id);
		first = false;
	}
	return text;
}
