// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares `measured` with the best placement on
 * random cases of up to 10 tasks on 2 to 4 nodes and up to 5 on 8.
 *
 *	quality [CASES [LIMIT [OBJECTIVE [FIRST]]]]
 *
 * LIMIT: placements to try of each case for more freedom than "pages follow".
 */
#include <time.h>

#include "../search/search.h"
#include "cases.h"

static const char *const freedom_name[] = {
	[NP_FREE_TO_FOLLOW] = "pages follow their task",
	[NP_FREE_TO_MOVE] = "pages stay or go to any node",
	[NP_FREE_TO_SPLIT] = "pages stay, go to any node, or split",
};

struct tally {
	size_t n, beaten, within;
	double worst, sum;
	uint64_t worst_case;
};

static double plan_score(struct bench_case *c, struct np_search *s, struct np_options *o)
{
	struct np_plan plan;
	double score;

	if (np_plan_init(&plan, &c->m, c->n) ||
	    np_policy_plan(&np_policy_measured, &c->m, c->task, c->n, o, &plan))
		abort();
	for (size_t i = 0; i < c->n; i++) {
		np_search_put_back(s, i, np_choice_of(s, i, &plan));
	}
	score = np_search_score(s, true);
	np_plan_free(&plan);
	return score;
}

/*
 * The most freedom with which no more than limit placements are to be tried, NP_FREE_TO_FOLLOW at
 * least.
 */
static enum np_page_freedom most_freedom(size_t n, size_t k, double limit)
{
	if (np_search_placements(n, k, NP_FREE_TO_SPLIT) <= limit)
		return NP_FREE_TO_SPLIT;
	return np_search_placements(n, k, NP_FREE_TO_MOVE) <= limit ? NP_FREE_TO_MOVE :
								      NP_FREE_TO_FOLLOW;
}

static void one_case(uint64_t seed, double limit, struct np_options *o, struct tally *tally)
{
	static const size_t nodes[] = { 2, 3, 4, 8 };
	size_t k = nodes[seed / 10 % 4], n = 1 + seed % (k == 8 ? 5 : 10);
	enum np_page_freedom freedom = most_freedom(n, k, limit);
	struct bench_case c;
	struct np_search s;
	struct np_plan plan;
	double mine, best, gap;

	bench_case_make(&c, k, n, false, seed);
	/* Decisions "leave alone", for the penalties. */
	if (np_plan_init(&plan, &c.m, n) ||
	    np_policy_plan(&np_policy_none, &c.m, c.task, n, o, &plan) ||
	    np_search_init(&s, &c.m, c.task, n, &plan))
		abort();
	np_measured_options(&s, o);
	s.budget = INFINITY;
	mine = plan_score(&c, &s, o);
	np_search_exhaustive(&s, freedom);
	best = s.best_score;
	gap = 1 - mine / best;
	tally = &tally[freedom];
	tally->n++;
	tally->sum += gap;
	tally->beaten += gap < -1e-6;
	tally->within += gap <= 0.01;
	if (gap > tally->worst) {
		tally->worst = gap;
		tally->worst_case = seed;
	}
	np_search_free(&s);
	np_plan_free(&plan);
	bench_case_free(&c);
}

int main(int argc, char **argv)
{
	uint64_t cases = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	uint64_t first = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	double limit = argc > 2 ? strtod(argv[2], NULL) : 60000;
	struct tally tally[NP_FREE_TO_SPLIT + 1] = { 0 };
	struct np_options o;
	char objective[64], err[200];
	bool good = true;

	snprintf(objective, sizeof(objective), "objective=%s", argc > 3 ? argv[3] : "throughput");
	np_options_defaults(&np_policy_measured, &o);
	if (np_options_set(&np_policy_measured, &o, objective, err, sizeof(err)) ||
	    np_options_set(&np_policy_measured, &o, "hysteresis=0", err, sizeof(err))) {
		fprintf(stderr, "quality: %s\n", err);
		return 2;
	}
	for (uint64_t seed = first; seed < first + cases; seed++)
		one_case(seed, limit, &o, tally);
	printf("measured (%s, hysteresis=0) beside the best of all placements, %llu cases of 1-10 "
	       "tasks on 2-4 nodes and of 1-5 on 8\n",
	       objective, (unsigned long long)cases);
	printf("%-38s %6s %10s %9s %9s %11s\n", "placements tried", "cases", "within 1 %",
	       "mean gap", "worst gap", "better than");
	for (size_t f = 0; f <= NP_FREE_TO_SPLIT; f++) {
		struct tally *t = &tally[f];

		if (!t->n)
			continue;
		printf("%-38s %6zu %10zu %8.3f %% %8.3f %% %6zu cases, worst is case %llu\n",
		       freedom_name[f], t->n, t->within, t->sum / (double)t->n * 100,
		       t->worst * 100, t->beaten, (unsigned long long)t->worst_case);
		good &= t->within == t->n;
	}
	return good ? 0 : 1;
}
