/* SPDX-License-Identifier: GPL-2.0-only */
/* Running tasks (thread groups) as the policies see them. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_TASKS_H
#define NUMAPLACE_LIB_TASKS_H

#include "../base/error.h"
#include "topology.h"

struct bitmask;

struct np_tasks {
	size_t n;
	struct np_task *task; /* [n]; task[i].pages points into pages */
	uint64_t *pages;      /* [n * n_nodes] resident pages, its own and of shared memory */
	/*
	 * [n * n_nodes] the latter, and those of mappings with a memory policy of their own: what
	 * no plan moves; task[i].shm_pages points into them
	 */
	uint64_t *shm_pages;
	uint64_t *file_pages;	   /* [n * n_nodes] resident pages of file mappings */
	uint64_t *chosen;	   /* [n] pages of such mappings; NULL: none */
	unsigned long long *start; /* [n] start time in ticks: tells a reused pid */
	struct bitmask **cpus;	   /* [n] that any of its threads may run on */
	double *sampled; /* [n] error of a node's share of pages, where they were sampled, else 0 */
	double *busy;	 /* [n] CPUs that it kept busy while it was watched, else 0 */
	unsigned long long *ticks;  /* [n] that it had used when it was read */
	double read_at;		    /* seconds of CLOCK_MONOTONIC */
	double *accesses;	    /* [n * n_nodes] room for the tasks' own, by np_tasks_watch() */
	struct np_reading *counted; /* [n] by np_tasks_watch(); NULL: not asked for */
	size_t denied;		    /* processes left out because they may not be read */
	pid_t denied_pid;	    /* one of them */
};

/*
 * Reads the given thread groups (n_pids > 0) or every one that may be read
 * (n_pids == 0, kernel threads left out). Each is taken to keep one CPU busy.
 * A pid that does not exist is an error (-ESRCH) when it was named.
 */
int np_tasks_read(struct np_tasks *t, const struct np_machine *m, const pid_t *pids, size_t n_pids,
		  struct np_err *err);

/*
 * From here on the pages of tasks that have more bytes are sampled, in the next reads of this
 * process: struct np_sampled says how exact that is. 0, the default: none.
 */
void np_tasks_sample_above(uint64_t bytes);

/* Whether some were sampled; then err says how many, and how exact that is. */
bool np_tasks_were_sampled(const struct np_tasks *t, struct np_err *err);

/* The same, leaving out every one that cannot be read; n_pids 0 gives none. */
int np_tasks_read_some(struct np_tasks *t, const struct np_machine *m, const pid_t *pids,
		       size_t n_pids, struct np_err *err);

/* The same without their pages: where they run alone. */
int np_tasks_locate(struct np_tasks *t, const struct np_machine *m, const pid_t *pids,
		    size_t n_pids, struct np_err *err);
void np_tasks_free(struct np_tasks *t);

/*
 * Whether some were left out for lack of rights; err: how many, the owner of one of them, what to
 * do.
 */
bool np_tasks_denied(const struct np_tasks *t, struct np_err *err);

/* Measures the CPUs that each has kept busy since it was read. */
void np_tasks_measure_busy(struct np_tasks *t);

/*
 * Watches them for ms milliseconds: measures the CPUs that each keeps busy, counts what the busiest
 * do, at most that many, and fills what np_counter_sample_fill() says, and the traffic of m's
 * nodes. Where there are more tasks, it takes twice as long: first it finds out which are the
 * busiest. 0, or -errno with one line in err: t->counted then has the reason for every task.
 */
int np_tasks_watch(struct np_tasks *t, struct np_machine *m, size_t most, unsigned int ms,
		   struct np_err *err);

/* Counts the pages that others map too; what they are good for is planning. */
void np_tasks_find_shared(struct np_tasks *t, const struct np_machine *m);

/* Share of the task's pages on the node it runs on, 0..1; -1 when
 * it has no pages or runs on several nodes. */
double np_task_locality(const struct np_machine *m, const struct np_task *t);

/* "pid=N,penalty=P,mpki=M": P and M become the task's, source "declared"; without pid every task's. */
int np_tasks_assume(struct np_tasks *t, const char *text, struct np_err *err);

#endif
