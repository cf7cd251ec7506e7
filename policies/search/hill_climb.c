// SPDX-License-Identifier: GPL-2.0-only
/*
 * Improves a placement step by step. Every step is judged by the predictor.
 * Few tasks: every choice of every task and every exchange of two are tried. More:
 * only the choices that look best with the other tasks' latencies held constant.
 * Many: the most promising tasks change their places together, half as many
 * when that was no improvement.
 */
#include "search.h"

#define PROMISING   4	 /* choices that are tried of a task among more than NP_FEW_TASKS */
#define WORTH	    1e-6 /* relative improvement that counts */
#define WORTH_GUESS 0.01 /* gain of a task by a guess that makes it worth moving */
#define GUESS_WORK  0.15 /* of the budget's units, of a guess and a node */

/* Pages as they are, on one node, on two in quarters, by bandwidth or evenly on all. */
static struct np_placement_choice with_pages(const struct np_search *s, int node, size_t way)
{
	struct np_placement_choice choice = np_choice_stay(node);
	size_t k = s->k, other;

	if (!way--)
		return choice;
	if (way < k)
		return np_choice_on(node, (int)way);
	way -= k;
	if (way < 2) {
		choice.row = np_row_by_bandwidth(s, way ? NP_NODE_NONE : node);
		return choice;
	}
	way -= 2;
	other = way / (NP_QUARTERS - 1);
	choice.a = (short)(node == NP_NODE_NONE ? (int)((other + 1) % k) : node);
	choice.b = (short)other;
	choice.on_a = (unsigned char)(1 + way % (NP_QUARTERS - 1));
	return choice;
}

/* On a set of nodes: pages as they are, shared out to these nodes, or to all. */
static struct np_placement_choice on_set(const struct np_search *s, size_t set, size_t way)
{
	struct np_placement_choice choice = np_choice_stay(NP_NODE_NONE);

	choice.nodes = (short)(s->first_set + set);
	if (way)
		choice.row = way == 1 ? choice.nodes : np_row_by_bandwidth(s, NP_NODE_NONE);
	return choice;
}

bool np_search_choice(const struct np_search *s, size_t i, size_t number,
		      struct np_placement_choice *choice)
{
	bool pages = s->pages && s->all[i];
	size_t k = s->k, sets = s->tasks[i].cores > 1 ? s->n_sets : 0;
	size_t ways = 1 + (pages ? k + (s->split ? 2 + (NP_QUARTERS - 1) * k : 0) : 0);
	size_t single = (s->tasks[i].node == NP_NODE_NONE ? k + 1 : k) * ways;
	size_t ways_on_set = pages && s->split ? 3 : 1;

	if (number < single) {
		size_t node = number / ways;

		*choice = with_pages(s, node == k ? NP_NODE_NONE : (int)node, number % ways);
		return true;
	}
	number -= single;
	if (number >= sets * ways_on_set)
		return false;
	*choice = on_set(s, number / ways_on_set, number % ways_on_set);
	return true;
}

static bool better(double score, double than)
{
	return score > than + WORTH * fabs(than);
}

/* Puts task i where it is best; true if that is another choice than before. */
static bool improve(struct np_search *s, size_t i, double *score)
{
	struct np_placement_choice choice, best = s->choice[i], first = s->choice[i];
	bool found = false;

	for (size_t number = 0; s->budget > 0 && np_search_choice(s, i, number, &choice);
	     number++) {
		double now;

		if (!np_search_put(s, i, choice))
			continue;
		now = np_search_score(s, false);
		if (better(now, *score)) {
			*score = now;
			best = choice;
			found = true;
		}
		np_search_put_back(s, i, first);
	}
	np_search_put_back(s, i, best);
	return found;
}

