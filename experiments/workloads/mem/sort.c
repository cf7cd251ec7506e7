// SPDX-License-Identifier: GPL-2.0-only
/* Fills with random ints and sorts them in place: a pass is both, as in Prabhanjan et al. */
#include "random.h"
#include "worker.h"

#define SMALL 24 /* below that many, insertion is faster */

static int32_t *ints_of(const struct np_slice *s)
{
	return (int32_t *)np_slice_start(s, s->w->array[0]);
}

static size_t count_of(const struct np_slice *s)
{
	return s->lines * (NP_LINE / sizeof(int32_t));
}

static void insert(int32_t *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		int32_t value = a[i];
		size_t j = i;

		for (; j && a[j - 1] > value; j--)
			a[j] = a[j - 1];
		a[j] = value;
	}
}

static int32_t middle(int32_t a, int32_t b, int32_t c)
{
	if (a > b) {
		int32_t kept = a;

		a = b;
		b = kept;
	}
	return c < a ? a : c > b ? b : c;
}

/* Quicksort after Hoare; the smaller side first, so the stack stays short. */
static void quicksort(int32_t *a, size_t n)
{
	while (n > SMALL) {
		int32_t pivot = middle(a[0], a[n / 2], a[n - 1]), kept;
		size_t i = 0, j = n - 1;

		for (;; i++, j--) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i >= j)
				break;
			kept = a[i];
			a[i] = a[j];
			a[j] = kept;
		}
		/*
		 * [0, j] and [j + 1, n), none empty: one of the first two that were looked at is no
		 * smaller
		 */
		if (j + 1 < n / 2) {
			quicksort(a, j + 1);
			a += j + 1;
			n -= j + 1;
		} else {
			quicksort(a + j + 1, n - j - 1);
			n = j + 1;
		}
	}
	insert(a, n);
}

/* Sum and weighted are of what was put in: sorting must not change them. */
static int fill(struct np_slice *s)
{
	struct np_random random = np_random_from(s->w->choice.seed + s->number + (s->passes << 32));
	int32_t *a = ints_of(s);

	s->sum = s->weighted = 0;
	for (size_t i = 0; i < count_of(s); i++) {
		a[i] = (int32_t)(np_random_next(&random) >> 32);
		s->sum += (uint64_t)a[i];
		s->weighted += (uint64_t)a[i] * (uint64_t)a[i];
	}
	return 0;
}

static uint64_t pass(struct np_slice *s)
{
	fill(s);
	quicksort(ints_of(s), count_of(s));
	s->passes++;
	return count_of(s);
}

/* Ints below the one before them, and one more if they are not those that were put in. */
static size_t errors(struct np_slice *s)
{
	const int32_t *a = ints_of(s);
	uint64_t sum = 0, squares = 0;
	size_t wrong = 0;

	for (size_t i = 0; i < count_of(s); i++) {
		wrong += s->passes && i && a[i] < a[i - 1];
		sum += (uint64_t)a[i];
		squares += (uint64_t)a[i] * (uint64_t)a[i];
	}
	return wrong + (sum != s->sum || squares != s->weighted);
}

const struct np_kernel np_sort = {
	.name = "sort",
	.summary = "random ints, then quicksort",
	.operation = "int",
	.arrays = 1,
	.fill = fill,
	.pass = pass,
	.errors = errors,
	.credited_bytes = 2 * sizeof(int32_t), /* written once and read once */
	.bus_bytes = NP_NO_ESTIMATE,	       /* how often they move depends on the data */
};
