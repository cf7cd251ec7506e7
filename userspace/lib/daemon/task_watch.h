/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches many tasks at low cost: CPU times are read from files that stay open; the
 * nodes of pages are read for busy tasks only, and again only when the size or the CPUs of
 * the task have changed or the data is old.
 */
#ifndef NUMAPLACE_LIB_TASK_WATCH_H
#define NUMAPLACE_LIB_TASK_WATCH_H

#include "../host/exclude.h"
#include "../host/tasks.h"
#include "../plan/cpuset_limits.h"
#include "hysteresis.h"

struct np_watched_task {
	pid_t pid, ppid;
	unsigned long long start; /* tells a reused pid */
	char comm[NP_COMM_LEN];
	bool judged, watched;	/* is watched; others are only known to be there */
	bool seen;		/* in the round of listing that runs now */
	bool gone;		/* has exited since */
	int stat;		/* /proc/PID/stat, open; -1: not */
	unsigned int next_look; /* interval; those that sleep are looked at less often */
	unsigned int idle_looks;
	unsigned long long ticks; /* of CPU time used at the last reading */
	double looked_at;	  /* seconds, monotonic */
	double busy;		  /* CPUs that it kept busy between its last two readings */
	unsigned int last_busy;	  /* interval in which it last was */
	bool ever_busy;
	uint64_t rss; /* pages */
	unsigned int threads;
	int cpu; /* that its leader last ran on */

	bool have;	      /* what follows was read .. */
	unsigned int read_at; /* .. in this interval, at these: */
	uint64_t read_rss;
	int read_cpu;
	double read_cost;     /* seconds of CPU time that it took */
	bool denied;	      /* no permission to read it */
	bool excluded;	      /* by its name when it was read */
	struct np_tasks task; /* of one */
	struct np_task_limits limits;

	unsigned long long sampling_round; /* in which it was sampled last; 0: never */
	struct np_task sampled; /* what the counters said where it is now; sources say what */
	double *accesses;	/* [n_nodes] room for sampled.accesses */

	struct np_hysteresis hysteresis;
	bool placed;			/* by this daemon */
	enum np_hysteresis_result told; /* in the last event; ACT: none since it was moved */
	bool descendant;		/* of a placed task */
};

/* Which tasks are watched. */
struct np_task_watch_rules {
	const pid_t *pids; /* [n_pids] these and their descendants */
	size_t n_pids;
	const char *cgroup;	   /* those of this cgroup; neither: every one that may be */
	struct np_exclude exclude; /* but not these */
	double min_busy;	   /* CPUs that a task must keep busy to be eligible */
	uint64_t min_pages;	   /* that it must have */
	unsigned int pause; /* intervals for which it stays eligible after it was last busy */
	bool one_core;	    /* each task is taken to keep one CPU busy */
	bool override;	    /* as in struct np_policy_args */
	double read_budget; /* seconds of CPU time an interval for reading pages */
};

/* A new pid is not in /proc at once: so many listings look for it, as its task may have ended. */
#define NP_TASK_LISTINGS 4

struct np_task_watch {
	const struct np_task_watch_rules *rules;
	unsigned long long *named;    /* [rules->n_pids] when they started; 0: is not there */
	struct np_watched_task *task; /* [n] sorted by pid */
	size_t n;
	size_t n_watched, eligible; /* watched; of those, busy and large enough */
	bool met_descendant;	    /* one that the saved state may not know yet */
	unsigned long last_pid;	    /* the kernel's, when /proc was last listed, */
	unsigned int listings; /* and how often since it is that; NP_TASK_LISTINGS: it was met */
	struct np_cpusets *cpusets;
	struct np_reserved *reserved;
	double debt; /* seconds that reading large tasks took beyond their share */
};

int np_task_watch_open(struct np_task_watch *w, const struct np_task_watch_rules *rules,
		       struct np_err *err);
void np_task_watch_close(struct np_task_watch *w);

/*
 * Looks at the tasks in interval now; m says which CPUs share a node. Sets *changed
 * when a plan's input has changed. 0, or -errno with one line in err.
 */
int np_task_watch_look(struct np_task_watch *w, const struct np_machine *m, unsigned int now,
		       bool *changed, struct np_err *err);

/* The part of it that lists the tasks. */
int np_task_watch_list(struct np_task_watch *w, struct np_err *err);

/* True when the policy is asked about the task: busy, large enough, and its pages are known. */
bool np_task_eligible(const struct np_task_watch *w, const struct np_watched_task *t,
		      unsigned int now);

/* Reads where its pages are now. False when it cannot be read (any more). */
bool np_task_watch_read(struct np_task_watch *w, const struct np_machine *m,
			struct np_watched_task *t, unsigned int now);

/* Drops data by node after the set of nodes has changed: it is read again. */
void np_task_watch_drop_rows(struct np_task_watch *w);

struct np_watched_task *np_task_watch_find(const struct np_task_watch *w, pid_t pid);

/* Parts of np_task_watch_look(). */

/* The text of its /proc/PID/stat. False when it has exited. */
bool np_task_watch_read_stat(struct np_watched_task *t, char *text, size_t len);

/* CPUs that it keeps busy, one at least. */
unsigned int np_watched_task_cores(const struct np_task_watch *w, const struct np_watched_task *t);

/* Takes the CPU that it was seen on for where it runs; true when that is another node. */
bool np_task_watch_follow(const struct np_machine *m, struct np_watched_task *t);

/* Reads where pages are that may be elsewhere by now; true when they are. */
bool np_task_watch_read_stale(struct np_task_watch *w, const struct np_machine *m,
			      unsigned int now);

/* Releases what t holds. */
void np_task_watch_forget(struct np_watched_task *t);

#endif
