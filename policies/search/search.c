// SPDX-License-Identifier: GPL-2.0-only
/* The placement under examination: constraints, and its score. */
#include "search.h"

#include <errno.h>

#define ROUNDING 1e-9 /* of cores of a task that are shared out to nodes */

static struct np_placement_choice as_it_is(const struct np_task *t)
{
	return np_choice_stay(t->node);
}

double np_choice_pages(const struct np_search *s, size_t i, struct np_placement_choice choice,
		       size_t node)
{
	double pages = 0;

	if (choice.row != NP_NODE_NONE)
		return (double)s->all[i] * s->row[choice.row]->weight[node] /
		       s->row[choice.row]->sum;
	if (choice.a == NP_NODE_NONE)
		return (double)s->tasks[i].pages[node];
	if ((int)node == choice.a)
		pages += (double)s->all[i] * choice.on_a / NP_QUARTERS;
	if ((int)node == choice.b)
		pages += (double)s->all[i] * (NP_QUARTERS - choice.on_a) / NP_QUARTERS;
	return pages;
}

double np_choice_cores(const struct np_search *s, struct np_placement_choice choice, size_t node)
{
	const struct np_row *row = choice.nodes == NP_NODE_NONE ? NULL : s->row[choice.nodes];

	if (choice.node != NP_NODE_NONE)
		return (int)node == choice.node;
	return row && row->weight[node] ? (double)s->m->node[node].cpus / row->cpus : 0;
}

static bool in_quarters(struct np_placement_choice choice)
{
	return choice.row == NP_NODE_NONE && choice.a != NP_NODE_NONE;
}

/* The nodes that choice can have pages on: one or two, else any. */
static size_t holders(const struct np_search *s, struct np_placement_choice choice)
{
	return in_quarters(choice) ? 1 + (choice.b != choice.a) : s->k;
}

static size_t holder(struct np_placement_choice choice, size_t at)
{
	return in_quarters(choice) ? (size_t)(at ? choice.b : choice.a) : at;
}

/* The same of those that it can run on. */
static size_t runners(const struct np_search *s, struct np_placement_choice choice)
{
	return choice.node != NP_NODE_NONE ? 1 : choice.nodes != NP_NODE_NONE ? s->k : 0;
}

static size_t runner(struct np_placement_choice choice, size_t at)
{
	return choice.node != NP_NODE_NONE ? (size_t)choice.node : at;
}

static void count(struct np_search *s, size_t i, struct np_placement_choice choice, int sign)
{
	for (size_t at = 0; at < runners(s, choice); at++) {
		size_t node = runner(choice, at);

		s->busy[node] += sign * (double)s->tasks[i].cores *
				 np_choice_cores(s, choice, node);
	}
	for (size_t at = 0; at < holders(s, choice); at++) {
		size_t node = holder(choice, at);

		s->room[node] -= sign * np_choice_pages(s, i, choice, node);
	}
}

/* The fullest node of choice, as busy cores a CPU, were task i there and not at old. */
static double fullest(const struct np_search *s, size_t i, struct np_placement_choice choice,
		      struct np_placement_choice old)
{
	double most = 0;

	for (size_t at = 0; at < runners(s, choice); at++) {
		size_t node = runner(choice, at);
		double part = np_choice_cores(s, choice, node);
		double more = part - np_choice_cores(s, old, node);

		if (part > 0)
			most = fmax(most, (s->busy[node] + s->tasks[i].cores * more) /
						  s->m->node[node].cpus);
	}
	return most;
}

static bool may_run(const struct np_search *s, size_t i, struct np_placement_choice choice)
{
	for (size_t at = 0; at < runners(s, choice); at++) {
		size_t node = runner(choice, at);

		if (np_choice_cores(s, choice, node) > 0 &&
		    !np_may_run(s->m, &s->tasks[i], (int)node))
			return false;
	}
	return runners(s, choice) > 0;
}

/* On a node that is full only a task from a node that is fuller still. */
static bool cpus_fit(const struct np_search *s, size_t i, struct np_placement_choice old,
		     struct np_placement_choice new)
{
	double full;

	if (new.node == old.node && new.nodes == old.nodes)
		return true;
	if (!may_run(s, i, new))
		return false;
	full = fullest(s, i, new, old);
	return full <= 1 + ROUNDING || full < fullest(s, i, old, old) - ROUNDING;
}

static bool pages_fit(const struct np_search *s, size_t i, struct np_placement_choice old,
		      struct np_placement_choice new)
{
	if (new.row != NP_NODE_NONE && !s->row[new.row]->sum)
		return false; /* by the bandwidth of a node without CPUs */
	for (size_t at = 0; !np_choice_stays(new) && at < holders(s, new); at++) {
		size_t node = holder(new, at);
		double want = np_choice_pages(s, i, new, node);
		double more = want - np_choice_pages(s, i, old, node);

		if (want > 0 && (!np_may_hold(s->m, &s->tasks[i], (int)node) ||
				 !(s->p.model->node[node].dram_bytes_per_s > 0) ||
				 (more > 0 && more > s->room[node])))
			return false;
	}
	return true;
}

static double pages_moved(const struct np_search *s, size_t i, struct np_placement_choice choice)
{
	double moved = 0;

	for (size_t at = 0; !np_choice_stays(choice) && at < holders(s, choice); at++) {
		size_t node = holder(choice, at);

		moved += fmax(0, np_choice_pages(s, i, choice, node) -
					 (double)s->tasks[i].pages[node]);
	}
	return moved;
}

