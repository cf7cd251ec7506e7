/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of one triad process over its three arrays. */
#ifndef NP_WORKER_H
#define NP_WORKER_H

#include "pages.h"
#include "triad.h"

#include <stdint.h>

#define NP_ARRAYS 3

struct np_worker {
	const struct np_triad_kernel *kernel;
	double *array[NP_ARRAYS];	/* a, b, c */
	size_t bytes;			/* of each */
	unsigned int threads;
};

struct np_run {
	double started, finished;	/* CLOCK_MONOTONIC, first thread to last */
	double mb_per_s;		/* sum over the threads, bytes credited */
	uint64_t passes, elements;
};

/* Maps, places and fills the arrays. Returns 0, or -errno with what failed in *step. */
int np_worker_init(struct np_worker *w, const struct bitmask *nodes, const char **step);

/* All threads make passes over their slices for that long, from start on (0: now). */
int np_worker_run(struct np_worker *w, double seconds, double start, struct np_run *run);

/* Where the arrays' pages are. Returns 0 or -errno. */
int np_worker_pages(struct np_worker *w, struct np_pages *count);

size_t np_worker_elements(const struct np_worker *w);

#endif
