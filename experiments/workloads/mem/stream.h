/* SPDX-License-Identifier: GPL-2.0-only */
/* copy, scale, sum and triad in the ways this CPU can do them. */
#ifndef NP_STREAM_H
#define NP_STREAM_H

#include "kernel.h"

#define NP_STREAM_SCALAR 3.0

/* a, b, c aligned to NP_LINE; n a multiple of NP_LINE / sizeof(double). */
typedef void np_stream_run(double *a, const double *b, const double *c, size_t n);

enum np_stream_op { NP_COPY, NP_SCALE, NP_SUM, NP_TRIAD, NP_STREAM_OPS };

struct np_stream_variant {
	const char *name;
	bool non_temporal; /* its stores do not read their line first */
	bool (*supported)(void);
	np_stream_run *run[NP_STREAM_OPS];
};

/* NULL name ends the table; the best non-temporal one that may be there stands last. */
extern const struct np_stream_variant np_stream_variants[];

/* By name, or the last supported one for "auto"; NULL if there is none. */
const struct np_stream_variant *np_stream_find(const char *name);

#endif
