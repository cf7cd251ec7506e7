// SPDX-License-Identifier: GPL-2.0-only
/*
 * numad: every process that is big enough is bound, with its memory, to the node, or
 * the nodes, that have the most of what it needs.
 *
 * Certain, read in its source (manage_loads, pick_numa_nodes), in units of 2^20 bytes:
 * processes below 300 MB are ignored; unbound ones come first, then by descending CPUs x MB;
 * a process asks for its CPUs and memory / 85 %, but for no more CPUs than it has threads;
 * what it has itself counts as free, its memory by 17/16, by 5/4 when it is bound, so that a
 * node with its memory is preferred; a node's magnitude is (10 MB needed + 4 MB to spare) x
 * (6 CPUs needed + 1 CPU to spare), and a node's score the sum of magnitude / distance
 * squared over itself and the nearest, as many as the process needs; from the node of
 * the best score on, nodes are taken until the request is met, that for CPUs only where more
 * are busy than there are and no more asked for than all nodes have free; it is left where
 * these are the nodes that it is bound to and hold 90 % of its memory.
 * Reconstructed: threads of a process keep `cores` CPUs busy where it runs, on no node where
 * it is on several and not bound; it is bound where it has CPUs of some nodes only (numad
 * knows what it has bound, and at first reads Mems_allowed: initialize_mem_node_list).
 * Left out: the mean of the free CPUs of a bound process's nodes, each of which here has its
 * own; a request by virtual size where that exceeds a node and 80 % of one are in use; bound
 * ones within 20 % ordered by when they were bound; the limit of half a CPU (a task here
 * keeps at least one busy), hyperthreads that count a fifth, and its loop, which moves one
 * process and looks again.
 */
#include <errno.h>

#include "plan/node_set.h"

#define MB	   (1024. * 1024)
#define MB_MARGIN  100	/* that a node must have beyond a request */
#define LEAST_CPUS 0.01 /* that any node has to spare */
#define LIGHT_BIAS (17. / 16)
#define HEAVY_BIAS (5. / 4)

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "smallest", .type = NP_OPT_DOUBLE, .def = 300, .min = 0, .max = 1e9,
	  .unit = "MiB",
	  .meaning = "memory below which a task is ignored" },
	{ .name = "utilisation", .type = NP_OPT_DOUBLE, .def = 85, .min = 1, .max = 100,
	  .unit = "%",
	  .meaning = "of what a task is given that it uses: it asks for its CPUs and memory / "
		     "this" },
	{ .name = "locality", .type = NP_OPT_DOUBLE, .def = 90, .min = 0, .max = 100, .unit = "%",
	  .meaning = "share of a task's pages on its node from which it is left there" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	/* clang-format on */
	{ 0 },
};

struct numad {
	struct np_placer p;
	double *free_mb;    /* [n_nodes] */
	double *mb;	    /* [n] of each task */
	double utilisation; /* 0..1 */
	/* Of the task that nodes are picked for. */
	double *mb_free, *cpus_free, *magnitude; /* [n_nodes] what it has there counted in */
	int *near;				 /* [n_nodes] by distance from some node */
};

/* Resources that a task asks for. */
struct request {
	double cpus, mb;
	double flex;   /* CPUs that may be missing */
	bool any_cpus; /* CPUs are taken to be enough */
	int nodes;     /* at least */
};

/* Whether it has CPUs of that node, wherever it runs now. */
static bool has_cpus_of(const struct np_task *t, int node)
{
	return t->on ? t->on[node] : t->node == NP_NODE_NONE || t->node == node;
}

/* To one node, or to some: not to all. */
static bool is_bound(const struct numad *s, size_t i)
{
	for (int node = 0; node < (int)s->p.m->n_nodes; node++)
		if (s->p.m->node[node].cpus && !has_cpus_of(&s->p.tasks[i], node))
			return true;
	return false;
}

/* Whether it is known where its cores are busy before it is placed. */
static bool is_counted(const struct numad *s, size_t i)
{
	return s->p.tasks[i].node != NP_NODE_NONE || is_bound(s, i);
}

