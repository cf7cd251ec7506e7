/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of one process over its arrays. */
#ifndef NP_WORKER_H
#define NP_WORKER_H

#include "kernel.h"
#include "../pages.h"

#define NP_SAMPLES 100 /* at most that many of a thread and a run */

struct np_worker {
	const struct np_kernel *kernel;
	struct np_choice choice;
	const struct np_stream_variant *variant; /* of a stream kernel */
	const void *state;			 /* a kernel's own */
	char *array[NP_ARRAYS];
	size_t bytes; /* of each; a multiple of a page */
	enum np_page_kind pages;
	unsigned int threads;
	struct np_slice *slices; /* one a thread */
	int partner;		 /* handover: CPU of the lines' owner; -1: none given */
	const int *pinned;	 /* a CPU a thread, or NULL: all on the process's CPUs */
};

/* A stretch of a thread's run. */
struct np_sample {
	double seconds;
	uint64_t operations;
};

struct np_thread_run {
	double started, finished; /* s of CLOCK_MONOTONIC, after the warm-up */
	double busy;		  /* s that count */
	uint64_t operations, passes;
	double warm_per_second; /* operations, of the warm-up; 0 without one */
	unsigned int n;
	struct np_sample sample[NP_SAMPLES];
};

struct np_run {
	double started, finished; /* first thread to last */
	double per_second;	  /* operations, sum over the threads */
	uint64_t passes, operations;
	struct np_thread_run *thread; /* w->threads of them */
};

/* Maps, places and fills the arrays. Returns 0, or -errno with what failed in *step. */
int np_worker_init(struct np_worker *w, const struct bitmask *nodes, const char **step);

struct np_when {
	double seconds;	     /* to measure */
	double start;	     /* s of CLOCK_MONOTONIC; 0: now */
	double warm;	     /* s of work before measuring */
	uint64_t operations; /* of a thread, in the place of the seconds; 0: the seconds say it */
};

/* All threads work on their slices. Returns 0 or -errno; np_run_free() afterwards. */
int np_worker_run(struct np_worker *w, const struct np_when *when, struct np_run *run);
void np_run_free(struct np_run *run);

/* Wrong elements of all slices. */
size_t np_worker_errors(struct np_worker *w);

/* Counts the arrays' pages by node. Returns 0 or -errno. */
int np_worker_pages(struct np_worker *w, struct np_pages *count);

#endif
