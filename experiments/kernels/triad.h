/* SPDX-License-Identifier: GPL-2.0-only */
/* The triad a = b + s * c in the ways this CPU can do it, and its check. */
#ifndef NP_TRIAD_H
#define NP_TRIAD_H

#include <stdbool.h>
#include <stddef.h>

#define NP_LINE 64		/* bytes; every slice handed to a kernel is whole lines */
#define NP_TRIAD_SCALAR 3.0
#define NP_TRIAD_CREDITED 24	/* bytes an element: two loads and a store, as STREAM counts */

struct np_triad_kernel {
	const char *name;
	/*
	 * Bytes an element that cross the memory bus: an ordinary store that
	 * misses reads its line first, a non-temporal one does not.
	 */
	unsigned int bus_bytes;
	bool (*supported)(void);
	/* a, b, c aligned to NP_LINE; n a multiple of NP_LINE / sizeof(double). */
	void (*run)(double *a, const double *b, const double *c, size_t n);
};

/* NULL name ends the table; the best non-temporal one stands last. */
extern const struct np_triad_kernel np_triad_kernels[];

/* By name, or the last supported one for "auto"; NULL if there is none. */
const struct np_triad_kernel *np_triad_find(const char *name);

/* Writes the pattern that np_triad_errors() expects. */
void np_triad_fill(double *a, double *b, double *c, size_t n);

/*
 * Elements of a, b or c that are not what they must be after a pass. All
 * values are small multiples of a half, so the comparison is exact.
 */
size_t np_triad_errors(const double *a, const double *b, const double *c, size_t n);

#endif
