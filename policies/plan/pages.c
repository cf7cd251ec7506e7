// SPDX-License-Identifier: GPL-2.0-only
/* The nodes that the pages of a plan end up on, so that every node can hold them. */
#include "pages.h"

#include <errno.h>

/* Part of a node's memory that a plan never fills: the kernel keeps a reserve. */
#define RESERVED_PART 64

/* Rounds of making room before the remaining moves are dropped. */
#define ROUNDS_A_NODE 4

struct books {
	const struct np_machine *m;
	const struct np_task *tasks;
	struct np_plan *plan;
	int64_t *excess; /* [n_nodes] pages planned beyond what fits */
};

static uint64_t sum_of(const uint64_t *pages, size_t k)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < k; i++)
		sum += pages[i];
	return sum;
}

static uint64_t shm_on(const struct np_task *t, size_t node)
{
	uint64_t shm = t->shm_pages ? t->shm_pages[node] : 0;

	return shm < t->pages[node] ? shm : t->pages[node];
}

/*
 * Pages of node that must stay there: shared memory, and what is shared of its own, taken to lie as
 * that does.
 */
uint64_t np_pages_fixed(const struct np_task *t, size_t node, size_t k)
{
	uint64_t own = 0, here = t->pages[node] - shm_on(t, node), shared;

	for (size_t i = 0; i < k; i++)
		own += t->pages[i] - shm_on(t, i);
	shared = t->shared_pages < own ? t->shared_pages : own;
	return shm_on(t, node) +
	       (own ? (uint64_t)((double)here * (double)shared / (double)own) : 0);
}

static bool brings_nearer(const struct np_machine *m, const struct np_decision *d, int from)
{
	return !d->if_nearer || d->to == NP_NODE_NONE ||
	       np_distance(m, d->to, d->pages_to) < np_distance(m, d->to, from);
}

static void send_to(const struct np_machine *m, const struct np_task *t,
		    const struct np_decision *d, uint64_t all, uint64_t *after)
{
	uint64_t rest = all;

	for (int i = 0; i < (int)m->n_nodes; i++) {
		after[i] = i == d->pages_to	  ? 0 :
			   brings_nearer(m, d, i) ? np_pages_fixed(t, (size_t)i, m->n_nodes) :
						    t->pages[i];
		rest -= after[i];
	}
	after[d->pages_to] = rest;
}

/* By weight, what must stay counted in; the last node of the spread takes the rounding. */
static void spread_over(const struct np_machine *m, const struct np_task *t, const uint8_t *weight,
			uint64_t all, uint64_t *after)
{
	double weights = 0, wanted = 0;
	uint64_t rest = all;
	size_t last = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		weights += weight[i];
		after[i] = np_pages_fixed(t, i, m->n_nodes);
		rest -= after[i];
	}
	for (size_t i = 0; i < m->n_nodes; i++)
		wanted += fmax(0, (double)all * weight[i] / weights - (double)after[i]);
	for (size_t i = 0, movable = rest; i < m->n_nodes; i++) {
		double want = (double)all * weight[i] / weights - (double)after[i];
		uint64_t part;

		if (!(want > 0))
			continue;
		part = (uint64_t)(want / wanted * (double)movable + 0.5);
		part = part < rest ? part : rest;
		after[i] += part;
		rest -= part;
		last = i;
	}
	after[last] += rest;
}

uint64_t np_pages_room(const struct np_machine *m, size_t node)
{
	const struct np_node *n = &m->node[node];
	uint64_t reserved = n->mem_total / RESERVED_PART;

	return n->has_memory && n->mem_free > reserved ? (n->mem_free - reserved) / m->page_size :
							 0;
}

static void want_all_pages(struct books *b)
{
	size_t k = b->m->n_nodes;

	for (size_t i = 0; i < k; i++)
		b->excess[i] = -(int64_t)np_pages_room(b->m, i);
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct np_decision *d = &b->plan->decision[i];
		const struct np_task *t = &b->tasks[i];
		uint64_t *after = b->plan->pages_after + i * k;

		if (d->pages_to == NP_NODE_NONE && d->spread == NP_NODE_NONE) {
			memcpy(after, t->pages, k * sizeof(*after));
			continue;
		}
		if (d->pages_to != NP_NODE_NONE)
			send_to(b->m, t, d, sum_of(t->pages, k), after);
		else
			spread_over(b->m, t, b->plan->spread + (size_t)d->spread * k,
				    sum_of(t->pages, k), after);
		for (size_t node = 0; node < k; node++)
			b->excess[node] += (int64_t)(after[node] - t->pages[node]);
	}
}

