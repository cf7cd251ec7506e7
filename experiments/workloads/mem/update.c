// SPDX-License-Identifier: GPL-2.0-only
/* Adds 1 to random ints of an array. */
#include "random.h"
#include "worker.h"

static uint32_t *ints_of(const struct np_slice *s)
{
	return (uint32_t *)np_slice_start(s, s->w->array[0]);
}

static size_t count_of(const struct np_slice *s)
{
	return s->lines * (NP_LINE / sizeof(uint32_t));
}

static uint32_t first_value(size_t i)
{
	return (uint32_t)i * 2654435761u;
}

static int fill(struct np_slice *s)
{
	uint32_t *a = ints_of(s);

	for (size_t i = 0; i < count_of(s); i++)
		a[i] = first_value(i);
	return 0;
}

/* Of this thread, of a pass. */
static uint64_t accesses_of(const struct np_slice *s)
{
	uint64_t all = s->w->choice.accesses, share = all / s->w->threads;

	return share ? share : all ? 1 : count_of(s);
}

static uint64_t pass(struct np_slice *s)
{
	uint64_t accesses = accesses_of(s), n = count_of(s), numbers = 0;
	struct np_random random = np_random_from(s->w->choice.seed + s->number + (s->passes << 32));
	uint32_t *a = ints_of(s);

	for (uint64_t i = 0; i < accesses; i++) {
		uint64_t k = np_random_below(&random, n);

		a[k]++;
		numbers += k;
	}
	s->weighted += numbers;
	s->sum += accesses;
	s->passes++;
	return accesses;
}

/*
 * How often each int was added to, from what it holds now: the sum of that
 * must be the accesses, and weighted with its number the sum of all numbers.
 */
static size_t errors(struct np_slice *s)
{
	const uint32_t *a = ints_of(s);
	uint64_t sum = 0, weighted = 0;

	for (size_t i = 0; i < count_of(s); i++) {
		uint64_t times = (uint32_t)(a[i] - first_value(i));

		sum += times;
		weighted += times * i;
	}
	return (sum != s->sum) + (weighted != s->weighted);
}

const struct np_kernel np_update = {
	.name = "update",
	.summary = "adds 1 to random ints",
	.operation = "access",
	.arrays = 1,
	.fill = fill,
	.pass = pass,
	.errors = errors,
	.credited_bytes = 2 * sizeof(uint32_t),
	.bus_bytes = 2 * NP_LINE, /* in, and back */
};
