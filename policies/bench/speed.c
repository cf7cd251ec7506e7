// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU time of each policy for a plan of 16 to MOST tasks on 64 nodes, and its growth. Fails when
 * one takes longer than promised.
 *
 *	speed [MOST]
 */
#include <time.h>

#include "cases.h"

#define NODES  64
#define ROUNDS 3

static const size_t sizes[] = { 16, 256, 1000, 10000, 100000, 1000000 };

/* Milliseconds of CPU, up to 256 tasks and for 10,000; the policy measured searches. */
#define PROMISED_SMALL	  100
#define PROMISED_LARGE	  200
#define PROMISED_MEASURED 1000

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The shortest of some rounds: disturbances only add time. */
static double plan_ms(const struct np_policy *p, struct bench_case *c, struct np_plan *plan)
{
	struct np_options o;
	double best = INFINITY;

	np_options_defaults(p, &o);
	for (int round = 0; round < (c->n > 100000 ? 1 : ROUNDS); round++) {
		double began = cpu_ms();

		if (np_policy_plan(p, &c->m, c->task, c->n, &o, plan))
			abort();
		best = fmin(best, cpu_ms() - began);
	}
	return best;
}

static bool kept(const char *policy, size_t n, double ms)
{
	double promised = !strcmp(policy, "measured") ? PROMISED_MEASURED :
			  n <= 256		      ? PROMISED_SMALL :
							PROMISED_LARGE;

	if (n > 10000 || ms <= promised)
		return true;
	fprintf(stderr,
		"speed: policy %s took %.0f ms for %zu tasks on %d nodes, promised are %.0f\n",
		policy, ms, n, NODES, promised);
	return false;
}

int main(int argc, char **argv)
{
	size_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	double last[32] = { 0 };
	bool good = true;

	printf("CPU milliseconds to plan, %d nodes; in brackets the time / the time of a tenth of "
	       "the tasks\n%-14s",
	       NODES, "tasks");
	for (size_t i = 0; np_policies[i]; i++)
		printf(" %15s", np_policies[i]->name);
	for (size_t row = 0; row < sizeof(sizes) / sizeof(*sizes) && sizes[row] <= most; row++) {
		size_t n = sizes[row];
		struct bench_case c;
		struct np_plan plan;

		bench_case_make(&c, NODES, n, true, n);
		if (np_plan_init(&plan, &c.m, n))
			abort();
		/* Touches the memory: not the first policy's cost. */
		plan_ms(np_policies[0], &c, &plan);
		printf("\n%-14zu", n);
		for (size_t i = 0; np_policies[i]; i++) {
			double ms = plan_ms(np_policies[i], &c, &plan);

			if (n > 1000)
				printf(" %8.1f (%4.1f)", ms, ms / last[i]);
			else
				printf(" %8.1f       ", ms);
			fflush(stdout);
			last[i] = ms;
			good &= kept(np_policies[i]->name, n, ms);
		}
		np_plan_free(&plan);
		bench_case_free(&c);
	}
	printf("\n");
	return good ? 0 : 1;
}
