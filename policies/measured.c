// SPDX-License-Identifier: GPL-2.0-only
/*
 * measured: the placement of tasks and pages with the highest throughput, or
 * fairness, that the machine's contention model predicts. Luo et al.
 * conclude that this is needed: on two machines of the same shape opposite placements are best.
 *
 * It is a search, not a proof: placements made by rule, then steps from the
 * best of them (policies/search/). `make bench-policies` measures the distance from the
 * best placement where that can be found by trying all.
 */
#include <errno.h>

#include "plan/node_set.h"
#include "plan/placer.h"
#include "search/search.h"

#define SAME 1e-6 /* relative difference that the solver's rounding may make */
#define WORK 1e6  /* units of work in one of option effort */

static const char *const objective_words[] = { "throughput", "fairness", NULL };
static const char *const pages_words[] = { "split", "move", "stay", NULL };

static const char *const search_words[] = { "climb", "all", NULL };

enum { PAGES_SPLIT, PAGES_MOVE, PAGES_STAY };
enum { SEARCH_CLIMB, SEARCH_ALL };

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "objective", .type = NP_OPT_ENUM, .def = NP_OBJECTIVE_THROUGHPUT,
	  .words = objective_words, .unit = "",
	  .meaning = "throughput: the sum of speeds over all busy cores; fairness: the speed of "
		     "the slowest task; a speed is relative to the task's own alone on the machine "
		     "with its memory local" },
	{ .name = "pages", .type = NP_OPT_ENUM, .def = PAGES_SPLIT, .words = pages_words,
	  .unit = "",
	  .meaning = "split: pages may move, be divided between two nodes in quarters, or be "
		     "spread over more by weights; move: all of a task's pages or none; stay: only "
		     "tasks move" },
	{ .name = "horizon", .type = NP_OPT_DOUBLE, .def = 60, .min = 0, .max = 1e9, .unit = "s",
	  .meaning = "time in which moving pages must pay: a task whose pages take a second to "
		     "move loses 1/horizon of its speed; 0: moving is free" },
	{ .name = "hysteresis", .type = NP_OPT_DOUBLE, .def = 0.02, .min = 0, .max = 10, .unit = "",
	  .meaning = "relative improvement of the objective below which all is left alone" },
	{ .name = "search", .type = NP_OPT_ENUM, .def = SEARCH_CLIMB, .words = search_words,
	  .unit = "",
	  .meaning = "climb: step by step from placements made by rule; all: every placement of "
		     "each task on one node, where effort is enough for that" },
	{ .name = "effort", .type = NP_OPT_DOUBLE, .def = 20, .min = 0, .max = 1e6,
	  .unit = "million",
	  .meaning = "work of the search: one for each task and 16 for each flow between nodes of "
		     "every prediction" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

static double option(const struct np_options *o, const char *name)
{
	return np_options_get(&np_policy_measured, o, name);
}

void np_measured_options(struct np_search *s, const struct np_options *o)
{
	double horizon = option(o, "horizon");

	s->objective = (enum np_objective)option(o, "objective");
	s->pages = option(o, "pages") != PAGES_STAY;
	s->split = option(o, "pages") == PAGES_SPLIT;
	s->seconds_per_page = horizon > 0 ? (double)s->m->page_size / (1024 * 1024) /
						    option(o, "rate") / horizon :
					    0;
	s->budget = WORK * option(o, "effort");
}

/* Row of the plan with these weights, to *to. 0 or -ENOMEM. */
static int plan_row(struct np_search *s, const uint8_t *weight, int *to)
{
	*to = np_plan_spread(s->plan, s->k, weight);
	return *to == NP_NODE_NONE ? -ENOMEM : 0;
}

static int decide_pages(struct np_search *s, size_t i)
{
	struct np_decision *d = &s->plan->decision[i];
	struct np_placement_choice choice = s->choice[i];
	uint8_t weight[NP_MODEL_NODES] = { 0 };

	if (np_choice_stays(choice) || !s->all[i])
		return 0;
	if (choice.row != NP_NODE_NONE)
		return plan_row(s, s->row[choice.row]->weight, &d->spread);
	if (choice.a == choice.b || choice.on_a == NP_QUARTERS) {
		d->pages_to = choice.a;
		return 0;
	}
	weight[choice.a] = choice.on_a;
	weight[choice.b] = (uint8_t)(NP_QUARTERS - choice.on_a);
	return plan_row(s, weight, &d->spread);
}

static void say_pages(const struct np_search *s, size_t i, struct np_decision *d)
{
	struct np_placement_choice choice = s->choice[i];
	const struct np_node *node = s->m->node;

	if (np_choice_stays(choice) || !s->all[i]) {
		np_reason_more(d, "its pages where they are");
	} else if (choice.row != NP_NODE_NONE) {
		np_reason_more(d, "its pages spread by weights");
		for (size_t k = 0; k < s->k && strlen(d->reason) < NP_REASON_LEN - 20; k++)
			if (s->row[choice.row]->weight[k])
				np_reason_more(d, " %d:%u", node[k].id,
					       s->row[choice.row]->weight[k]);
	} else if (choice.a == choice.b) {
		np_reason_more(d, "its pages on node %d", node[choice.a].id);
	} else {
		np_reason_more(d, "%d/4 of its pages on node %d, %d/4 on node %d", choice.on_a,
			       node[choice.a].id, NP_QUARTERS - choice.on_a, node[choice.b].id);
	}
}

static void say_nodes(const struct np_search *s, size_t i, struct np_decision *d)
{
	struct np_placement_choice choice = s->choice[i];
	char nodes[64];

	if (choice.nodes != NP_NODE_NONE)
		np_reason_more(d, "on nodes %s, ",
			       np_nodes_text(s->m, s->row[choice.nodes]->weight, nodes,
					     sizeof(nodes)));
	else if (choice.node == NP_NODE_NONE)
		np_reason_more(d, "on the nodes that it is on, ");
	else
		np_reason_more(d, "on node %d, ", s->m->node[choice.node].id);
}

static int decide(struct np_search *s, size_t i, double before)
{
	struct np_decision *d = &s->plan->decision[i];
	int node = s->choice[i].node, e = decide_pages(s, i);

	if (!e && s->choice[i].nodes != NP_NODE_NONE)
		e = plan_row(s, s->row[s->choice[i].nodes]->weight, &d->nodes);
	/* A task that happens to run on an overcommitted node is not bound to it. */
	else if (node != d->from || node == NP_NODE_NONE || s->busy[node] <= s->m->node[node].cpus)
		d->to = node;
	np_reason(d, "%s %.2f of its speed alone",
		  before == (double)s->p.speed[i] ? "predicted to keep" : "predicted to reach",
		  (double)s->p.speed[i]);
	np_reason_more(d, ", now %.2f: ", before);
	say_nodes(s, i, d);
	say_pages(s, i, d);
	return e;
}

static void leave_alone(struct np_search *s, double now, double best)
{
	for (size_t i = 0; i < s->n; i++)
		np_reason(&s->plan->decision[i],
			  "left alone: the best placement found promises %.2f %% more in all",
			  (best / now - 1) * 100);
}

/* -EOPNOTSUPP: more placements than the effort is enough for. */
static int try_all(struct np_search *s)
{
	enum np_page_freedom freedom = s->split ? NP_FREE_TO_SPLIT :
				       s->pages ? NP_FREE_TO_MOVE :
						  NP_FREE_TO_RUN;

	/* A task has one flow, or two with its pages split. */
	if (np_search_placements(s->n, s->k, freedom) * (double)s->n * NP_SEARCH_TASK_WORK >
	    s->budget)
		return -EOPNOTSUPP;
	np_search_exhaustive(s, freedom);
	return 0;
}

#define POLICY(name) &np_policy_##name,
/* Whose plans are starting points. */
static const struct np_policy *const policies[] = {
#include "plan/policies.def"
	NULL,
};
#undef POLICY

/* The same of many tasks: their plans are made, and predicted, in little time. */
static const struct np_policy *const quick_policies[] = { &np_policy_none, &np_policy_maximum_local,
							  NULL };

static int find_best(struct np_search *s, const struct np_options *o)
{
	if (option(o, "search") == SEARCH_ALL)
		return try_all(s);
	np_search_starting_points(s, s->n > NP_MANY_TASKS ? quick_policies : policies,
				  &np_policy_measured);
	return 0;
}

static int search(struct np_search *s, const struct np_options *o)
{
	double now, best;
	int e;

	np_measured_options(s, o);
	now = np_search_score(s, true);
	memcpy(s->before, s->p.speed, s->n * sizeof(*s->before));
	e = find_best(s, o);
	if (e)
		return e;
	best = np_search_score(s, true);
	if (best > now * (1 + option(o, "hysteresis")))
		for (size_t i = 0; !e && i < s->n; i++)
			e = decide(s, i, (double)s->before[i]);
	else
		leave_alone(s, now, best);
	return e;
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	struct np_search s;
	int e;

	if (!m->model)
		return -EOPNOTSUPP;
	if (!n)
		return 0;
	e = np_search_init(&s, m, tasks, n, out);
	if (e)
		return e;
	e = search(&s, o);
	np_search_free(&s);
	return e;
}

/* Its search counts on memory for all pages; what was free may have led elsewhere. */
static const char *reject(const struct np_options *o, const struct np_known *throughput,
			  const struct np_known *fairness)
{
	const struct np_known *objective = option(o, "objective") == NP_OBJECTIVE_FAIRNESS ?
						   fairness :
						   throughput;

	if (objective[1].value >= objective[0].value * (1 - SAME))
		return NULL;
	return "left alone: there is no memory for the pages of the best placement found, and "
	       "without them it is worse";
}

const struct np_policy np_policy_measured = {
	.name = "measured",
	.summary = "the tasks' nodes and the pages' nodes with the highest throughput, or "
		   "fairness, that the machine's contention model predicts",
	.origin = "Luo et al. conclude that it is needed",
	.needs = "contention model; bandwidth, else penalty, else mpki",
	.option = options,
	.plan = plan,
	.reject = reject,
};
