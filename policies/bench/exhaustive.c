// SPDX-License-Identifier: GPL-2.0-only
#include "exhaustive.h"

enum freedom exhaustive_freedom(size_t n, size_t k, double limit)
{
	size_t split = k * (1 + k + (NP_QUARTERS - 1) * k), anywhere = k * (1 + k);

	if (pow((double)split, (double)n) <= limit)
		return PAGES_SPLIT;
	return pow((double)anywhere, (double)n) <= limit ? PAGES_ANYWHERE : PAGES_FOLLOW;
}

static bool allowed(const struct np_search *s, struct np_spot spot, enum freedom freedom)
{
	(void)s;
	if (spot.node == NP_NODE_NONE)
		return false;
	switch (freedom) {
	case PAGES_FOLLOW:
		return spot.a == spot.node && spot.on_a == NP_QUARTERS;
	case PAGES_ANYWHERE:
		return spot.a == NP_NODE_NONE || spot.on_a == NP_QUARTERS;
	case PAGES_SPLIT:
		return spot.a == NP_NODE_NONE || spot.on_a == NP_QUARTERS || spot.a != spot.b;
	}
	return false;
}

static double try_all(struct np_search *s, size_t i, enum freedom freedom, double best)
{
	struct np_spot spot, first;

	if (i == s->n)
		return fmax(best, np_search_score(s, false));
	first = s->spot[i];
	for (size_t number = 0; np_search_spot(s, i, number, &spot); number++) {
		if (!allowed(s, spot, freedom) ||
		    (spot.node != first.node &&
		     s->busy[spot.node] + s->tasks[i].cores > s->m->node[spot.node].cpus))
			continue;
		np_search_put_back(s, i, spot);
		best = try_all(s, i + 1, freedom, best);
		np_search_put_back(s, i, first);
	}
	return best;
}

double exhaustive_best(struct np_search *s, enum freedom freedom)
{
	for (size_t i = 0; i < s->n; i++)	/* nobody in the way of those that come first */
		np_search_put_back(s, i, (struct np_spot) {
			NP_NODE_NONE, NP_NODE_NONE, NP_NODE_NONE, 0 });
	np_search_score(s, true);
	return try_all(s, 0, freedom, -INFINITY);
}
