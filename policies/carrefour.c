// SPDX-License-Identifier: GPL-2.0-only
/*
 * carrefour: the decisions of Carrefour's global part, once a second there, on
 * whole tasks instead of sampled pages.
 *
 * Certain, read in its source: it acts only where memory is busy (50 DRAM
 * accesses a microsecond); it interleaves where controllers are unevenly loaded
 * (standard deviation of n - 1 / mean above 35 %), it migrates where fewer than 80 % of the
 * accesses are local; a page used by one node goes there, a page used by several
 * goes to a less loaded node with the probability of its node's share of the
 * traffic. Reconstructed: a task on one node stands for pages used by one node, a
 * task on several for pages used by several, and that probability becomes the part
 * of its pages that leaves. Left out: replication, which needs a patched kernel,
 * and the soft move of threads, off by default there.
 */
#include <errno.h>

#include "plan/placer.h"

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "gate", .type = NP_OPT_DOUBLE, .def = 50, .min = 0, .max = 1e6,
	  .unit = "accesses/us",
	  .meaning = "DRAM accesses of all tasks below which nothing is done" },
	{ .name = "interleave", .type = NP_OPT_DOUBLE, .def = 35, .min = 0, .max = 1000,
	  .unit = "%",
	  .meaning = "imbalance of the controllers' traffic (standard deviation of n - 1 / mean) "
		     "above which pages of tasks on several nodes are spread" },
	{ .name = "migrate", .type = NP_OPT_DOUBLE, .def = 80, .min = 0, .max = 100, .unit = "%",
	  .meaning = "share of local accesses below which pages follow a task on one node" },
	{ .name = "line", .type = NP_OPT_INT, .def = 64, .min = 8, .max = 4096, .unit = "bytes",
	  .meaning = "that one DRAM access transfers, where only bandwidths are known" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

struct traffic {
	const struct np_machine *m;
	double *node;	   /* [n_nodes] accesses a second of each node's memory */
	double all, local; /* accesses a second */
	double mean;	   /* of nodes with memory */
	double imbalance;  /* %, of the same: the deviation that a sample estimates / mean */
	size_t known;	   /* tasks whose accesses are known */
};

/* Accesses a second of task t to the memory of node; where unknown, in proportion to its pages. */
static double accesses(const struct np_machine *m, const struct np_task *t, size_t node,
		       double line)
{
	double pages = 0;

	if (t->accesses)
		return t->accesses[node];
	if (t->bandwidth.source == NP_PROVENANCE_NONE)
		return 0;
	for (size_t i = 0; i < m->n_nodes; i++)
		pages += (double)t->pages[i];
	return pages > 0 ? t->bandwidth.value / line * (double)t->pages[node] / pages : 0;
}

static void add_task(struct traffic *f, const struct np_task *t, double line)
{
	double all = 0, local = 0;

	for (size_t node = 0; node < f->m->n_nodes; node++) {
		double here = accesses(f->m, t, node, line);

		f->node[node] += here;
		all += here;
		if ((int)node == t->node)
			local = here;
	}
	if (t->local_access.source != NP_PROVENANCE_NONE)
		local = all * fmin(1, t->local_access.value);
	f->all += all;
	f->local += local;
	f->known += t->accesses || t->bandwidth.source != NP_PROVENANCE_NONE;
}

/* Measured traffic of a controller replaces the sum of its tasks. */
static void weigh_controllers(struct traffic *f, double line)
{
	double squares = 0;
	size_t n = 0;

	for (size_t node = 0; node < f->m->n_nodes; node++) {
		const struct np_node *at = &f->m->node[node];

		if (!at->has_memory)
			continue;
		if (at->traffic.source != NP_PROVENANCE_NONE)
			f->node[node] = at->traffic.value / line;
		f->mean += f->node[node];
		n++;
	}
	f->mean /= n ? (double)n : 1;
	for (size_t node = 0; node < f->m->n_nodes; node++)
		if (f->m->node[node].has_memory)
			squares += pow(f->node[node] - f->mean, 2);
	f->imbalance = f->mean > 0 && n > 1 ? sqrt(squares / (double)(n - 1)) / f->mean * 100 : 0;
}

/* Of the pages on each node the part leaves that its traffic is of all; to nodes below the mean. */
static bool spread_weights(const struct traffic *f, const struct np_task *t, uint8_t *weight)
{
	size_t k = f->m->n_nodes;
	double sum = 0, pages = 0, lack = 0, leaving = 0, share[k];

	for (int node = 0; node < (int)k; node++) {
		sum += f->node[node];
		pages += (double)t->pages[node];
	}
	if (!(sum > 0) || !(pages > 0))
		return false;
	for (int node = 0; node < (int)k; node++) {
		double part = (double)t->pages[node] / pages;
		double over = f->node[node] - f->mean;

		share[node] = over > 0 ? part * (1 - f->node[node] / sum) : part;
		leaving += part - share[node];
		lack += over < 0 && np_may_hold(f->m, t, node) ? -over : 0;
	}
	for (int node = 0; node < (int)k; node++) {
		double under = f->mean - f->node[node];

		if (under > 0 && lack > 0 && np_may_hold(f->m, t, node))
			share[node] += leaving * under / lack;
		weight[node] = f->m->node[node].has_memory ? (uint8_t)(share[node] * 255 + 0.5) : 0;
	}
	return lack > 0 && leaving > 0;
}

static int decide(const struct traffic *f, const struct np_task *t, const struct np_options *o,
		  struct np_plan *out, size_t i, uint8_t *weight)
{
	const struct np_policy *self = &np_policy_carrefour;
	struct np_decision *d = &out->decision[i];
	double local = f->local / f->all * 100;

	if (t->node != NP_NODE_NONE && local < np_options_get(self, o, "migrate") &&
	    np_may_hold(f->m, t, t->node)) {
		d->pages_to = t->node;
		np_reason(d,
			  "migrate: %.0f %% of all accesses are local, and only node %d uses "
			  "its pages",
			  local, f->m->node[t->node].id);
	} else if (t->node == NP_NODE_NONE && local < 100 &&
		   f->imbalance > np_options_get(self, o, "interleave") &&
		   spread_weights(f, t, weight)) {
		d->spread = np_plan_spread(out, f->m->n_nodes, weight);
		np_reason(d,
			  "interleave: the controllers' imbalance is %.0f %%, and several nodes "
			  "use its pages",
			  f->imbalance);
		return d->spread == NP_NODE_NONE ? -ENOMEM : 0;
	} else {
		np_reason(d,
			  "left alone: %.0f %% of all accesses are local, the controllers' "
			  "imbalance is %.0f %%",
			  local, f->imbalance);
	}
	return 0;
}

static int decide_all(const struct traffic *f, const struct np_task *tasks, size_t n,
		      const struct np_options *o, struct np_plan *out, uint8_t *weight)
{
	double gate = np_options_get(&np_policy_carrefour, o, "gate"), rate = f->all / 1e6;
	int e = 0;

	for (size_t i = 0; !e && i < n; i++) {
		if (!f->known)
			np_reason(&out->decision[i],
				  "left alone: no task's DRAM accesses are known");
		else if (rate < gate || !(f->all > 0))
			np_reason(&out->decision[i],
				  "left alone: %.3g DRAM accesses a microsecond "
				  "in all, the gate is %g",
				  rate, gate);
		else
			e = decide(f, &tasks[i], o, out, i, weight);
	}
	return e;
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	double line = np_options_get(&np_policy_carrefour, o, "line");
	struct traffic f = { .m = m, .node = calloc(m->n_nodes, sizeof(double)) };
	uint8_t *weight = calloc(m->n_nodes, 1);
	int e = -ENOMEM;

	if (f.node && weight) {
		for (size_t i = 0; i < n; i++)
			add_task(&f, &tasks[i], line);
		weigh_controllers(&f, line);
		e = decide_all(&f, tasks, n, o, out, weight);
	}
	free(f.node);
	free(weight);
	return e;
}

const struct np_policy np_policy_carrefour = {
	.name = "carrefour",
	.summary = "where memory is busy, pages follow their task or spread to less loaded "
		   "controllers",
	.origin = "Carrefour, as its source has it; whole tasks instead of pages, no replication",
	.needs = "bandwidth or accesses by node",
	.option = options,
	.plan = plan,
};
