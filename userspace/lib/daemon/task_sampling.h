/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's counters: some tasks for one interval, in turn, as its budget allows. */
#ifndef NUMAPLACE_LIB_TASK_SAMPLING_H
#define NUMAPLACE_LIB_TASK_SAMPLING_H

#include "../counters/sample.h"
#include "task_watch.h"

struct np_task_sampling {
	/* Set by the caller. */
	unsigned int most; /* tasks that are counted at once; 0: none */
	double budget;	   /* seconds of CPU time an interval, on average */
	/* Its own. */
	struct np_counter_sample c;
	pid_t *pids; /* [c.n] that are counted now */
	bool open;
	bool refused;	   /* no counters here, or no permission */
	double spent;	   /* on the round that is open */
	unsigned int next; /* interval of the next round */
	unsigned long long rounds, ended;
	double cpu_seconds;	  /* spent on all that have ended */
	struct np_known *traffic; /* [n_nodes] of the last round, or NULL */
};

/*
 * Ends the round that was begun in the last interval and begins the next one when
 * its time has come. Sets *changed when a task's rates differ from before. 0, or
 * -errno with one line in err: after -EACCES and -EOPNOTSUPP nothing is counted from
 * then on, after others the next tasks are tried at the next interval.
 */
int np_task_sampling_step(struct np_task_sampling *k, struct np_task_watch *w,
			  const struct np_machine *m, unsigned int now, bool *changed,
			  struct np_err *err);

/* Drops data by node after the set of nodes has changed, and the open round. */
void np_task_sampling_drop(struct np_task_sampling *k);
void np_task_sampling_close(struct np_task_sampling *k);

/* Number of tasks with counted data. */
size_t np_task_sampling_known(const struct np_task_watch *w);

/* Copies t's counted data into task; the traffic of the last round into m's nodes. */
void np_task_sampling_fill(const struct np_watched_task *t, struct np_task *task);
void np_task_sampling_traffic(const struct np_task_sampling *k, struct np_machine *m);

#endif