/* Each to the other's node, with its pages or leaving them. */
static bool exchange(struct np_search *s, size_t i, size_t j, bool with_pages, double *score)
{
	struct np_placement_choice a = s->choice[i], b = s->choice[j];
	double now;

	if (a.node == b.node || a.node == NP_NODE_NONE || b.node == NP_NODE_NONE ||
	    !np_may_run(s->m, &s->tasks[i], b.node) || !np_may_run(s->m, &s->tasks[j], a.node) ||
	    s->tasks[i].cores != s->tasks[j].cores)
		return false;
	np_search_put_back(s, i, np_choice_moved(a, b.node));
	np_search_put_back(s, j, np_choice_moved(b, a.node));
	if (!with_pages || (np_search_put(s, i, np_choice_on(b.node, b.node)) &&
			    np_search_put(s, j, np_choice_on(a.node, a.node)))) {
		now = np_search_score(s, false);
		if (better(now, *score)) {
			*score = now;
			return true;
		}
	}
	np_search_put_back(s, i, a);
	np_search_put_back(s, j, b);
	return false;
}

static bool exchange_any(struct np_search *s, double *score)
{
	bool found = false;

	for (size_t i = 0; i < s->n; i++)
		for (size_t j = i + 1; j < s->n && s->budget > 0; j++)
			found |= exchange(s, i, j, false, score) ||
				 (s->pages && exchange(s, i, j, true, score));
	return found;
}

static void climb_few(struct np_search *s)
{
	double score = np_search_score(s, true);
	bool found = true;

	while (found && s->budget > 0) {
		found = false;
		for (size_t i = 0; i < s->n; i++)
			found |= improve(s, i, &score);
		if (!found)
			found = exchange_any(s, &score);
	}
	np_search_keep(s, np_search_score(s, true));
}

/* Waiting at each controller, as its own cores or else others meet it now. */
static void read_waits(const struct np_search *s, double *wait)
{
	const struct np_predictor *p = &s->p;

	for (size_t to = 0; to < s->k; to++)
		wait[to] = 0;
	for (size_t at = 0; at < p->n_used; at++) {
		size_t c = p->used[at], class = c % p->n_classes, to = c / p->n_classes % s->k;
		size_t from = c / p->n_classes / s->k;
		double over = p->line_ns[c] - p->demand[class].think_ns -
			      np_model_unloaded_ns(p->model, (int)from, (int)to);

		if (from == to || over < wait[to] || wait[to] == 0)
			wait[to] = fmax(wait[to], from == to ? over : over / 2);
	}
}

/* Speed of task i's cores on node from at choice with the other tasks' latencies held constant. */
static double guess_from(const struct np_search *s, size_t i, struct np_placement_choice choice,
			 int from, const double *wait)
{
	const struct np_predictor *p = &s->p;
	double ns = p->demand[p->class[i]].think_ns;

	for (size_t node = 0; node < s->k; node++) {
		double pages = np_choice_pages(s, i, choice, node);

		if (pages > 0)
			ns += pages / (double)s->all[i] *
			      (np_model_unloaded_ns(p->model, from, (int)node) + wait[node]);
	}
	return p->alone_ns[p->class[i]] / ns;
}

static double guess(const struct np_search *s, size_t i, struct np_placement_choice choice,
		    const double *wait)
{
	double speed = 0;

	if (s->p.class[i] < 0 || (choice.node == NP_NODE_NONE && choice.nodes == NP_NODE_NONE))
		return s->p.speed[i];
	for (int from = 0; from < (int)s->k; from++) {
		double part = np_choice_cores(s, choice, (size_t)from);

		if (part > 0)
			speed += part * guess_from(s, i, choice, from, wait);
	}
	return speed;
}

static double guess_on(const struct np_search *s, size_t i, int node, const double *wait)
{
	const struct np_predictor *p = &s->p;

	return p->alone_ns[p->class[i]] / (p->demand[p->class[i]].think_ns +
					   np_model_unloaded_ns(p->model, node, node) + wait[node]);
}

/* The loss of each task, as what a change could win for all. */
static void sort_by_loss(struct np_search *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->key[i] = s->p.class[i] < 0 ? 0 :
			    s->objective == NP_OBJECTIVE_FAIRNESS ?
						1 - s->p.speed[i] :
						s->tasks[i].cores * (1 - (double)s->p.speed[i]);
	np_search_sort(s);
}

