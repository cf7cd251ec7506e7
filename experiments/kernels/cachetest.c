// SPDX-License-Identifier: GPL-2.0-only
/*
 * The patterns of Heard and Shafiee on one element per cache line. Each
 * element names the next one of the backbone: its neighbour (sequential), or
 * the next of one random cycle (uniform, zipf). With zipf an element also has
 * a number n, and before the backbone is followed the first n elements are
 * read in their order: the popular ones are those at the beginning. An
 * iteration is one step of the backbone, as in the paper; what is counted are
 * accesses, because with a small alpha one step of zipf is a hundred thousand
 * of them and the next one two.
 */
#include "emit.h"
#include "random.h"
#include "worker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 4096		/* between two looks at the clock */
#define ZIPF_ACCESSES 65536	/* the same; a step of zipf may be many accesses */

struct element {
	struct element *next;
	uint64_t prefix;	/* elements to read from the beginning first */
	uint64_t value;
	char rest[NP_LINE - 3 * sizeof(uint64_t)];
};

/* What the elements of a slice must hold, made anew from the seed. */
struct plan {
	uint32_t *next, *prefix;
};

static bool is_pattern(const struct np_worker *w, const char *name)
{
	return !strcmp(w->choice.pattern, name);
}

static int choose(struct np_worker *w)
{
	if (!is_pattern(w, "sequential") && !is_pattern(w, "uniform") && !is_pattern(w, "zipf"))
		return np_fail("--pattern %s: needs sequential, uniform or zipf", w->choice.pattern);
	if (w->bytes / NP_LINE > UINT32_MAX)
		return np_fail("--size: cachetest takes at most %llu lines", (1ULL << 32) - 1);
	return 0;
}

static uint64_t value_of(size_t i)
{
	return (uint64_t)(i + 1) * 0x9e3779b97f4a7c15;
}

/* Sattolo: one cycle through all of them. */
static void random_cycle(uint32_t *next, size_t n, struct np_random *random)
{
	for (size_t i = 0; i < n; i++)
		next[i] = i;
	for (size_t i = n - 1; i; i--) {
		size_t j = np_random_below(random, i);
		uint32_t kept = next[i];

		next[i] = next[j];
		next[j] = kept;
	}
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

static void plan_free(struct plan *p)
{
	free(p->next);
	free(p->prefix);
}

static int plan_make(const struct np_slice *s, struct plan *p)
{
	struct np_random random = np_random_from(s->w->choice.seed + s->number);
	size_t n = s->lines;
	int err = 0;

	p->next = malloc(n * sizeof(*p->next));
	p->prefix = calloc(n, sizeof(*p->prefix));
	if (!p->next || !p->prefix)
		err = -1;
	else if (is_pattern(s->w, "sequential"))
		for (size_t i = 0; i < n; i++)
			p->next[i] = (i + 1) % n;
	else
		random_cycle(p->next, n, &random);
	if (!err && is_pattern(s->w, "zipf"))
		err = zipf_prefixes(p->prefix, n, s->w->choice.alpha, &random);
	if (err)
		plan_free(p);
	return err;
}

static struct element *elements_of(const struct np_slice *s)
{
	return (struct element *)np_slice_start(s, s->w->array[0]);
}

static int fill(struct np_slice *s)
{
	struct element *e = elements_of(s);
	struct plan p;

	if (plan_make(s, &p))
		return -ENOMEM;
	for (size_t i = 0; i < s->lines; i++) {
		e[i].next = e + p.next[i];
		e[i].prefix = p.prefix[i];
		e[i].value = value_of(i);
	}
	plan_free(&p);
	s->at = e;
	return 0;
}

static uint64_t walk(struct np_slice *s)
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

static uint64_t walk_zipf(struct np_slice *s)
{
	const struct element *at = s->at, *first = elements_of(s);
	uint64_t sum = s->sum, accesses = 0, steps = 0;

	for (; accesses < ZIPF_ACCESSES; steps++) {
		for (uint64_t i = 0; i < at->prefix; i++)
			sum += first[i].value;
		accesses += at->prefix + 1;
		sum += at->value;
		at = at->next;
	}
	s->at = (void *)at;
	s->sum = sum;
	s->weighted += steps;
	return accesses;
}

static uint64_t pass(struct np_slice *s)
{
	return is_pattern(s->w, "zipf") ? walk_zipf(s) : walk(s);
}

static uint64_t steps_of(const struct np_slice *s)
{
	return is_pattern(s->w, "zipf") ? s->weighted : s->operations;
}

/* Whether the sum and the end of the walk are those of so many steps over what was planned. */
static bool walk_is_right(const struct np_slice *s, const struct plan *p)
{
	uint64_t *first = calloc(s->lines + 1, sizeof(*first));	/* sums of the first n values */
	uint64_t rounds = steps_of(s) / s->lines, left = steps_of(s) % s->lines;
	uint64_t sum = 0, of_left = 0;
	size_t at = 0, end = 0;
	bool right;

	if (!first)
		return false;
	for (size_t i = 0; i < s->lines; i++)
		first[i + 1] = first[i] + value_of(i);
	for (uint64_t step = 0; step < s->lines; step++) {
		if (step == left) {
			of_left = sum;
			end = at;
		}
		sum += value_of(at) + first[p->prefix[at]];
		at = p->next[at];
	}
	right = s->sum == rounds * sum + of_left && s->at == elements_of(s) + end;
	free(first);
	return right;
}

static size_t errors(struct np_slice *s)
{
	const struct element *e = elements_of(s);
	size_t wrong = 0;
	struct plan p;

	if (plan_make(s, &p))
		return s->lines;	/* what cannot be checked is not right */
	for (size_t i = 0; i < s->lines; i++)
		wrong += e[i].next != e + p.next[i] || e[i].prefix != p.prefix[i] ||
			 e[i].value != value_of(i);
	wrong += !walk_is_right(s, &p);
	plan_free(&p);
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

/* The sets are about as large as the caches: what comes from memory is the question. */
static double bus(const struct np_worker *w)
{
	(void)w;
	return NP_NO_ESTIMATE;
}

const struct np_kernel np_cachetest = {
	.name = "cachetest", .summary = "sequential, uniform random or Zipf, one element a line",
	.operation = "access", .arrays = 1, .choose = choose,
	.fill = fill, .pass = pass, .errors = errors, .credited = credited, .bus = bus,
	.per_iteration = accesses_per_iteration,
};
