// SPDX-License-Identifier: GPL-2.0-only
/*
 * The patterns of Heard and Shafiee on one element per cache line. After an
 * element comes its neighbour (sequential), or any element with the same
 * chance (uniform, zipf), as section III.B defines it. With zipf an element
 * also has a number n, and before the next is drawn the first n elements are
 * read in their order: the popular ones are those at the beginning. An
 * iteration is one step of that backbone, as in the paper; what is counted are
 * accesses, because with a small alpha one step of zipf is a hundred thousand
 * of them and the next one two.
 *
 * The paper draws before the walk, into an array; here each step draws, a few
 * instructions: the array would compete with the elements for the caches.
 */
#include "../emit.h"
#include "random.h"
#include "worker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS	      4096  /* between two looks at the clock */
#define ZIPF_ACCESSES 65536 /* the same; a step of zipf may be many accesses */

struct element {
	struct element
		*next;	 /* sequential; else NULL, for which the next draw waits as a chase would */
	uint64_t prefix; /* elements to read from the beginning first */
	uint64_t value;
	char rest[NP_LINE - 3 * sizeof(uint64_t)];
};

static bool is_pattern(const struct np_worker *w, const char *name)
{
	return !strcmp(w->choice.pattern, name);
}

static int choose(struct np_worker *w)
{
	if (!is_pattern(w, "sequential") && !is_pattern(w, "uniform") && !is_pattern(w, "zipf"))
		return np_fail("--pattern %s: needs sequential, uniform or zipf",
			       w->choice.pattern);
	if (w->bytes / NP_LINE > UINT32_MAX)
		return np_fail("--size: cachetest takes at most %llu lines", (1ULL << 32) - 1);
	return 0;
}

static uint64_t value_of(size_t i)
{
	return (uint64_t)(i + 1) * 0x9e3779b97f4a7c15;
}

/* 1 to n - 1 with probability in proportion to value ^ -alpha. 0 or -1. */
static int zipf_prefixes(uint32_t *prefix, size_t n, double alpha, struct np_random *random)
{
	size_t most = n > 1 ? n - 1 : 1, low, high, middle;
	double *until = malloc(most * sizeof(*until)), sum = 0, wanted;

	if (!until)
		return -1;
	for (size_t k = 0; k < most; k++)
		until[k] = sum += pow(k + 1, -alpha);
	for (size_t i = 0; i < n; i++) {
		wanted = np_random_unit(random) * sum;
		for (low = 0, high = most - 1; low < high;) {
			middle = (low + high) / 2;
			if (until[middle] > wanted)
				high = middle;
			else
				low = middle + 1;
		}
		prefix[i] = low + 1;
	}
	free(until);
	return 0;
}

static struct np_random prefix_numbers(const struct np_slice *s)
{
	return np_random_from(s->w->choice.seed + s->number);
}

static struct np_random walk_numbers(const struct np_slice *s)
{
	return np_random_from(~(s->w->choice.seed + s->number));
}

/* Numbers of the slice's elements, made anew from the seed; NULL without memory for them. */
static uint32_t *prefixes_of(const struct np_slice *s)
{
	struct np_random random = prefix_numbers(s);
	uint32_t *prefix = calloc(s->lines, sizeof(*prefix));

	if (prefix && is_pattern(s->w, "zipf") &&
	    zipf_prefixes(prefix, s->lines, s->w->choice.alpha, &random)) {
		free(prefix);
		return NULL;
	}
	return prefix;
}

static struct element *elements_of(const struct np_slice *s)
{
	return (struct element *)np_slice_start(s, s->w->array[0]);
}

static struct element *next_of(const struct np_slice *s, size_t i)
{
	return is_pattern(s->w, "sequential") ? elements_of(s) + (i + 1) % s->lines : NULL;
}

static int fill(struct np_slice *s)
{
	struct element *e = elements_of(s);
	uint32_t *prefix = prefixes_of(s);

	if (!prefix)
		return -ENOMEM;
	for (size_t i = 0; i < s->lines; i++) {
		e[i].next = next_of(s, i);
		e[i].prefix = prefix[i];
		e[i].value = value_of(i);
	}
	free(prefix);
	s->at = e;
	s->drawn = walk_numbers(s).state;
	return 0;
}

static uint64_t walk_sequential(struct np_slice *s)
{
	const struct element *at = s->at;
	uint64_t sum = s->sum;

	for (unsigned int i = 0; i < STEPS; i++) {
		sum += at->value;
		at = at->next;
	}
	s->at = (void *)at;
	s->sum = sum;
	return STEPS;
}