/* The most promising choices of task i by their guessed speed, best first. */
static size_t promising(struct np_search *s, size_t i, const double *wait,
			struct np_placement_choice *list)
{
	double value[PROMISING];
	struct np_placement_choice choice;
	size_t n = 0, number;

	for (number = 0; np_search_choice(s, i, number, &choice); number++) {
		double speed = guess(s, i, choice, wait);
		size_t at;

		if (n == PROMISING && speed <= value[n - 1])
			continue;
		at = n < PROMISING ? n++ : n - 1;
		for (; at && value[at - 1] < speed; at--) {
			value[at] = value[at - 1];
			list[at] = list[at - 1];
		}
		value[at] = speed;
		list[at] = choice;
	}
	s->budget -= GUESS_WORK * (double)number * (double)s->k;
	return n;
}

static bool improve_some(struct np_search *s, size_t i, const double *wait, double *score)
{
	struct np_placement_choice list[PROMISING], first = s->choice[i];
	size_t n = promising(s, i, wait, list);

	for (size_t at = 0; at < n && s->budget > 0; at++) {
		double now;

		if (!np_search_put(s, i, list[at]))
			continue;
		now = np_search_score(s, false);
		if (better(now, *score)) {
			*score = now;
			return true;
		}
		np_search_put_back(s, i, first);
	}
	return false;
}

static void climb_more(struct np_search *s)
{
	double wait[NP_MODEL_NODES], score = np_search_score(s, true);
	bool found = true;

	while (found && s->budget > 0) {
		found = false;
		sort_by_loss(s);
		for (size_t at = 0; at < s->n && s->budget > 0; at++) {
			read_waits(s, wait);
			found |= improve_some(s, s->order[at], wait, &score);
		}
	}
	np_search_keep(s, np_search_score(s, true));
}

/* The node with all of task i's pages that promises most, its queue not longer than here. */
static int best_node(const struct np_search *s, size_t i, const double *wait)
{
	double most = s->p.speed[i] * (1 + WORTH_GUESS);
	int best = NP_NODE_NONE;

	for (int node = 0; node < (int)s->k; node++) {
		double speed;

		if (node == s->choice[i].node || !(s->p.model->node[node].dram_bytes_per_s > 0))
			continue;
		speed = guess_on(s, i, node, wait);
		if (speed > most) {
			most = speed;
			best = node;
		}
	}
	return best;
}

/* At most limit tasks go where they promise to be faster; each fills up its new node. */
static size_t move_together(struct np_search *s, double *wait, size_t limit)
{
	size_t moved = 0;

	for (size_t at = 0; at < s->n && moved < limit; at++) {
		size_t i = s->order[at];
		double cost, served;
		int node;

		if (s->p.class[i] < 0 || !s->all[i])
			continue;
		node = best_node(s, i, wait);
		if (node == NP_NODE_NONE || !np_search_put(s, i, np_choice_on(node, node)))
			continue;
		served = s->p.model->node[node].dram_bytes_per_s;
		cost = np_predict_traffic(&s->p, i) / served;
		wait[node] += cost * np_model_unloaded_ns(s->p.model, node, node);
		moved++;
	}
	return moved;
}

static void climb_many(struct np_search *s)
{
	double wait[NP_MODEL_NODES], score = np_search_score(s, true);
	size_t limit = s->n / 8;

	while (s->pages && limit && s->budget > 0) {
		double now;

		sort_by_loss(s);
		read_waits(s, wait);
		if (!move_together(s, wait, limit))
			break;
		now = np_search_score(s, true);
		if (better(now, score)) {
			score = now;
			np_search_keep(s, now);
			continue;
		}
		np_search_return(s);
		np_search_score(s, true);
		limit /= 2;
	}
}

void np_search_hill_climb(struct np_search *s)
{
	if (s->n <= NP_FEW_TASKS)
		climb_few(s);
	else if (s->n <= NP_MANY_TASKS)
		climb_more(s);
	else
		climb_many(s);
}
