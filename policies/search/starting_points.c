// SPDX-License-Identifier: GPL-2.0-only
/* Placements made by rule: where the search begins. */
#include "../plan/plan.h"
#include "search.h"

#define ROUNDING 1e-9 /* of cores that are shared out to nodes */
#define TRIED	 0.1  /* part of the budget for every placement of each task on one node */
#define NO_WORSE 1.05 /* a node as good as this times the best is left alone */

static void reset(struct np_search *s)
{
	for (size_t i = 0; i < s->n; i++)
		np_search_put_back(s, i, np_choice_stay(s->tasks[i].node));
}

static int nearest_memory(const struct np_search *s, size_t i, int node)
{
	int best = NP_NODE_NONE;

	for (int other = 0; other < (int)s->k; other++)
		if (np_may_hold(s->m, &s->tasks[i], other) &&
		    (best == NP_NODE_NONE || np_model_unloaded_ns(s->p.model, node, other) <
						     np_model_unloaded_ns(s->p.model, node, best)))
			best = other;
	return best;
}

/* Pages go to the node that their task is on, where they may and fit. */
static void pages_follow(struct np_search *s)
{
	for (size_t i = 0; s->pages && i < s->n; i++) {
		int node = s->choice[i].node, memory;

		if (node == NP_NODE_NONE || !s->all[i] || s->tasks[i].pages[node] == s->all[i])
			continue;
		memory = nearest_memory(s, i, node);
		if (memory != NP_NODE_NONE)
			np_search_put(s, i, np_choice_on(node, memory));
	}
}

/* Demand of task i on a controller of an idle machine, bytes a second. */
static double demand(const struct np_search *s, size_t i)
{
	int class = s->p.class[i];

	if (class < 0 || !s->all[i])
		return 0;
	return s->tasks[i].cores * s->p.demand[class].lines * s->p.model->line_bytes /
	       s->p.alone_ns[class];
}

/* Load of node with task i: of its controller, and with a lower weight of its CPUs. */
static double fullness(const struct np_search *s, size_t i, int node, double load)
{
	double cpus = s->m->node[node].cpus, busy = s->busy[node];
	double dram = s->p.model->node[node].dram_bytes_per_s;

	if (s->choice[i].node != node)
		busy += s->tasks[i].cores;
	if (busy > cpus)
		return 1e6 * busy / cpus;
	return (dram > 0 ? load / dram : 0) + 1e-9 * busy / cpus;
}

static void run_where_least_full(struct np_search *s, size_t i, double asks)
{
	int best = NP_NODE_NONE, now = s->choice[i].node;
	int home = s->plan->decision[i].home;
	double least = INFINITY;

	for (int node = 0; node < (int)s->k; node++) {
		double full;

		if (!np_may_run(s->m, &s->tasks[i], node))
			continue;
		full = fullness(s, i, node, s->traffic[node] + asks);
		if (full < least) {
			least = full;
			best = node;
		}
	}
	for (int choice = 0; choice < 2 && best != NP_NODE_NONE; choice++) {
		int node = choice ? home : now;

		if (node != NP_NODE_NONE && np_may_run(s->m, &s->tasks[i], node) &&
		    fullness(s, i, node, s->traffic[node] + asks) <= least * NO_WORSE)
			best = node;
	}
	if (best == NP_NODE_NONE)
		return;
	np_search_put_back(s, i, np_choice_stay(best));
	s->traffic[best] += asks;
}

/* Those that ask for most first, each to the controller with most to spare. */
static void balance(struct np_search *s)
{
	memset(s->traffic, 0, s->k * sizeof(*s->traffic));
	for (size_t i = 0; i < s->n; i++) {
		s->key[i] = demand(s, i);
		np_search_put_back(s, i, np_choice_stay(NP_NODE_NONE));
	}
	np_search_sort(s);
	for (size_t at = 0; at < s->n; at++)
		run_where_least_full(s, s->order[at], s->key[s->order[at]]);
}

/* The fullest node, as busy cores a CPU. */
static double fullest(const struct np_search *s)
{
	double most = 0;

	for (size_t node = 0; node < s->k; node++)
		if (s->m->node[node].cpus)
			most = fmax(most, s->busy[node] / s->m->node[node].cpus);
	return most;
}

