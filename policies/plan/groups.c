// SPDX-License-Identifier: GPL-2.0-only
#include "groups.h"

#include <errno.h>

#include "../predict/closed_network.h"
#include "../predict/demand.h"

#define NS_PER_S   1e9
#define LEAST_TIME 0.1	/* times as long; less is a busy time that was read too short */
#define BUSIEST	   0.99 /* of a member; of one that is always busy the queue is not known */

/* The work of one call. */
struct groups {
	const struct np_machine *m;
	const struct np_task *tasks;
	struct np_plan *plan;
	const bool *late;
	size_t *order;		       /* [n] tasks by group */
	double *demand, *then, *queue; /* [n] of the members of one group */
};

/* The members: order[first .. first + n - 1]. */
struct group {
	const size_t *member;
	size_t n;
	double written;	    /* bytes a second, all members */
	double apart[2];    /* share of pairs of members on different nodes, now and afterwards */
	double least, most; /* f */
	bool late;
};

static int by_group(const void *a, const void *b, void *tasks)
{
	unsigned int x = ((const struct np_task *)tasks)[*(const size_t *)a].group;
	unsigned int y = ((const struct np_task *)tasks)[*(const size_t *)b].group;

	return x < y ? -1 : x > y;
}

static double busy_share(const struct np_task *t)
{
	if (t->busy.source == NP_PROVENANCE_NONE)
		return BUSIEST;
	return fmax(1 - BUSIEST, fmin(BUSIEST, t->busy.value / t->cores));
}

static double written(const struct np_task *t)
{
	return t->messages.source == NP_PROVENANCE_NONE ? 0 : t->messages.value;
}

/* Node that a task runs on, now (0) or afterwards (1); NP_NODE_NONE: several. */
static int node_of(const struct np_decision *d, int when)
{
	if (!when || (d->to == NP_NODE_NONE && d->nodes == NP_NODE_NONE))
		return d->from;
	return d->to;
}

/* Two that run on one node, and on no other, are together. */
static double share_apart(const struct groups *s, const struct group *g, int when)
{
	double together = 0, pairs = (double)g->n * ((double)g->n - 1) / 2;

	for (int node = 0; node < (int)s->m->n_nodes; node++) {
		double here = 0;

		for (size_t i = 0; i < g->n; i++)
			here += node_of(&s->plan->decision[g->member[i]], when) == node;
		together += here * (here - 1) / 2;
	}
	return pairs > 0 ? 1 - together / pairs : 0;
}

/* Seconds a second that member i reads messages from other nodes for, more than now. */
static double reading(const struct groups *s, const struct group *g, size_t i)
{
	double bytes = (g->written - written(&s->tasks[g->member[i]])) / (double)(g->n - 1);

	return (g->apart[1] - g->apart[0]) * bytes / s->m->model->line_bytes *
	       np_latencies(s->m->model).remote / NS_PER_S;
}

static void weigh_member(struct groups *s, struct group *g, size_t i)
{
	size_t at = g->member[i];
	double u = busy_share(&s->tasks[at]);
	double f = fmax(LEAST_TIME, 1 + (1 / s->plan->decision[at].gain - 1) / u);
	double read = s->m->model ? reading(s, g, i) : 0;
	double lines = s->m->model ? np_lines_assumed(s->m->model) : 1;

	s->demand[i] = u;
	s->then[i] = fmax(LEAST_TIME * u, u * f + read / lines);
	g->least = fmin(g->least, fmax(LEAST_TIME, f + fmin(0, read) / u));
	g->most = fmax(g->most, f + fmax(0, read) / u);
	g->late |= s->late && s->late[at];
}

static void weigh(struct groups *s, struct group *g)
{
	struct np_closed_network net = { .n = g->n, .demand = s->demand, .queue = s->queue };
	double busy = 0, gain;
	bool unknown;

	g->least = g->most = 1;
	for (size_t i = 0; i < g->n; i++)
		g->written += written(&s->tasks[g->member[i]]);
	for (int when = 0; when < 2; when++)
		g->apart[when] = share_apart(s, g, when);
	for (size_t i = 0; i < g->n; i++)
		weigh_member(s, g, i);
	for (size_t i = 0; i < g->n; i++)
		busy += s->demand[i];
	net.think = fmax(0, 1 - busy);
	gain = np_closed_customers(&net);
	net.demand = s->then;
	gain = np_closed_throughput(&net, gain);
	unknown = g->apart[1] > g->apart[0] && (!s->m->model || !(g->written > 0));
	for (size_t i = 0; i < g->n; i++) {
		struct np_decision *d = &s->plan->decision[g->member[i]];

		d->gain = gain;
		d->gain_least = g->late || unknown ? 0 : fmin(gain, 1 / g->most);
		d->gain_most = fmax(gain, 1 / g->least);
	}
}

static void weigh_all(struct groups *s)
{
	size_t behind;

	for (size_t i = 0; i < s->plan->n; i++)
		s->order[i] = i;
	qsort_r(s->order, s->plan->n, sizeof(*s->order), by_group, (void *)s->tasks);
	for (size_t first = 0; first < s->plan->n; first = behind) {
		unsigned int number = s->tasks[s->order[first]].group;
		struct group g = { .member = s->order + first };

		for (behind = first; behind < s->plan->n; behind++)
			if (s->tasks[s->order[behind]].group != number)
				break;
		g.n = behind - first;
		if (number && g.n > 1)
			weigh(s, &g);
	}
}

/* As of tasks that wait for nobody; returns whether some may wait for others. */
static bool set_bounds(const struct np_task *tasks, struct np_plan *plan)
{
	bool groups = false;

	for (size_t i = 0; i < plan->n; i++) {
		struct np_decision *d = &plan->decision[i];

		d->gain_least = d->gain_most = d->gain;
		groups |= tasks[i].group != 0;
	}
	return groups;
}

int np_gain_groups(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan,
		   const bool *late)
{
	struct groups s = { .m = m, .tasks = tasks, .plan = plan, .late = late };
	size_t n = plan->n;
	int e = 0;

	if (!set_bounds(tasks, plan))
		return 0;
	s.order = calloc(n, sizeof(*s.order));
	s.demand = calloc(n, sizeof(*s.demand));
	s.then = calloc(n, sizeof(*s.then));
	s.queue = calloc(n, sizeof(*s.queue));
	if (s.order && s.demand && s.then && s.queue)
		weigh_all(&s);
	else
		e = -ENOMEM;
	free(s.order);
	free(s.demand);
	free(s.then);
	free(s.queue);
	return e;
}
