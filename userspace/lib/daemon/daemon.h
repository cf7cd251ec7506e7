/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans for running tasks every interval, and carries the plans out. */
#ifndef NUMAPLACE_LIB_DAEMON_H
#define NUMAPLACE_LIB_DAEMON_H

#include "../plan/apply.h"
#include "../plan/saved_pages.h"
#include "../undo/placed_tasks.h"
#include "event_log.h"
#include "task_sampling.h"

/* Counters since the start; metrics.c prints them. */
struct np_daemon_counts {
	unsigned long long intervals, plans, planning_failed;
	unsigned long long decisions[NP_HYSTERESIS_RESULTS]; /* decisions that ask for something */
	unsigned long long moved_tasks, moved_bytes, ping_pongs, vanished, failed;
	unsigned long long trials[2]; /* plans that were verified: kept, taken back */
	double move_seconds;	      /* that pages were moving for */
	double cpu_seconds;	      /* CPU time of the daemon itself */
	double last_interval_cpu_seconds;
};

#define NP_DAEMON_LINE 512

struct np_daemon {
	/* Set by the caller. */
	struct np_policy_args args; /* policy and options; tasks come from watch_rules */
	struct np_task assumed;	    /* penalty and MPKI of every task, with their sources */
	struct np_task_watch_rules watch_rules;
	struct np_hysteresis_rules hysteresis_rules;
	struct np_apply_how how;	  /* by: NP_BY_DAEMON where it is NULL */
	struct np_task_sampling sampling; /* most and budget */
	const char *root;		  /* of /sys, see np_machine_read(); "" but in tests */
	void (*log)(const char *line, void *arg); /* one line for a decision or an error */
	void *log_arg;
	bool quiet;		 /* errors only */
	struct np_events events; /* the same for programs */

	bool remembers;	   /* placed tasks, for the next daemon after a crash */
	bool owns_watched; /* at its end every task that it watches is restored, placed or not */

	/* Its own. */
	struct np_daemon_placed adopted; /* tasks that a crashed daemon had placed */
	struct np_machine machine;
	struct np_model *model; /* of machine */
	enum np_model_origin model_origin;
	struct np_task_watch watch;
	unsigned int now; /* interval */
	bool waits;	  /* a decision waits for its time: plan again */
	struct np_daemon_counts counts;
	uint64_t local_pages, all_pages; /* of the eligible tasks, at the last plan */
	int balancing; /* np_balancing_read() at the last plan; 0 before the first */
	size_t denied; /* watched tasks that may not be read, when that was last logged */
	char complaint[NP_DAEMON_LINE]; /* logged last: no such line is logged twice in a row */
};

/* 0, or -errno with one line in err. */
int np_daemon_open(struct np_daemon *d, struct np_err *err);

/*
 * One interval: observes, plans if something has changed, carries out what is worth it.
 * Errors are logged; the next interval tries again.
 */
void np_daemon_step(struct np_daemon *d);

/*
 * Gives every task that was placed, and its descendants their CPUs and memory policy
 * back. *restored: how many placements (one for each thread and engine) were undone. 0, or -errno
 * after logging what was not.
 */
int np_daemon_restore(struct np_daemon *d, size_t *restored);

/*
 * Brings the pages of the tasks that it has placed, and of those that it has adopted, back;
 * see np_saved_pages_restore(). Records of pages that others have moved are kept.
 */
int np_daemon_pages_back(const struct np_daemon *d, const struct np_mover *mover,
			 const volatile sig_atomic_t *stop, struct np_pages_back *back,
			 struct np_err *err);

/* The same at its end. Where all is restored, a next daemon has nothing to adopt. */
int np_daemon_end(struct np_daemon *d, size_t *restored);

/* All placements are to stay: a next daemon does not restore them either. */
void np_daemon_leave(struct np_daemon *d);
void np_daemon_close(struct np_daemon *d);

/* Tasks that are placed now. */
size_t np_daemon_placed(const struct np_daemon *d);

/* The two halves of a step: observe, true when a plan's input has changed; plan and carry out. */
bool np_daemon_observe(struct np_daemon *d);
void np_daemon_act(struct np_daemon *d, bool changed);

/* Parts of these. */

/* One line to d->log unless d is quiet. */
void np_daemon_say(const struct np_daemon *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Logs an error, one line to d->log, unless it was the last such line. */
void np_daemon_complain(struct np_daemon *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* One event; takes the fields. */
void np_daemon_tell(struct np_daemon *d, const char *event, json_t *fields);

/* Carries out what the plan asks for. */
void np_daemon_carry_out(struct np_daemon *d, const struct np_request *p);

#endif