/* Its cores are busy where it runs now; with sign -1 they are free there. */
static void count_busy(struct numad *s, size_t i, int sign)
{
	uint8_t in[s->p.m->n_nodes];

	np_nodes_now(&s->p, i, in);
	np_use_cpus(&s->p, in, sign * (int64_t)s->p.tasks[i].cores);
}

static int by_size(const void *a, const void *b, void *context)
{
	const struct numad *s = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	double x = s->mb[i] * s->p.tasks[i].cores, y = s->mb[j] * s->p.tasks[j].cores;

	if (is_bound(s, i) != is_bound(s, j))
		return is_bound(s, i) ? 1 : -1;
	if (x != y)
		return x > y ? -1 : 1;
	return i < j ? -1 : i > j;
}

static double to_mb(const struct numad *s, uint64_t pages)
{
	return (double)pages * (double)s->p.m->page_size / MB;
}

/* All tasks take their CPUs before any is placed: CPUs of other tasks are not free. */
static void survey(struct numad *s)
{
	const struct np_machine *m = s->p.m;

	for (size_t node = 0; node < m->n_nodes; node++)
		s->free_mb[node] = (double)m->node[node].mem_free / MB;
	for (size_t i = 0; i < s->p.n; i++) {
		for (size_t node = 0; node < m->n_nodes; node++)
			s->mb[i] += to_mb(s, s->p.tasks[i].pages[node]);
		if (is_counted(s, i))
			count_busy(s, i, 1);
		s->p.order[i] = i;
	}
	qsort_r(s->p.order, s->p.n, sizeof(*s->p.order), by_size, s);
}

static bool is_candidate(const struct numad *s, size_t i, int node)
{
	return np_may_run(s->p.m, &s->p.tasks[i], node) &&
	       np_may_hold(s->p.m, &s->p.tasks[i], node);
}

/* Needed and spare units of a resource, weighed. */
static double factor(double free, double wanted, double needed_weight, double spare_weight)
{
	return needed_weight * fmin(free, wanted) + spare_weight * fmax(0, free - wanted);
}

/*
 * What each node has for task i, its own there counted as free: a bound one's CPUs are already.
 * CPUs that are fewer than it asks for, all together, are taken to be enough.
 */
static void count_free(struct numad *s, size_t i, struct request *r)
{
	const struct np_machine *m = s->p.m;
	const struct np_task *t = &s->p.tasks[i];
	bool bound = is_bound(s, i);
	double sum = 0;

	for (int node = 0; node < (int)m->n_nodes; node++) {
		double mb = to_mb(s, t->pages[node]), has = m->node[node].cpus;
		double cpus = fmax(0, has - (double)s->p.used[node]);

		if (!bound)
			cpus += t->cores * (s->mb[i] > 0 ? mb / s->mb[i] : 0);
		sum += cpus;
		mb = s->free_mb[node] + mb * (bound ? HEAVY_BIAS : LIGHT_BIAS);
		s->mb_free[node] = fmin(mb, (double)m->node[node].mem_total / MB);
		s->cpus_free[node] = fmax(LEAST_CPUS, fmin(cpus, has));
		s->magnitude[node] = is_candidate(s, i, node) ?
					     factor(s->mb_free[node], r->mb, 10, 4) *
						     factor(s->cpus_free[node], r->cpus, 6, 1) :
					     0;
	}
	r->any_cpus |= r->cpus > sum;
}

static struct request request_of(const struct numad *s, size_t i)
{
	const struct np_machine *m = s->p.m;
	const struct np_task *t = &s->p.tasks[i];
	struct request r = {
		.mb = s->mb[i] / s->utilisation,
		.cpus = fmin(t->cores / s->utilisation, fmax(t->threads, t->cores)),
	};
	double cpus = 0, busy = 0, total_mb = 0, most_cpus = 1;

	for (size_t node = 0; node < m->n_nodes; node++) {
		cpus += m->node[node].cpus;
		most_cpus = fmax(most_cpus, m->node[node].cpus);
		total_mb = fmax(total_mb, (double)m->node[node].mem_total / MB);
	}
	for (size_t other = 0; other < s->p.n; other++)
		busy += s->p.tasks[other].cores;
	r.flex = (1 - s->utilisation) * most_cpus / 2;
	r.any_cpus = busy <= cpus;
	r.nodes = (int)fmax(1, fmax(ceil(r.mb / total_mb), ceil((r.cpus - r.flex) / most_cpus)));
	return r;
}

