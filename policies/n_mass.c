// SPDX-License-Identifier: GPL-2.0-only
/*
 * n-mass (Majo and Gross, ISMM 2011), reconstructed: of the paper only the
 * abstract could be read.
 *
 * From the abstract: it extends maximum-local and reduces data locality to avoid
 * contention for shared caches. Reconstructed, all else: the inputs are each task's NUMA
 * penalty and its misses per 1000 instructions (MPKI); the sum of MPKI is the
 * pressure on a node's shared cache; tasks are considered by descending MPKI. A move
 * from node a to node b that shrinks the difference of their pressures by R MPKI
 * is worth relief * R of the task's run time; it costs what the task's penalty
 * says for its distance from home; it is made if it wins more than hysteresis.
 * relief and hysteresis are assumed: they were measured neither here nor in what could
 * be read, so they are options, and a gain that relief is part of is labelled so.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/local.h"

struct refinement {
	struct np_placer *p;
	double *pressure; /* [n_nodes] MPKI, every busy core of a task counted */
	size_t *order;	  /* task indices, highest MPKI first */
	size_t n;	  /* tasks that have an MPKI and a node */
	double relief, hysteresis;
	bool pages_follow;
};

struct move {
	int node;
	double evened, worth, cost, margin;
};

static double pressure_of(const struct np_task *t)
{
	return t->mpki_source == NP_PROVENANCE_NONE ? 0 : t->mpki * t->cores;
}

static int by_mpki(const void *a, const void *b, void *context)
{
	const struct np_task *tasks = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (tasks[i].mpki != tasks[j].mpki)
		return tasks[i].mpki > tasks[j].mpki ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void measure_pressure(struct refinement *r)
{
	const struct np_placer *p = r->p;

	for (size_t i = 0; i < p->n; i++) {
		double q = pressure_of(&p->tasks[i]);

		if (q > 0 && p->decision[i].to != NP_NODE_NONE) {
			r->pressure[p->decision[i].to] += q;
			r->order[r->n++] = i;
		}
	}
	qsort_r(r->order, r->n, sizeof(*r->order), by_mpki, (void *)p->tasks);
}

/* Loss of the task by running on node instead of its planned node. */
static double locality_cost(const struct refinement *r, size_t i, int node)
{
	const struct np_decision *d = &r->p->decision[i];

	if (d->home == NP_NODE_NONE || r->pages_follow)
		return 0;
	return (d->penalty - 1) * (np_remoteness(r->p->m, r->p->distances, node, d->home) -
				   np_remoteness(r->p->m, r->p->distances, d->to, d->home));
}

/* A task that is there already need not win the hysteresis again. */
static struct move weigh(const struct refinement *r, size_t i, int node)
{
	const struct np_decision *d = &r->p->decision[i];
	double q = pressure_of(&r->p->tasks[i]);
	double uneven = r->pressure[d->to] - r->pressure[node];
	struct move m = { .node = node, .evened = uneven - fabs(uneven - 2 * q) };

	m.worth = r->relief * m.evened;
	m.cost = locality_cost(r, i, node);
	m.margin = m.worth - m.cost - (node == d->from ? 0 : r->hysteresis);
	return m;
}

static struct move best_move(const struct refinement *r, size_t i)
{
	const struct np_placer *p = r->p;
	struct move best = { .node = NP_NODE_NONE };

	for (int node = 0; node < (int)p->m->n_nodes; node++) {
		struct move m;

		if (node == p->decision[i].to || !np_has_room(p, node, i))
			continue;
		m = weigh(r, i, node);
		if (m.evened <= 0)
			continue;
		if (best.node == NP_NODE_NONE || m.margin > best.margin)
			best = m;
	}
	return best;
}

static void make_move(struct refinement *r, size_t i, const struct move *m)
{
	struct np_decision *d = &r->p->decision[i];
	const struct np_node *nodes = r->p->m->node;
	double q = pressure_of(&r->p->tasks[i]);

	np_reason(d,
		  "cache pressure %.3g MPKI on node %d, %.3g on node %d: "
		  "evening out is worth %.0f %%, distance costs %.0f %%",
		  r->pressure[d->to], nodes[d->to].id, r->pressure[m->node], nodes[m->node].id,
		  m->worth * 100, m->cost * 100);
	r->pressure[d->to] -= q;
	r->pressure[m->node] += q;
	np_place_on(r->p, i, m->node);
	d->bonus *= 1 + m->worth;
}

static void refine(struct refinement *r)
{
	for (size_t k = 0; k < r->n; k++) {
		size_t i = r->order[k];
		struct move m = best_move(r, i);

		if (m.node == NP_NODE_NONE)
			continue;
		if (m.margin > 0)
			make_move(r, i, &m);
		else
			np_reason_more(&r->p->decision[i],
				       "; leaving is worth %.0f %%, costs %.0f %%", m.worth * 100,
				       m.cost * 100);
	}
}

static void say_nothing_known(struct np_placer *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->decision[i].to != NP_NODE_NONE)
			np_reason_more(&p->decision[i], "; no task's MPKI is known");
}

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "relief", .type = NP_OPT_DOUBLE, .def = 0.01, .min = 0, .max = 10,
	  .unit = "1/MPKI",
	  .meaning = "assumed: share of a task's run time won per MPKI by which two nodes' cache "
		     "pressures come closer" },
	{ .name = "hysteresis", .type = NP_OPT_DOUBLE, .def = 0.05, .min = 0, .max = 10, .unit = "",
	  .meaning = "assumed: share of its run time that a task must win, after its penalty, to "
		     "leave its node" },
	{ .name = "pages", .type = NP_OPT_ENUM, .def = NP_PAGES_STAY, .words = np_pages_words,
	  .unit = "",
	  .meaning = "stay: no page moves; follow: pages move to their task's node, whose penalty "
		     "then costs nothing" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

static int even_out(struct np_placer *p, const struct np_options *o)
{
	const struct np_policy *self = &np_policy_n_mass;
	struct refinement r = {
		.p = p,
		.pressure = calloc(p->m->n_nodes, sizeof(double)),
		.order = calloc(p->n + 1, sizeof(size_t)),
		.relief = np_options_get(self, o, "relief"),
		.hysteresis = np_options_get(self, o, "hysteresis"),
		.pages_follow = np_options_get(self, o, "pages") == NP_PAGES_FOLLOW,
	};
	int err = -ENOMEM;

	if (r.pressure && r.order) {
		measure_pressure(&r);
		refine(&r);
		if (!r.n)
			say_nothing_known(p);
		err = 0;
	}
	free(r.pressure);
	free(r.order);
	return err;
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	const struct np_policy *self = &np_policy_n_mass;
	struct np_placer p;
	int err = np_placer_init(&p, m, tasks, n, out);

	if (err)
		return err;
	np_place_maximum_local(&p);
	err = even_out(&p, o);
	if (!err && np_options_get(self, o, "pages") == NP_PAGES_FOLLOW)
		err = np_pages_follow(&p);
	np_placer_free(&p);
	return err;
}

const struct np_policy np_policy_n_mass = {
	.name = "n-mass",
	.summary = "maximum-local, then tasks leave home where that evens out cache pressure "
		   "by more than it costs",
	.origin = "Majo and Gross, ISMM 2011, reconstructed from the abstract",
	.needs = "penalty, mpki",
	.option = options,
	.plan = plan,
};
