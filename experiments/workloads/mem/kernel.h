/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels: operations of the worker's threads on their memory. One file for each kernel. */
#ifndef NP_KERNEL_H
#define NP_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NP_LINE	       64 /* bytes; every slice is whole lines */
#define NP_ARRAYS      3
#define NP_NO_ESTIMATE (-1.0)

struct np_worker;
struct np_stream_variant;

/* Options that only some of the kernels have. */
struct np_choice {
	const char *variant;	   /* stream: name of its implementation, or "auto" */
	unsigned long long stride; /* stream: lines from one element to the next; 0: every element */
	unsigned long long group;  /* chase: pages that are walked before the next ones; 0: all */
	unsigned long long chains;   /* chase: walks of a thread at once; 0: one */
	const char *mix;	     /* mix: lines read to lines written */
	unsigned long long delay;    /* mix: empty steps after each line */
	const char *state;	     /* handover */
	size_t chunk;		     /* handover: bytes of a round */
	const char *pattern;	     /* cachetest */
	double alpha;		     /* cachetest zipf */
	unsigned long long accesses; /* update: of a pass; 0: as many as elements */
	unsigned long long seed;
};

/* A thread's part of the arrays, and how far the thread has come with it. */
struct np_slice {
	struct np_worker *w;
	unsigned int number;
	size_t first, lines;	     /* of each array, in lines */
	uint64_t operations, passes; /* of all runs */
	void *at;		     /* where a walk goes on */
	uint64_t drawn;		     /* state of the random numbers that it draws */
	uint64_t sum, weighted;	     /* values that the kernel's check compares */
	double busy;		     /* s, of a kernel with own_time */
};

struct np_kernel {
	const char *name, *summary;
	const char *operation; /* the counted operation, in one word */
	unsigned int arrays;
	bool own_time; /* a pass adds what is to count to the slice's busy; else all of it counts */
	/* Refuses a choice that makes no sense, after saying why. NULL: takes every choice. */
	int (*choose)(struct np_worker *w);
	/* Writes the slice's memory for the first time: here its pages come to be. */
	int (*fill)(struct np_slice *s);
	/* Some work, as many operations as it returns. */
	uint64_t (*pass)(struct np_slice *s);
	/* Elements that are not what they must be after the passes so far; 0 is right. */
	size_t (*errors)(struct np_slice *s);
	/* Of one operation: bytes that the program asked for. NULL: credited_bytes. */
	double (*credited)(const struct np_worker *w);
	/*
	 * Of one operation: bytes on the memory bus, where the arrays are larger than the caches;
	 * NP_NO_ESTIMATE where that depends on more. NULL: bus_bytes.
	 */
	double (*bus)(const struct np_worker *w);
	double credited_bytes, bus_bytes;
	/*
	 * Operations of an iteration, mean of a whole round; NULL: iterations
	 * are not counted. Of iterations that differ by far a short run meets
	 * too few to count them as such.
	 */
	double (*per_iteration)(const struct np_worker *w);
};

/* NULL ends the list. */
extern const struct np_kernel *const np_kernels[];

extern const struct np_kernel np_copy, np_scale, np_sum, np_triad;
extern const struct np_kernel np_chase, np_cachetest, np_sort, np_update, np_mix, np_handover;

static inline char *np_slice_start(const struct np_slice *s, const char *array)
{
	return (char *)array + s->first * NP_LINE;
}

#endif
