// SPDX-License-Identifier: GPL-2.0-only
/*
 * STREAM's four operations on doubles, every element or one in each N lines.
 * All values are small multiples of a half, so the check is exact.
 */
#include "stream.h"
#include "../emit.h"
#include "worker.h"

#include <string.h>

#define PER_LINE  (NP_LINE / sizeof(double))
#define UNTOUCHED (-1.0)
/*
 * Elements between two looks at the clock; whole lines. Non-temporal stores
 * get more: each piece ends with a fence that waits for all of them.
 */
#define PIECE		   (1 << 15)
#define PIECE_NON_TEMPORAL (1 << 18)

static enum np_stream_op op_of(const struct np_worker *w)
{
	return w->kernel == &np_copy  ? NP_COPY :
	       w->kernel == &np_scale ? NP_SCALE :
	       w->kernel == &np_sum   ? NP_SUM :
					NP_TRIAD;
}

/* Different from one element to the next, and from one page to the next for thousands of pages. */
static double value_b(size_t i)
{
	return (int)(i & 0xffffff) + 1;
}

static double value_c(size_t i)
{
	return (int)(i & 0x3fffff) * 0.5;
}

static double value_of(enum np_stream_op op, double b, double c)
{
	switch (op) {
	case NP_COPY:
		return b;
	case NP_SCALE:
		return NP_STREAM_SCALAR * b;
	case NP_SUM:
		return b + c;
	default:
		return b + NP_STREAM_SCALAR * c;
	}
}

static bool reads_c(enum np_stream_op op)
{
	return op == NP_SUM || op == NP_TRIAD;
}

static int choose(struct np_worker *w)
{
	const char *name = w->choice.variant;

	if (w->choice.stride && strcmp(name, "auto") && strcmp(name, "plain"))
		return np_fail("--stride %llu: vectors take neighbours; leave --kernel out or "
			       "say --kernel plain",
			       w->choice.stride);
	w->variant = np_stream_find(w->choice.stride ? "plain" : name);
	return w->variant ? 0 : np_fail("--kernel %s: not one this CPU can run; see --help", name);
}

static int fill(struct np_slice *s)
{
	double *a = (double *)s->w->array[0], *b = (double *)s->w->array[1];
	double *c = (double *)s->w->array[2];
	size_t first = s->first * PER_LINE, end = first + s->lines * PER_LINE;

	for (size_t i = first; i < end; i++) {
		a[i] = UNTOUCHED;
		b[i] = value_b(i);
		if (c)
			c[i] = value_c(i);
	}
	return 0;
}

static void run_strided(enum np_stream_op op, double *restrict a, const double *restrict b,
			const double *restrict c, size_t n, size_t step)
{
	switch (op) {
	case NP_COPY:
		for (size_t i = 0; i < n; i += step)
			a[i] = b[i];
		break;
	case NP_SCALE:
		for (size_t i = 0; i < n; i += step)
			a[i] = NP_STREAM_SCALAR * b[i];
		break;
	case NP_SUM:
		for (size_t i = 0; i < n; i += step)
			a[i] = b[i] + c[i];
		break;
	default:
		for (size_t i = 0; i < n; i += step)
			a[i] = b[i] + NP_STREAM_SCALAR * c[i];
	}
}

static size_t piece_of(const struct np_worker *w, size_t step)
{
	if (step)
		return PIECE / PER_LINE * step;
	return w->variant->non_temporal ? PIECE_NON_TEMPORAL : PIECE;
}

/* From where the last one ended, so many elements that none of a stride are cut off. */
static uint64_t pass(struct np_slice *s)
{
	const struct np_worker *w = s->w;
	size_t n = s->lines * PER_LINE, step = w->choice.stride * PER_LINE;
	size_t from = (uintptr_t)s->at, piece = piece_of(w, step);
	size_t first = s->first * PER_LINE + from;
	double *a = (double *)w->array[0] + first;
	const double *b = (double *)w->array[1] + first, *c = b;

	if (piece >= n - from)
		piece = n - from;
	if (reads_c(op_of(w)))
		c = (double *)w->array[2] + first;
	s->at = (void *)(from + piece);
	if (from + piece == n) {
		s->at = NULL;
		s->passes++;
	}
	if (step) {
		run_strided(op_of(w), a, b, c, piece, step);
		return (piece + step - 1) / step;
	}
	w->variant->run[op_of(w)](a, b, c, piece);
	return piece;
}

static size_t wrong_values(const struct np_worker *w, size_t from, size_t end)
{
	const double *b = (double *)w->array[1], *c = (double *)w->array[2];
	size_t found = 0;

	for (size_t i = from; i < end; i++)
		found += b[i] != value_b(i) || (c && c[i] != value_c(i));
	return found;
}

/* Of those that a pass writes: step apart, the first so many done. */
static size_t wrong_results(const struct np_slice *s, size_t first, size_t end, size_t done_until)
{
	const double *a = (double *)s->w->array[0];
	size_t step = s->w->choice.stride * PER_LINE, found = 0;
	enum np_stream_op op = op_of(s->w);

	for (size_t i = first; i < end; i++) {
		bool done = i < done_until && (!step || (i - first) % step == 0);

		found += a[i] != (done ? value_of(op, value_b(i), value_c(i)) : UNTOUCHED);
	}
	return found;
}

static size_t errors(struct np_slice *s)
{
	size_t first = s->first * PER_LINE, end = first + s->lines * PER_LINE;
	size_t done_until = s->passes ? end : first + (uintptr_t)s->at;

	return wrong_values(s->w, first, end) + wrong_results(s, first, end, done_until);
}

/* As STREAM counts: a word for each array. */
static double credited(const struct np_worker *w)
{
	return w->kernel->arrays * sizeof(double);
}

/* An ordinary store that misses reads its line first; a strided access moves the whole line. */
static double bus(const struct np_worker *w)
{
	size_t moved = w->choice.stride ? NP_LINE : sizeof(double);

	return (w->kernel->arrays + !w->variant->non_temporal) * moved;
}

#define STREAM(op, text, n) \
	const struct np_kernel np_##op = { \
		.name = #op, \
		.summary = text, \
		.operation = "element", \
		.arrays = n, \
		.choose = choose, \
		.fill = fill, \
		.pass = pass, \
		.errors = errors, \
		.credited = credited, \
		.bus = bus, \
	}

STREAM(copy, "a = b", 2);
STREAM(scale, "a = s * b", 2);
STREAM(sum, "a = b + c", 3);
STREAM(triad, "a = b + s * c", 3);