static void predict_pages(struct np_search *s, size_t i, struct np_placement_choice choice)
{
	struct np_predictor *p = &s->p;

	if (np_choice_stays(choice)) {
		np_predict_pages(p, i, s->tasks[i].pages);
	} else if (s->all[i] && choice.row != NP_NODE_NONE) {
		np_predict_spread(p, i, s->row[choice.row]->weight);
	} else if (s->all[i]) {
		np_predict_pages_on(p, i, choice.a);
		if (choice.b != choice.a && choice.on_a < NP_QUARTERS) {
			p->parts[i] = 2;
			p->part_node[i * s->k + 1] = (unsigned short)choice.b;
			p->part_share[i * s->k] = (float)choice.on_a / NP_QUARTERS;
			p->part_share[i * s->k + 1] = 1 - p->part_share[i * s->k];
		}
	}
}

void np_search_put_back(struct np_search *s, size_t i, struct np_placement_choice choice)
{
	count(s, i, s->choice[i], -1);
	count(s, i, choice, +1);
	s->choice[i] = choice;
	s->move_cost[i] = (float)fmin(1, pages_moved(s, i, choice) * s->seconds_per_page);
	if (choice.nodes == NP_NODE_NONE)
		np_predict_run_on(&s->p, i, choice.node);
	else
		np_predict_run_on_nodes(&s->p, i, s->row[choice.nodes]->weight);
	predict_pages(s, i, choice);
}

bool np_search_put(struct np_search *s, size_t i, struct np_placement_choice choice)
{
	if (!cpus_fit(s, i, s->choice[i], choice) || !pages_fit(s, i, s->choice[i], choice))
		return false;
	np_search_put_back(s, i, choice);
	return true;
}

double np_search_score(struct np_search *s, bool restart)
{
	double sum = 0, least = INFINITY;

	np_predict(&s->p, restart);
	s->budget -= (double)s->n + NP_SEARCH_FLOW_WORK * (double)s->p.n_used;
	for (size_t i = 0; i < s->n; i++) {
		double speed = s->p.speed[i] * (1 - (double)s->move_cost[i]);

		sum += speed * s->tasks[i].cores;
		least = fmin(least, speed);
	}
	return s->objective == NP_OBJECTIVE_THROUGHPUT ? sum : least + 1e-3 * sum / s->total_cores;
}

void np_search_keep(struct np_search *s, double score)
{
	if (score <= s->best_score)
		return;
	s->best_score = score;
	memcpy(s->best, s->choice, s->n * sizeof(*s->best));
}

static bool same_choice(struct np_placement_choice x, struct np_placement_choice y)
{
	return x.node == y.node && x.nodes == y.nodes && x.row == y.row && x.a == y.a &&
	       x.b == y.b && x.on_a == y.on_a;
}

void np_search_return(struct np_search *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!same_choice(s->choice[i], s->best[i]))
			np_search_put_back(s, i, s->best[i]);
}

static int by_key(const void *a, const void *b, void *context)
{
	const double *key = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (key[i] != key[j])
		return key[i] > key[j] ? -1 : 1;
	return i < j ? -1 : i > j;
}

void np_search_sort(struct np_search *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->order[i] = i;
	qsort_r(s->order, s->n, sizeof(*s->order), by_key, s->key);
}

static void count_memory(struct np_search *s)
{
	for (size_t node = 0; node < s->k; node++)
		s->room[node] = (double)np_pages_room(s->m, node);
	for (size_t i = 0; i < s->n; i++) {
		for (size_t node = 0; node < s->k; node++) {
			s->all[i] += s->tasks[i].pages[node];
			s->room[node] += (double)s->tasks[i].pages[node];
		}
		s->choice[i] = s->best[i] = as_it_is(&s->tasks[i]);
		s->total_cores += s->tasks[i].cores;
		count(s, i, s->choice[i], +1);
	}
}

int np_search_init(struct np_search *s, const struct np_machine *m, const struct np_task *tasks,
		   size_t n, struct np_plan *plan)
{
	size_t k = m->n_nodes;
	int e;

	*s = (struct np_search) { .m = m, .tasks = tasks, .plan = plan, .n = n, .k = k };
	e = np_predictor_init(&s->p, m, tasks, plan->decision, n);
	if (e)
		return e;
	s->choice = calloc(n + 1, sizeof(*s->choice));
	s->best = calloc(n + 1, sizeof(*s->best));
	s->all = calloc(n + 1, sizeof(*s->all));
	s->move_cost = calloc(n + 1, sizeof(*s->move_cost));
	s->before = calloc(n + 1, sizeof(*s->before));
	s->busy = calloc(k, sizeof(*s->busy));
	s->room = calloc(k, sizeof(*s->room));
	s->traffic = calloc(k, sizeof(*s->traffic));
	s->order = calloc(n + 1, sizeof(*s->order));
	s->key = calloc(n + 1, sizeof(*s->key));
	if (!s->choice || !s->best || !s->all || !s->move_cost || !s->before || !s->busy ||
	    !s->room || !s->traffic || !s->order || !s->key) {
		np_search_free(s);
		return -ENOMEM;
	}
	e = np_search_rows_init(s);
	if (e) {
		np_search_free(s);
		return e;
	}
	count_memory(s);
	return 0;
}

void np_search_free(struct np_search *s)
{
	np_predictor_free(&s->p);
	np_search_rows_free(s);
	free(s->choice);
	free(s->best);
	free(s->all);
	free(s->move_cost);
	free(s->before);
	free(s->busy);
	free(s->room);
	free(s->traffic);
	free(s->order);
	free(s->key);
	*s = (struct np_search) { 0 };
}