static const struct element *draw(const struct element *at, const struct element *first, size_t n,
				  struct np_random *random)
{
	random->state ^= (uintptr_t)at->next;
	return first + np_random_below(random, n);
}

static uint64_t walk_uniform(struct np_slice *s)
{
	const struct element *at = s->at, *first = elements_of(s);
	struct np_random random = { s->drawn };
	uint64_t sum = s->sum;

	for (unsigned int i = 0; i < STEPS; i++) {
		sum += at->value;
		at = draw(at, first, s->lines, &random);
	}
	s->at = (void *)at;
	s->sum = sum;
	s->drawn = random.state;
	return STEPS;
}

static uint64_t walk_zipf(struct np_slice *s)
{
	const struct element *at = s->at, *first = elements_of(s);
	uint64_t sum = s->sum, accesses = 0, steps = 0;
	struct np_random random = { s->drawn };

	for (; accesses < ZIPF_ACCESSES; steps++) {
		for (uint64_t i = 0; i < at->prefix; i++)
			sum += first[i].value;
		accesses += at->prefix + 1;
		sum += at->value;
		at = draw(at, first, s->lines, &random);
	}
	s->at = (void *)at;
	s->sum = sum;
	s->drawn = random.state;
	s->weighted += steps;
	return accesses;
}

static uint64_t pass(struct np_slice *s)
{
	return is_pattern(s->w, "zipf")	   ? walk_zipf(s) :
	       is_pattern(s->w, "uniform") ? walk_uniform(s) :
					     walk_sequential(s);
}

static uint64_t steps_of(const struct np_slice *s)
{
	return is_pattern(s->w, "zipf") ? s->weighted : s->operations;
}

/*
 * Sum of so many steps from the beginning, and where they end; first[n] is the sum of the first n
 * values.
 */
static uint64_t walked(const struct np_slice *s, const uint32_t *prefix, const uint64_t *first,
		       size_t *end)
{
	struct np_random random = walk_numbers(s);
	uint64_t steps = steps_of(s), sum = 0;
	size_t at = 0;

	if (is_pattern(s->w, "sequential")) {
		*end = steps % s->lines;
		return steps / s->lines * first[s->lines] + first[*end];
	}
	for (uint64_t step = 0; step < steps; step++) {
		sum += value_of(at) + first[prefix[at]];
		at = np_random_below(&random, s->lines);
	}
	*end = at;
	return sum;
}

static bool walk_is_right(const struct np_slice *s, const uint32_t *prefix)
{
	uint64_t *first = calloc(s->lines + 1, sizeof(*first));
	size_t end;
	bool right;

	if (!first)
		return false;
	for (size_t i = 0; i < s->lines; i++)
		first[i + 1] = first[i] + value_of(i);
	right = s->sum == walked(s, prefix, first, &end) && s->at == elements_of(s) + end;
	free(first);
	return right;
}

static size_t errors(struct np_slice *s)
{
	const struct element *e = elements_of(s);
	uint32_t *prefix = prefixes_of(s);
	size_t wrong = 0;

	if (!prefix)
		return s->lines; /* no memory for the check: all count as wrong */
	for (size_t i = 0; i < s->lines; i++)
		wrong += e[i].next != next_of(s, i) || e[i].prefix != prefix[i] ||
			 e[i].value != value_of(i);
	wrong += !walk_is_right(s, prefix);
	free(prefix);
	return wrong;
}

static double accesses_per_iteration(const struct np_worker *w)
{
	uint64_t lines = 0, prefixes = 0;

	for (unsigned int k = 0; k < w->threads; k++) {
		const struct element *e = elements_of(&w->slices[k]);

		for (size_t i = 0; i < w->slices[k].lines; i++)
			prefixes += e[i].prefix;
		lines += w->slices[k].lines;
	}
	return 1 + prefixes / (double)lines;
}

/* Bytes of an access: a value, and a pointer where it is a step. */
static double credited(const struct np_worker *w)
{
	return sizeof(uint64_t) * (1 + 1 / accesses_per_iteration(w));
}

const struct np_kernel np_cachetest = {
	.name = "cachetest",
	.summary = "sequential, uniform random or Zipf, one element a line",
	.operation = "access",
	.arrays = 1,
	.choose = choose,
	.fill = fill,
	.pass = pass,
	.errors = errors,
	.credited = credited,
	.bus_bytes =
		NP_NO_ESTIMATE, /* sets about as large as the caches: what comes from memory is the question */
	.per_iteration = accesses_per_iteration,
};
