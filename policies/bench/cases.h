/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines and tasks from a seeded generator, for benchmarks and properties. */
#ifndef NUMAPLACE_BENCH_CASES_H
#define NUMAPLACE_BENCH_CASES_H

#include "../model/model.h"
#include "../plan/plan.h"

struct bench_case {
	struct np_machine m;
	struct np_model model;
	struct np_task *task; /* [n] */
	size_t n;
	uint64_t *pages; /* [n * m.n_nodes] */
	uint64_t state;	 /* of the generator */
};

/* Whole numbers from 0 to limit - 1, and fractions of [low, high). */
uint64_t bench_below(struct bench_case *c, uint64_t limit);
double bench_between(struct bench_case *c, double low, double high);

/*
 * A machine of k nodes and n tasks that fit on it. Its model is like
 * those of real machines: a controller that two to four streams fill, links
 * that carry a part of that; or derived from the distances.
 */
void bench_case_make(struct bench_case *c, size_t k, size_t n, bool derived, uint64_t seed);
void bench_case_free(struct bench_case *c);

#endif