/* Leaves take pages of task i where they are instead of sending them to node. */
static void give_way(struct books *b, size_t i, size_t node, uint64_t take)
{
	size_t k = b->m->n_nodes;
	uint64_t *after = b->plan->pages_after + i * k;

	after[node] -= take;
	b->excess[node] -= (int64_t)take;
	for (size_t from = 0; take && from < k; from++) {
		uint64_t before = b->tasks[i].pages[from], part;

		if (from == node || after[from] >= before)
			continue;
		part = before - after[from] < take ? before - after[from] : take;
		after[from] += part;
		b->excess[from] += (int64_t)part;
		take -= part;
	}
}

static bool relieve(struct books *b, const size_t *order)
{
	size_t k = b->m->n_nodes;
	bool again = false;

	for (size_t at = b->plan->n; at-- > 0;) {
		size_t i = order[at];
		const uint64_t *after = b->plan->pages_after + i * k, *before = b->tasks[i].pages;

		for (size_t node = 0; node < k; node++) {
			uint64_t arrive = after[node] > before[node] ? after[node] - before[node] :
								       0;

			if (b->excess[node] <= 0 || !arrive)
				continue;
			give_way(b, i, node,
				 (uint64_t)b->excess[node] < arrive ? (uint64_t)b->excess[node] :
								      arrive);
			again = true;
		}
	}
	return again;
}

static bool overfilled(const struct books *b)
{
	for (size_t node = 0; node < b->m->n_nodes; node++)
		if (b->excess[node] > 0)
			return true;
	return false;
}

/*
 * Tasks of low penalty first, until every node can hold what comes to it. What
 * one task leaves may overfill the node that it did not leave, hence the rounds.
 */
static int cut_to_fit(struct books *b)
{
	size_t rounds = ROUNDS_A_NODE * b->m->n_nodes;
	size_t *order;

	if (!overfilled(b))
		return 0;
	order = malloc((b->plan->n + 1) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	np_plan_by_penalty(b->plan, order);
	while (rounds && relieve(b, order))
		rounds--;
	if (overfilled(b))
		for (size_t i = 0; i < b->plan->n; i++)
			memcpy(b->plan->pages_after + i * b->m->n_nodes, b->tasks[i].pages,
			       b->m->n_nodes * sizeof(*b->tasks[i].pages));
	free(order);
	return 0;
}

/* Pages that would move if every node had room. */
static uint64_t pages_wanted(const struct books *b, size_t i)
{
	const struct np_decision *d = &b->plan->decision[i];
	const struct np_task *t = &b->tasks[i];
	size_t k = b->m->n_nodes;
	uint64_t after[k], all = sum_of(t->pages, k), wanted = 0;

	if (d->pages_to != NP_NODE_NONE)
		send_to(b->m, t, d, all, after);
	else
		spread_over(b->m, t, b->plan->spread + (size_t)d->spread * k, all, after);
	for (size_t node = 0; node < k; node++)
		wanted += after[node] > t->pages[node] ? after[node] - t->pages[node] : 0;
	return wanted;
}

static void count_pages(const struct books *b, double rate_mib)
{
	size_t k = b->m->n_nodes;

	for (size_t i = 0; i < b->plan->n; i++) {
		struct np_decision *d = &b->plan->decision[i];
		const uint64_t *after = b->plan->pages_after + i * k;

		d->pages_to_move = 0;
		if (d->pages_to == NP_NODE_NONE && d->spread == NP_NODE_NONE)
			continue;
		for (size_t node = 0; node < k; node++)
			if (after[node] > b->tasks[i].pages[node])
				d->pages_to_move += after[node] - b->tasks[i].pages[node];
		d->cost = (double)d->pages_to_move * (double)b->m->page_size /
			  (rate_mib * 1024 * 1024);
	}
}

static void say_what_stays(const struct books *b)
{
	for (size_t i = 0; i < b->plan->n; i++) {
		struct np_decision *d = &b->plan->decision[i];

		if (d->pages_to == NP_NODE_NONE && d->spread == NP_NODE_NONE)
			continue;
		if (d->pages_to_move < pages_wanted(b, i))
			np_reason_more(d, "; memory for %llu of its pages",
				       (unsigned long long)d->pages_to_move);
	}
}

int np_plan_pages(const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan,
		  double rate_mib)
{
	struct books b = { m, tasks, plan, calloc(m->n_nodes, sizeof(*b.excess)) };
	bool short_of_room;
	int e;

	if (!b.excess)
		return -ENOMEM;
	want_all_pages(&b);
	short_of_room = overfilled(&b);
	e = cut_to_fit(&b);
	free(b.excess);
	if (e)
		return e;
	count_pages(&b, rate_mib);
	if (short_of_room)
		say_what_stays(&b);
	return np_plan_gain(m, tasks, plan);
}
