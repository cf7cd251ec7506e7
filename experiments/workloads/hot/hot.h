/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of which it is known which part is hot when. */
#ifndef NP_HOT_H
#define NP_HOT_H

#include "../mem/random.h"
#include "../redis/histogram.h"

#include <pthread.h>
#include <stdbool.h>

#define HOT_LINE      64
#define HOT_NODES     64
#define HOT_QUANTILES 16384	   /* of the Zipf distribution of pages */
#define HOT_SPARE     (96UL << 20) /* of a node: for the kernel and for programs that look on */

enum hot_pattern { HOT_STATIC, HOT_MOVING, HOT_SCAN, HOT_GROWTH, HOT_PHASES, HOT_BALLAST };

struct hot_options {
	enum hot_pattern pattern;
	const char *name;
	size_t bytes;
	double share;		  /* instead of bytes: percent of what the fast nodes have free */
	double hot, fast_percent; /* percent of bytes */
	double writes;		  /* percent of the accesses */
	double seconds, period, zipf, threads, seed;
	bool ballast, oracle;
};

/* Lines of a worker's memory; none where it has none to access. */
struct hot_span {
	size_t first, lines;
};

/* Of a page's first line, the stamp says which page it is. */
struct hot_line {
	uint64_t stamp;
	uint64_t written; /* the line's odd number (hot_odd()), once for each write */
	uint64_t rest[6];
};

/* A thread and its part of the memory. All are in memory that the processes share. */
struct hot_worker {
	unsigned int tenant;
	struct hot_line *line;
	size_t lines, hot_lines, filled, scanned;
	uint32_t *page_at;	/* by quantile, or NULL: uniform */
	struct hot_span placed; /* by an oracle */
	struct np_random random;
	uint64_t operations, late, writes, sink;
	struct np_histogram latency;
	double nodes[2][HOT_NODES]; /* sampled accesses by node, at the start and at the end */
	bool right;
};

struct hot_run {
	struct hot_options o;
	unsigned int workers;
	pthread_barrier_t barrier;
	double begin;
	struct hot_worker worker[];
};

/* Of the memory and the distribution. Returns 0 or -errno. */
int hot_fill(const struct hot_options *o, struct hot_worker *w);

/* Accesses, from begin for the seconds. */
void hot_work(const struct hot_options *o, struct hot_worker *w, double begin);

/* Where the next accesses of a worker would go, if it is at work at this time; no page is touched. */
void hot_sample(const struct hot_options *o, struct hot_worker *w, double elapsed, double *nodes);

/* Every page is there, and every write is on its line. */
bool hot_verify(const struct hot_worker *w);

/*
 * Cold memory in the nodes with CPUs, so that what comes next lies elsewhere. It is a file without
 * a name, mapped by nobody: no policy for tasks counts its pages as a task's. Returns 0 or -1.
 */
int hot_ballast(const struct hot_options *o);

/* Gives back the room, in parts all over the ballast. Returns 0 or -1. */
int hot_make_room(const struct hot_options *o);

bool hot_is_fast(unsigned int node);

/* Bytes that the fast nodes have free, or the others. */
long long hot_free(bool fast);

/* Of a Zipf distribution: the hottest page has rank 0, and each may lie anywhere. */
size_t hot_page_of(size_t rank, size_t pages);

/* Moves this span, or the pages of the distribution that the room is enough for, to the fast nodes. */
void hot_place(const struct hot_options *o, struct hot_worker *w, struct hot_span hot);

#endif
