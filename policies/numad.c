// SPDX-License-Identifier: GPL-2.0-only
/*
 * numad: every process that is big enough is bound, with its memory, to the node
 * with the most to spare for it.
 *
 * Certain, read in its source and manual: processes below 300 MB are ignored; a
 * node's score is the magnitude of its free CPUs and free memory together, divided
 * by the square of the distance; a node is filled to 85 %; a process that has 90 %
 * of its memory where it runs is left alone; all threads are bound, then the
 * pages move. Reconstructed: the magnitude is free CPUs x free MB; processes are
 * taken by descending size, which is CPUs x MB; the distance is from the process's
 * home; CPUs are filled to 85 % like memory. Left out: a process that fits no single node (numad gives it several), the
 * limit of half a CPU (a task here keeps at least one busy), and its loop.
 */
#include <errno.h>

#include "placing.h"

#define MB 1e6

static const struct np_option options[] = {
	{
		.name = "smallest",
		.type = NP_OPT_DOUBLE,
		.def = 300,
		.min = 0,
		.max = 1e9,
		.unit = "MB",
		.meaning = "memory below which a task is ignored",
	},
	{
		.name = "utilisation",
		.type = NP_OPT_DOUBLE,
		.def = 85,
		.min = 1,
		.max = 100,
		.unit = "%",
		.meaning = "to which a node's CPUs and memory are filled",
	},
	{
		.name = "locality",
		.type = NP_OPT_DOUBLE,
		.def = 90,
		.min = 0,
		.max = 100,
		.unit = "%",
		.meaning = "share of a task's pages on its node from which it is left alone",
	},
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	{ 0 },
};

struct numad {
	struct np_placing p;
	double *free_mb;	/* [n_nodes] */
	double *mb;		/* [n] of each task */
	double utilisation;	/* 0..1 */
};

static int by_size(const void *a, const void *b, void *context)
{
	const struct numad *s = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	double x = s->mb[i] * s->p.tasks[i].cores, y = s->mb[j] * s->p.tasks[j].cores;

	if (x != y)
		return x > y ? -1 : 1;
	return i < j ? -1 : i > j;
}

static double to_mb(const struct numad *s, uint64_t pages)
{
	return (double)pages * (double)s->p.m->page_size / MB;
}

/* Everything takes its CPUs before anything is placed: what runs elsewhere is not free. */
static void survey(struct numad *s)
{
	const struct np_machine *m = s->p.m;

	for (size_t node = 0; node < m->n_nodes; node++) {
		double used = (double)(m->node[node].mem_total - m->node[node].mem_free) / MB;

		s->free_mb[node] = (double)m->node[node].mem_total / MB * s->utilisation - used;
	}
	for (size_t i = 0; i < s->p.n; i++) {
		for (size_t node = 0; node < m->n_nodes; node++)
			s->mb[i] += to_mb(s, s->p.tasks[i].pages[node]);
		if (s->p.tasks[i].node != NP_NODE_NONE)
			s->p.used[s->p.tasks[i].node] += s->p.tasks[i].cores;
	}
	for (size_t i = 0; i < s->p.n; i++)
		s->p.order[i] = i;
	qsort_r(s->p.order, s->p.n, sizeof(*s->p.order), by_size, s);
}

/* A node's score for task i, what the task has there counted as free; 0: it does not fit. */
static double score(const struct numad *s, size_t i, int node)
{
	const struct np_machine *m = s->p.m;
	const struct np_task *t = &s->p.tasks[i];
	int home = s->p.decision[i].home, distance;
	double cpus = m->node[node].cpus * s->utilisation - (double)s->p.used[node];
	double mb = s->free_mb[node] + to_mb(s, t->pages[node]);

	if (!np_may_run(m, t, node) || !np_may_hold(m, t, node))
		return 0;
	if (t->node == node)
		cpus += t->cores;
	if (cpus < t->cores || mb < s->mb[i])
		return 0;
	distance = home == NP_NODE_NONE ? np_distance(m, node, node) : np_distance(m, node, home);
	return cpus * mb / ((double)distance * distance);
}

static double local_part(const struct np_task *t, double all_mb, double mb)
{
	return t->node == NP_NODE_NONE || !(all_mb > 0) ? 0 : mb / all_mb * 100;
}

static void move_to(struct numad *s, size_t i, int node)
{
	const struct np_task *t = &s->p.tasks[i];
	struct np_decision *d = &s->p.decision[i];

	if (t->node != NP_NODE_NONE)
		s->p.used[t->node] -= t->cores;
	np_place_on(&s->p, i, node);
	d->pages_to = node;
	for (size_t other = 0; other < s->p.m->n_nodes; other++)
		s->free_mb[other] += to_mb(s, t->pages[other]);
	s->free_mb[node] -= s->mb[i];
}

static void decide(struct numad *s, size_t i, const struct np_options *o)
{
	const struct np_policy *self = &np_policy_numad;
	const struct np_task *t = &s->p.tasks[i];
	struct np_decision *d = &s->p.decision[i];
	double local = local_part(t, s->mb[i], t->node == NP_NODE_NONE ? 0 :
				  to_mb(s, t->pages[t->node])), most = 0;
	int best = NP_NODE_NONE;

	if (s->mb[i] < np_options_get(self, o, "smallest")) {
		np_reason(d, "ignored: %.0f MB is less than %g", s->mb[i],
			  np_options_get(self, o, "smallest"));
		return;
	}
	if (local >= np_options_get(self, o, "locality")) {
		np_reason(d, "left alone: %.0f %% of its pages are on its node already", local);
		return;
	}
	for (int node = 0; node < (int)s->p.m->n_nodes; node++) {
		double points = score(s, i, node);

		if (points > most) {
			most = points;
			best = node;
		}
	}
	if (best == NP_NODE_NONE) {
		np_reason(d, "left alone: no node has %u CPUs and %.0f MB to spare", t->cores,
			  s->mb[i]);
		return;
	}
	move_to(s, i, best);
	np_reason(d, "node %d has the most CPUs and memory to spare for its distance",
		  s->p.m->node[best].id);
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	struct numad s = {
		.free_mb = calloc(m->n_nodes, sizeof(double)),
		.mb = calloc(n + 1, sizeof(double)),
		.utilisation = np_options_get(&np_policy_numad, o, "utilisation") / 100,
	};
	int e = s.free_mb && s.mb ? np_placing_init(&s.p, m, tasks, n, out) : -ENOMEM;

	if (!e) {
		survey(&s);
		for (size_t k = 0; k < n; k++)
			decide(&s, s.p.order[k], o);
		np_placing_free(&s.p);
	}
	free(s.free_mb);
	free(s.mb);
	return e;
}

const struct np_policy np_policy_numad = {
	.name = "numad",
	.summary = "big tasks are bound, with their memory, to the node with the most to spare",
	.origin = "numad's source and manual, reconstructed in part",
	.needs = "nothing",
	.option = options,
	.plan = plan,
};