/*
 * Candidates by distance from node, of equal ones the greater magnitude first. Returns their
 * number.
 */
static int sort_near(struct numad *s, size_t i, int node)
{
	const struct np_machine *m = s->p.m;
	int n = 0;

	for (int other = 0; other < (int)m->n_nodes; other++) {
		int at = n;

		if (!is_candidate(s, i, other))
			continue;
		while (at &&
		       (np_distance(m, s->near[at - 1], node) > np_distance(m, other, node) ||
			(np_distance(m, s->near[at - 1], node) == np_distance(m, other, node) &&
			 s->magnitude[s->near[at - 1]] < s->magnitude[other]))) {
			s->near[at] = s->near[at - 1];
			at--;
		}
		s->near[at] = other;
		n++;
	}
	return n;
}

static double score(struct numad *s, size_t i, int node, int nodes)
{
	int n = sort_near(s, i, node);
	double sum = 0;

	for (int at = 0; at < n && at < nodes; at++) {
		double distance = np_distance(s->p.m, s->near[at], node);

		sum += s->magnitude[s->near[at]] / (distance * distance);
	}
	return sum;
}

/* Takes nodes from the best one on until the request is met: the first of s->near. */
static int take(struct numad *s, size_t i, int best, struct request r)
{
	int n = sort_near(s, i, best), taken = 0;

	while (taken < n && (taken < r.nodes || r.mb > 0 || (r.cpus > r.flex && !r.any_cpus))) {
		int node = s->near[taken++];

		r.mb = fmax(0, s->mb_free[node] >= r.mb + MB_MARGIN ?
				       0 :
				       r.mb - fmax(0, s->mb_free[node] - MB_MARGIN));
		r.cpus = fmax(0, r.cpus - s->cpus_free[node]);
	}
	return taken;
}

/* The nodes that numad would take: the first of s->near; returns their number. */
static int pick(struct numad *s, size_t i)
{
	struct request r = request_of(s, i);
	double most = 0;
	int best = NP_NODE_NONE;

	count_free(s, i, &r);
	for (int node = 0; node < (int)s->p.m->n_nodes; node++) {
		double points = is_candidate(s, i, node) ? score(s, i, node, r.nodes) : 0;

		if (points > most) {
			most = points;
			best = node;
		}
	}
	return best == NP_NODE_NONE ? 0 : take(s, i, best, r);
}

static double local_part(const struct numad *s, size_t i, int node)
{
	return s->mb[i] > 0 ? to_mb(s, s->p.tasks[i].pages[node]) / s->mb[i] * 100 : 0;
}

static void move_to(struct numad *s, size_t i, int node)
{
	const struct np_task *t = &s->p.tasks[i];
	struct np_decision *d = &s->p.decision[i];

	np_place_on(&s->p, i, node);
	d->pages_to = node;
	for (size_t other = 0; other < s->p.m->n_nodes; other++)
		s->free_mb[other] += to_mb(s, t->pages[other]);
	s->free_mb[node] -= s->mb[i];
	np_reason(d, "node %d has the most of the CPUs and memory that it needs",
		  s->p.m->node[node].id);
}

/* The first n of s->near as a row of nodes. */
static void row_of(const struct numad *s, int n, uint8_t *in)
{
	memset(in, 0, s->p.m->n_nodes);
	for (int at = 0; at < n; at++)
		in[s->near[at]] = 1;
}

static double local_on(const struct numad *s, size_t i, const uint8_t *in)
{
	double part = 0;

	for (int node = 0; node < (int)s->p.m->n_nodes; node++)
		part += in[node] ? local_part(s, i, node) : 0;
	return part;
}

/* True when the task has CPUs of these nodes and of no other. */
static bool runs_on(const struct numad *s, size_t i, const uint8_t *in)
{
	const struct np_task *t = &s->p.tasks[i];

	for (int node = 0; node < (int)s->p.m->n_nodes; node++)
		if (has_cpus_of(t, node) != (in[node] != 0) && np_may_run(s->p.m, t, node))
			return false;
	return true;
}

