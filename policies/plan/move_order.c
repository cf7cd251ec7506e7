// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order of page moves in which no node ever holds more than it can.
 *
 * Every decision's moves are listed, then simulated: a move is made
 * whole where its target has room, those from the most crowded nodes first;
 * where none fits whole, one is made in part, which makes room for others.
 */
#include <errno.h>

#include "pages.h"
#include "plan.h"

/* Parts of a move smaller than this are not worth a call: 1 MiB of 4 KiB pages. */
#define SMALLEST_PART 256

struct ledger {
	const struct np_machine *m;
	struct np_plan *plan;
	struct np_page_move *left; /* [n_left] still to be made */
	size_t n_left, room_moves;
	uint64_t *room;	  /* [n_nodes] pages that fit now */
	uint64_t *coming; /* [n_nodes] pages still to come */
};

static int add(struct np_page_move **move, size_t *n, size_t *room, struct np_page_move one)
{
	if (*n == *room) {
		size_t more = *room ? *room * 2 : 64;
		struct np_page_move *bigger = realloc(*move, more * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		*move = bigger;
		*room = more;
	}
	(*move)[(*n)++] = one;
	return 0;
}

/* Pairs the nodes that task i leaves with those that it comes to, both by index. */
static int list_task(struct ledger *l, const struct np_task *t, size_t i, size_t *room)
{
	size_t k = l->m->n_nodes, from = 0;
	const uint64_t *after = l->plan->pages_after + i * k;
	uint64_t taken = 0;

	for (size_t to = 0; to < k; to++) {
		uint64_t need = after[to] > t->pages[to] ? after[to] - t->pages[to] : 0;

		l->coming[to] += need;
		while (need) {
			uint64_t there = t->pages[from] > after[from] ?
						 t->pages[from] - after[from] - taken :
						 0,
				 part;

			if (!there) {
				from++;
				taken = 0;
				continue;
			}
			part = there < need ? there : need;
			if (add(&l->left, &l->n_left, room,
				(struct np_page_move) { i, (int)from, (int)to, part }))
				return -ENOMEM;
			taken += part;
			need -= part;
		}
	}
	return 0;
}

static int make(struct ledger *l, struct np_page_move *move, uint64_t pages)
{
	struct np_plan *plan = l->plan;
	struct np_page_move one = *move;

	one.pages = pages;
	move->pages -= pages;
	l->room[move->to] -= pages;
	l->room[move->from] += pages;
	l->coming[move->to] -= pages;
	if (plan->n_moves) {
		struct np_page_move *last = &plan->move[plan->n_moves - 1];

		if (last->task == one.task && last->from == one.from && last->to == one.to) {
			last->pages += pages;
			return 0;
		}
	}
	return add(&plan->move, &plan->n_moves, &l->room_moves, one);
}

/* True when more pages come to the node than it has room for: pages that leave it go first. */
static bool crowded(const struct ledger *l, int node)
{
	return l->coming[node] > l->room[node];
}

enum kind { FROM_CROWDED, WHOLE, PART };

static uint64_t amount(const struct ledger *l, const struct np_page_move *move, enum kind kind)
{
	uint64_t room = l->room[move->to];

	if (move->pages <= room)
		return kind == FROM_CROWDED && !crowded(l, move->from) ? 0 : move->pages;
	return kind == PART && room >= SMALLEST_PART ? room : 0;
}

/* Goes once over what is left; only one move is made in part. */
static int pass(struct ledger *l, enum kind kind, bool *any)
{
	size_t kept = 0;
	int e = 0;

	*any = false;
	for (size_t i = 0; i < l->n_left; i++) {
		struct np_page_move *move = &l->left[i];
		uint64_t pages = !e && !(kind == PART && *any) ? amount(l, move, kind) : 0;

		if (pages) {
			e = make(l, move, pages);
			*any = true;
		}
		if (move->pages)
			l->left[kept++] = *move;
	}
	l->n_left = kept;
	return e;
}

static int make_all(struct ledger *l)
{
	enum kind kind = FROM_CROWDED;
	bool any;
	int e = 0;

	while (!e && l->n_left && kind <= PART) {
		e = pass(l, kind, &any);
		kind = any ? FROM_CROWDED : kind + 1;
	}
	return e;
}

/* Pages that cannot move stay in the plan on their node. */
static void give_up(struct ledger *l)
{
	struct np_plan *plan = l->plan;

	for (size_t i = 0; i < l->n_left; i++) {
		const struct np_page_move *move = &l->left[i];
		struct np_decision *d = &plan->decision[move->task];
		uint64_t *after = plan->pages_after + move->task * l->m->n_nodes;

		after[move->to] -= move->pages;
		after[move->from] += move->pages;
		d->cost *= 1 - (double)move->pages / (double)d->pages_to_move;
		d->pages_to_move -= move->pages;
		plan->unordered += move->pages;
		np_reason_more(d, "; node %d is so full that %llu pages have no way in",
			       l->m->node[move->to].id, (unsigned long long)move->pages);
	}
}

int np_plan_order(struct np_plan *plan, const struct np_machine *m, const struct np_task *tasks)
{
	size_t k = m->n_nodes, room_left = 0;
	struct ledger l = { .m = m, .plan = plan };
	int e = -ENOMEM;

	free(plan->move);
	plan->move = NULL;
	plan->n_moves = 0;
	plan->unordered = 0;
	l.room = calloc(k, sizeof(*l.room));
	l.coming = calloc(k, sizeof(*l.coming));
	if (l.room && l.coming) {
		e = 0;
		for (size_t node = 0; node < k; node++)
			l.room[node] = m->node[node].has_memory ?
					       m->node[node].mem_free / m->page_size :
					       0;
		for (size_t i = 0; !e && i < plan->n; i++)
			if (plan->decision[i].pages_to_move)
				e = list_task(&l, &tasks[i], i, &room_left);
		if (!e)
			e = make_all(&l);
		if (!e && l.n_left) {
			give_up(&l);
			e = np_plan_gain(m, tasks, plan);
		}
	}
	free(l.left);
	free(l.room);
	free(l.coming);
	return e;
}
