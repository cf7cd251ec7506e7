// SPDX-License-Identifier: GPL-2.0-only
/* The best placement there is, found by trying every one. */
#include "search.h"

static double ways_of_a_task(enum np_page_freedom freedom, double k)
{
	switch (freedom) {
	case NP_FREE_TO_RUN:
	case NP_FREE_TO_FOLLOW:
		return k;
	case NP_FREE_TO_MOVE:
		return k * (1 + k);
	case NP_FREE_TO_SPLIT:
		return k * (1 + k + (NP_QUARTERS - 1) * k);
	}
	return INFINITY;
}

double np_search_placements(size_t n, size_t k, enum np_page_freedom freedom)
{
	return pow(ways_of_a_task(freedom, (double)k), (double)n);
}

static bool allowed(struct np_placement_choice choice, enum np_page_freedom freedom)
{
	bool whole = choice.a == NP_NODE_NONE || choice.on_a == NP_QUARTERS;

	if (choice.node == NP_NODE_NONE || choice.row != NP_NODE_NONE)
		return false;
	switch (freedom) {
	case NP_FREE_TO_RUN:
		return choice.a == NP_NODE_NONE;
	case NP_FREE_TO_FOLLOW:
		return choice.a == choice.node && whole;
	case NP_FREE_TO_MOVE:
		return whole;
	case NP_FREE_TO_SPLIT:
		return whole || choice.a != choice.b;
	}
	return false;
}

static void try_all(struct np_search *s, size_t i, enum np_page_freedom freedom)
{
	struct np_placement_choice choice, first;

	if (i == s->n) {
		np_search_keep(s, np_search_score(s, false));
		return;
	}
	first = s->choice[i];
	for (size_t number = 0; np_search_choice(s, i, number, &choice); number++) {
		if (!allowed(choice, freedom) || !np_search_put(s, i, choice))
			continue;
		try_all(s, i + 1, freedom);
		np_search_put_back(s, i, first);
	}
}

void np_search_exhaustive(struct np_search *s, enum np_page_freedom freedom)
{
	s->best_score = -INFINITY;
	for (size_t i = 0; i < s->n; i++) /* unplaced: takes no room from those placed first */
		np_search_put_back(s, i, np_choice_stay(NP_NODE_NONE));
	np_search_score(s, true);
	try_all(s, 0, freedom);
	np_search_return(s);
}
