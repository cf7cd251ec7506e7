// SPDX-License-Identifier: GPL-2.0-only
#include "local.h"

#include "node_set.h"

const char *const np_pages_words[] = { "follow", "stay", NULL };

/* The node that task i wants: that of its pages, else where it runs. */
static int wanted_node(const struct np_placer *p, size_t i)
{
	const struct np_decision *d = &p->decision[i];

	return d->home != NP_NODE_NONE ? d->home : d->from;
}

static bool fits_on_some_node(const struct np_placer *p, const struct np_task *t)
{
	for (int node = 0; node < (int)p->m->n_nodes; node++)
		if (np_may_run(p->m, t, node) && t->cores <= p->m->node[node].cpus)
			return true;
	return false;
}

/* True if a is a better place for task i than b, by distance to what it wants. */
static bool nearer(const struct np_placer *p, size_t i, int a, int b)
{
	int wanted = wanted_node(p, i);
	int da = 0, db = 0;

	if (b == NP_NODE_NONE)
		return true;
	if (wanted != NP_NODE_NONE) {
		da = np_distance(p->m, a, wanted);
		db = np_distance(p->m, b, wanted);
	}
	if (da != db)
		return da < db;
	return a == p->decision[i].from && b != a;
}

static int nearest_with_room(const struct np_placer *p, size_t i)
{
	int best = NP_NODE_NONE;

	for (int node = 0; node < (int)p->m->n_nodes; node++)
		if (np_has_room(p, node, i) && nearer(p, i, node, best))
			best = node;
	return best;
}

/* The load that node would have with task i, compared without rounding. */
static int least_loaded(const struct np_placer *p, size_t i)
{
	const struct np_node *nodes = p->m->node;
	unsigned int cores = p->tasks[i].cores;
	int best = NP_NODE_NONE;

	for (int node = 0; node < (int)p->m->n_nodes; node++) {
		uint64_t mine, other;

		if (!np_may_run(p->m, &p->tasks[i], node))
			continue;
		if (best == NP_NODE_NONE) {
			best = node;
			continue;
		}
		mine = (p->used[node] + cores) * nodes[best].cpus;
		other = (p->used[best] + cores) * nodes[node].cpus;
		if (mine < other || (mine == other && nearer(p, i, node, best)))
			best = node;
	}
	return best;
}

static void take_home(struct np_placer *p, size_t i)
{
	struct np_decision *d = &p->decision[i];
	int home = d->home;

	if (d->to != NP_NODE_NONE || home == NP_NODE_NONE || !np_has_room(p, home, i))
		return;
	np_place_on(p, i, home);
	if (d->from == home)
		np_reason(d, "runs on its home node %d already", p->m->node[home].id);
	else
		np_reason(d, "free core on its home node %d", p->m->node[home].id);
}

/*
 * Of tasks with the same penalty those that are at home already stay there, so
 * that planning again after a plan was carried out changes nothing.
 */
static void fill_homes(struct np_placer *p)
{
	const struct np_decision *d = p->decision;
	size_t end;

	for (size_t start = 0; start < p->n; start = end) {
		double penalty = d[p->order[start]].penalty;

		for (end = start; end < p->n && d[p->order[end]].penalty == penalty; end++)
			if (d[p->order[end]].from == d[p->order[end]].home)
				take_home(p, p->order[end]);
		for (size_t k = start; k < end; k++)
			take_home(p, p->order[k]);
	}
}

static void say_overflow(const struct np_placer *p, size_t i, int node)
{
	struct np_decision *d = &p->decision[i];
	const struct np_node *nodes = p->m->node;

	if (!np_has_room(p, node, i))
		np_reason(d, "no free core left: shares node %d (%llu busy on %u CPUs)",
			  nodes[node].id, (unsigned long long)p->used[node] + p->tasks[i].cores,
			  nodes[node].cpus);
	else if (d->home != NP_NODE_NONE && nodes[d->home].cpus)
		np_reason(d, "no free core on home node %d, node %d is the nearest with one",
			  nodes[d->home].id, nodes[node].id);
	else if (d->home != NP_NODE_NONE)
		np_reason(d, "home node %d has no CPUs, node %d is the nearest with a free core",
			  nodes[d->home].id, nodes[node].id);
	else
		np_reason(d, "has no pages yet: node %d is the %s", nodes[node].id,
			  d->from == NP_NODE_NONE ? "least loaded" : "nearest with a free core");
}

/* A task that wants no node goes to the least loaded node. */
static void overflow(struct np_placer *p, size_t i)
{
	int node = NP_NODE_NONE;

	if (wanted_node(p, i) != NP_NODE_NONE)
		node = nearest_with_room(p, i);
	if (node == NP_NODE_NONE)
		node = least_loaded(p, i);
	say_overflow(p, i, node);
	np_place_on(p, i, node);
}

static bool may_run_somewhere(const struct np_placer *p, size_t i)
{
	for (int node = 0; node < (int)p->m->n_nodes; node++)
		if (np_may_run(p->m, &p->tasks[i], node))
			return true;
	return false;
}

/* A task that may run on no node is left where it is, but its CPUs are not free. */
static void leave_kept(struct np_placer *p)
{
	uint8_t in[p->m->n_nodes];

	for (size_t i = 0; i < p->n; i++) {
		if (may_run_somewhere(p, i))
			continue;
		np_nodes_now(p, i, in);
		np_use_cpus(p, in, p->tasks[i].cores);
		np_reason(&p->decision[i], "left where it runs: no node's CPUs may be given to it");
	}
}

void np_place_maximum_local(struct np_placer *p)
{
	leave_kept(p);
	fill_homes(p);
	for (size_t k = 0; k < p->n; k++) {
		size_t i = p->order[k];

		if (p->decision[i].to != NP_NODE_NONE || !may_run_somewhere(p, i))
			continue;
		if (fits_on_some_node(p, &p->tasks[i]))
			overflow(p, i);
		else if (!np_place_on_fewest(p, i))
			np_reason(&p->decision[i],
				  "keeps %u CPUs busy, more than any node%s has: "
				  "left to the kernel",
				  p->tasks[i].cores, p->tasks[i].may ? " it may use" : "");
	}
}

int np_pages_follow(struct np_placer *p)
{
	int e = 0;

	for (size_t i = 0; !e && i < p->n; i++) {
		struct np_decision *d = &p->decision[i];

		d->if_nearer = true;
		if (d->to != NP_NODE_NONE)
			d->pages_to = np_nearest_memory(p, i, d->to);
		else if (d->nodes != NP_NODE_NONE)
			e = np_pages_into_nodes(p, i);
	}
	return e;
}
