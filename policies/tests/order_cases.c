// SPDX-License-Identifier: GPL-2.0-only
/* np_plan_order(): its moves are replayed, page by page counted. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define ROUNDS 2000

static struct fixture f;

static uint64_t state;

static uint64_t random_below(uint64_t limit)
{
	return fixture_random(&state) % limit;
}

static void free_pages(struct fixture *f, size_t node, uint64_t pages)
{
	f->node[node].mem_free = pages * f->m.page_size;
}

static void add(struct fixture *f, int node, uint64_t pages)
{
	f->pages[f->n][node] = pages;
	fixture_task(f, node, 1.5, UNKNOWN);
}

/* Every task's pages all go to the node of that index. */
static void wanted(struct fixture *f, const int *to)
{
	size_t k = f->m.n_nodes;

	CU_ASSERT_EQUAL_FATAL(fixture_plan(f, "none", NULL), 0);
	for (size_t i = 0; i < f->n; i++) {
		uint64_t *after = f->after + i * k;

		f->decision[i].pages_to = to[i];
		f->decision[i].pages_to_move = fixture_pages(f, i) - f->pages[i][to[i]];
		memset(after, 0, k * sizeof(*after));
		after[to[i]] = fixture_pages(f, i);
	}
}

/* True when no step overfills its node and the last one leaves the plan's pages_after. */
static bool replay(const struct fixture *f)
{
	uint64_t now[MAX_TASKS][MAX_NODES], room[MAX_NODES];
	size_t k = f->m.n_nodes;

	memcpy(now, f->pages, sizeof(now));
	for (size_t node = 0; node < k; node++)
		room[node] = f->node[node].mem_free / f->m.page_size;
	for (size_t at = 0; at < f->plan.n_moves; at++) {
		const struct np_page_move *move = &f->plan.move[at];

		if (!move->pages || move->pages > room[move->to] ||
		    move->pages > now[move->task][move->from])
			return false;
		room[move->to] -= move->pages;
		room[move->from] += move->pages;
		now[move->task][move->from] -= move->pages;
		now[move->task][move->to] += move->pages;
	}
	for (size_t i = 0; i < f->n; i++)
		if (memcmp(now[i], f->after + i * k, k * sizeof(**now)))
			return false;
	return true;
}

static void order(struct fixture *f)
{
	CU_ASSERT_EQUAL_FATAL(np_plan_order(&f->plan, &f->m, f->task), 0);
	CU_ASSERT_TRUE(replay(f));
}

static void done(struct fixture *f)
{
	free(f->plan.move);
	f->plan.move = NULL;
}

TEST(who_makes_room_goes_first)
{
	fixture_machine(&f, 2, 4);
	add(&f, 0, 1000);
	add(&f, 1, 600);
	free_pages(&f, 0, 700);
	free_pages(&f, 1, 500);
	wanted(&f, (const int[]) { 1, 0 });
	order(&f);
	CU_ASSERT_EQUAL_FATAL(f.plan.n_moves, 2);
	CU_ASSERT_EQUAL(f.plan.move[0].task, 1);
	CU_ASSERT_EQUAL(f.plan.move[1].pages, 1000);
	done(&f);
}

/* 0 -> 1 -> 2 -> 0, with room on one node only. */
TEST(a_cycle_starts_where_there_is_room)
{
	fixture_machine(&f, 3, 4);
	for (int node = 0; node < 3; node++) {
		add(&f, node, 1000);
		free_pages(&f, (size_t)node, node ? 0 : 400);
	}
	wanted(&f, (const int[]) { 1, 2, 0 });
	order(&f);
	CU_ASSERT_EQUAL(f.plan.unordered, 0);
	CU_ASSERT_EQUAL(f.plan.move[0].task, 2);
	CU_ASSERT_EQUAL(f.after[1], 1000);
	done(&f);
}

TEST(full_nodes_keep_what_they_have)
{
	fixture_machine(&f, 2, 4);
	add(&f, 0, 1000);
	add(&f, 1, 1000);
	free_pages(&f, 0, 0);
	free_pages(&f, 1, 0);
	wanted(&f, (const int[]) { 1, 0 });
	order(&f);
	CU_ASSERT_EQUAL(f.plan.unordered, 2000);
	CU_ASSERT_EQUAL(f.plan.n_moves, 0);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
	CU_ASSERT_EQUAL(f.after[0], 1000);
	CHECK_REASON(&f, 0, "node 1 is so full that 1000 pages have no way in");
	done(&f);
}

/* All pages of a task dealt anew over the nodes, which may be more than they hold. */
static void random_wish(struct fixture *f, size_t i)
{
	uint64_t left = fixture_pages(f, i), *after = f->after + i * f->m.n_nodes;

	f->decision[i].pages_to_move = 0;
	for (size_t node = 0; node < f->m.n_nodes; node++) {
		after[node] = node + 1 == f->m.n_nodes ? left : random_below(left + 1);
		left -= after[node];
		if (after[node] > f->pages[i][node])
			f->decision[i].pages_to_move += after[node] - f->pages[i][node];
	}
}

TEST(no_order_overfills_a_node)
{
	size_t ordered = 0, given_up = 0;

	state = 11;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t wish = 0, made = 0;

		fixture_machine(&f, 2 + random_below(MAX_NODES - 1), 4);
		for (size_t node = 0; node < f.m.n_nodes; node++)
			free_pages(&f, node, random_below(3) ? random_below(4000) : 0);
		for (size_t n = 1 + random_below(12); f.n < n;) {
			for (size_t node = 0; node < f.m.n_nodes; node++)
				f.pages[f.n][node] = random_below(2000);
			fixture_task(&f, 0, 1.5, UNKNOWN);
		}
		CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "none", NULL), 0);
		for (size_t i = 0; i < f.n; i++) {
			random_wish(&f, i);
			wish += f.decision[i].pages_to_move;
		}
		CU_ASSERT_EQUAL_FATAL(np_plan_order(&f.plan, &f.m, f.task), 0);
		CU_ASSERT_TRUE_FATAL(replay(&f));
		for (size_t at = 0; at < f.plan.n_moves; at++)
			made += f.plan.move[at].pages;
		CU_ASSERT_EQUAL_FATAL(made + f.plan.unordered, wish);
		ordered += !f.plan.unordered;
		given_up += f.plan.unordered > 0;
		done(&f);
	}
	CU_ASSERT(ordered > ROUNDS / 20 && given_up > ROUNDS / 20);
}