static double all_cpus(const struct np_search *s)
{
	double cpus = 0;

	for (size_t node = 0; node < s->k; node++)
		cpus += s->m->node[node].cpus;
	return cpus;
}

/*
 * As the policy plans it, where its pages fit; not at all where that shares CPUs without need, or
 * more than now.
 */
static void as_planned(struct np_search *s, const struct np_policy *policy)
{
	double full = (s->total_cores <= all_cpus(s) ? 1 : fmax(1, fullest(s))) + ROUNDING;
	struct np_options o;
	struct np_plan plan;

	if (np_plan_init(&plan, s->m, s->n))
		return;
	np_options_defaults(policy, &o);
	if (!np_plan_begin(policy, s->m, s->tasks, &o, &plan) &&
	    !policy->plan(s->m, s->tasks, s->n, &o, &plan))
		for (size_t i = 0; i < s->n; i++) {
			struct np_placement_choice choice = np_choice_of(s, i, &plan),
						   stay = choice;

			stay.row = stay.a = stay.b = NP_NODE_NONE;
			np_search_put_back(s, i, stay);
			if (s->pages)
				np_search_put(s, i, choice);
		}
	np_plan_free(&plan);
	if (fullest(s) > full)
		reset(s);
}

/* Where the search begins: a rule, then where the pages are sent. */
struct start {
	void (*rule)(struct np_search *s);
	const struct np_policy *policy; /* instead */
	bool follow;
};

/* Start number 0, 1, ..; false after the last. */
static bool start_at(const struct np_policy *const *policies, size_t at, struct start *start)
{
	*start = (struct start) { .follow = at % 2 };
	if (at < 2)
		start->rule = balance;
	else
		start->policy = policies[at / 2 - 1];
	return start->rule || start->policy;
}

static void begin(struct np_search *s, const struct start *start)
{
	reset(s);
	if (start->rule)
		start->rule(s);
	else
		as_planned(s, start->policy);
	if (start->follow)
		pages_follow(s);
}

static bool is_used(const struct np_search *s, const struct start *start,
		    const struct np_policy *self)
{
	return start->policy != self && (!start->follow || s->pages);
}

/* Few tasks are improved from every start, since the best start need not lead to the best end. */
static void climb_from_each(struct np_search *s, const struct np_policy *const *policies,
			    const struct np_policy *self)
{
	struct start start;

	for (size_t at = 0; start_at(policies, at, &start) && s->budget > 0; at++)
		if (is_used(s, &start, self)) {
			begin(s, &start);
			np_search_hill_climb(s);
		}
}

/*
 * Sends one task after the other to each other node, better or not, and improves
 * from there: what one step cannot reach because it leads downhill first.
 */
static void kick_each(struct np_search *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (int node = 0; node < (int)s->k && s->budget > 0; node++) {
			np_search_return(s);
			if (s->best[i].node != node &&
			    np_search_put(s, i,
					  s->pages && s->all[i] ?
						  np_choice_on(node, node) :
						  np_choice_moved(s->best[i], node)))
				np_search_hill_climb(s);
		}
	}
}

/* Every placement of each task on one node, its pages with it, where these are few. */
static void try_all(struct np_search *s)
{
	enum np_page_freedom freedom = s->pages ? NP_FREE_TO_FOLLOW : NP_FREE_TO_RUN;
	double work = np_search_placements(s->n, s->k, freedom) * (double)s->n *
		      (1 + NP_SEARCH_FLOW_WORK);

	if (work > TRIED * s->budget)
		return;
	np_search_exhaustive(s, freedom);
	if (s->best_score > -INFINITY)
		np_search_hill_climb(s);
}

void np_search_starting_points(struct np_search *s, const struct np_policy *const *policies,
			       const struct np_policy *self)
{
	struct start start;

	s->best_score = -INFINITY;
	try_all(s);
	for (size_t at = 0; start_at(policies, at, &start); at++)
		if (is_used(s, &start, self)) {
			begin(s, &start);
			np_search_keep(s, np_search_score(s, true));
		}
	np_search_return(s);
	np_search_hill_climb(s);
	if (s->n <= NP_FEW_TASKS) {
		climb_from_each(s, policies, self);
		kick_each(s);
	}
	np_search_return(s);
}
