// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the allocations of every policy's plan for 100 and for 3,000 tasks: there
 * are no more for more tasks. Linked so that malloc() and the like are wrapped here.
 */
#include "cases.h"

#define NODES  4
#define GROWTH 8 /* doublings of an array that grows by doubling */

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	allocations++;
	return __real_realloc(old, size);
}

static size_t count(const struct np_policy *p, size_t n)
{
	struct bench_case c;
	struct np_options o;
	struct np_plan plan;
	size_t before;

	bench_case_make(&c, NODES, n, true, n);
	np_options_defaults(p, &o);
	if (np_plan_init(&plan, &c.m, n))
		abort();
	before = allocations;
	if (np_policy_plan(p, &c.m, c.task, n, &o, &plan))
		abort();
	before = allocations - before;
	np_plan_free(&plan);
	bench_case_free(&c);
	return before;
}

int main(void)
{
	bool good = true;

	printf("%-14s %12s %12s\n", "allocations", "100 tasks", "3000 tasks");
	for (size_t i = 0; np_policies[i]; i++) {
		size_t few = count(np_policies[i], 100), many = count(np_policies[i], 3000);

		printf("%-14s %12zu %12zu\n", np_policies[i]->name, few, many);
		good &= many <= few + GROWTH && few > 0;
	}
	return good ? 0 : 1;
}