/* Its pages outside of its nodes come to these, as many to each. */
static void account_for(struct numad *s, size_t i, const uint8_t *in, int n)
{
	double outside = 0;

	for (int node = 0; node < (int)s->p.m->n_nodes; node++) {
		double mb = in[node] ? 0 : to_mb(s, s->p.tasks[i].pages[node]);

		outside += mb;
		s->free_mb[node] += mb;
	}
	for (int node = 0; node < (int)s->p.m->n_nodes; node++)
		s->free_mb[node] -= in[node] ? outside / n : 0;
}

static int move_to_several(struct numad *s, size_t i, int n, const uint8_t *in)
{
	char text[96];

	if (!np_place_on_nodes(&s->p, i, in))
		return -ENOMEM;
	account_for(s, i, in, n);
	np_reason(&s->p.decision[i], "nodes %s have the most of the CPUs and memory that it needs",
		  np_nodes_text(s->p.m, in, text, sizeof(text)));
	return np_pages_into_nodes(&s->p, i);
}

/* Binds task i to the first n of s->near, unless it has these and its pages are there. */
static int bind_to(struct numad *s, size_t i, int n, const struct np_options *o)
{
	struct np_decision *d = &s->p.decision[i];
	uint8_t in[s->p.m->n_nodes];
	double local;
	char text[96];

	row_of(s, n, in);
	local = local_on(s, i, in);
	if (!runs_on(s, i, in) || local < np_options_get(&np_policy_numad, o, "locality")) {
		if (n > 1)
			return move_to_several(s, i, n, in);
		move_to(s, i, s->near[0]);
	} else if (n > 1) {
		np_reason(d,
			  "left alone: nodes %s, which it has, are the best, and have %.0f %% of "
			  "its pages",
			  np_nodes_text(s->p.m, in, text, sizeof(text)), local);
	} else {
		np_reason(d, "left alone: its node is the best, and has %.0f %% of its pages",
			  local);
	}
	return 0;
}

static int decide(struct numad *s, size_t i, const struct np_options *o)
{
	const struct np_policy *self = &np_policy_numad;
	struct np_decision *d = &s->p.decision[i];
	bool bound = is_bound(s, i);
	int n, e = 0;

	if (s->mb[i] < np_options_get(self, o, "smallest")) {
		np_reason(d, "ignored: %.0f MiB is less than %g", s->mb[i],
			  np_options_get(self, o, "smallest"));
		return 0;
	}
	if (bound)
		count_busy(s, i, -1);
	n = pick(s, i);
	if (!bound && is_counted(s, i))
		count_busy(s, i, -1);
	if (n)
		e = bind_to(s, i, n, o);
	else
		np_reason(d, "left alone: no node may both run it and hold its pages");
	if (d->to == NP_NODE_NONE && d->nodes == NP_NODE_NONE)
		count_busy(s, i, 1);
	return e;
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	struct numad s = {
		.free_mb = calloc(4 * m->n_nodes, sizeof(double)),
		.mb = calloc(n + 1, sizeof(double)),
		.near = calloc(m->n_nodes, sizeof(int)),
		.utilisation = np_options_get(&np_policy_numad, o, "utilisation") / 100,
	};
	int e = s.free_mb && s.mb && s.near ? np_placer_init(&s.p, m, tasks, n, out) : -ENOMEM;

	if (!e) {
		s.mb_free = s.free_mb + m->n_nodes;
		s.cpus_free = s.free_mb + 2 * m->n_nodes;
		s.magnitude = s.free_mb + 3 * m->n_nodes;
		survey(&s);
		for (size_t k = 0; !e && k < n; k++)
			e = decide(&s, s.p.order[k], o);
		np_placer_free(&s.p);
	}
	free(s.free_mb);
	free(s.mb);
	free(s.near);
	return e;
}

const struct np_policy np_policy_numad = {
	.name = "numad",
	.summary = "big tasks are bound, with their memory, to the node or nodes that have most of "
		   "what they need",
	.origin = "numad's source",
	.needs = "nothing",
	.option = options,
	.plan = plan,
};
