/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hardware counters of memory accesses, by CPU or by task. One of several
 * sources counts, behind one table of operations; each event names its source, or the
 * reason why it is not counted. Documentation/reference/counters.md.
 */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_COUNTERS_H
#define NUMAPLACE_LIB_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/error.h"
#include "../host/topology.h"

enum np_event {
	NP_CYCLES,	   /* while not halted */
	NP_INSTRUCTIONS,   /* retired */
	NP_LLC_REFERENCES, /* lines asked of the last-level cache */
	NP_LLC_MISSES,	   /* of these, not found there */
	NP_LOCAL_DRAM,	   /* lines from memory of the CPU's own node */
	NP_REMOTE_DRAM,	   /* lines from memory of other nodes */
	NP_REMOTE_CACHE,   /* lines from a cache of another node */
	NP_EVENTS
};

const char *np_event_name(enum np_event e); /* "cycles", "llc_misses", .. */

/* A number that may not be there. */
struct np_count {
	double value;	    /* scaled up for the time that it was not counted */
	double share;	    /* of the time that it was counted: 1, less when counters were shared */
	const char *source; /* "perf", "lab"; NULL: not available */
	const char *why;    /* then: "because ..."; lives as long as the program */
};

struct np_reading {
	double seconds;			  /* monotonic clock; of a difference, its length */
	struct np_count event[NP_EVENTS]; /* since the counters were opened */
};

/* A counted subject: a CPU, or a thread group and its children. */
struct np_subject {
	int cpu; /* -1: the task */
	pid_t pid;
};

struct np_counters;

struct np_counter_source {
	const char *name;
	/*
	 * Begins to count for c's subjects. 0, or -errno with the reason in err:
	 * -EACCES when it is forbidden here, anything else when there are no such
	 * counters.
	 */
	int (*open)(struct np_counters *c, void **state, struct np_err *err);
	/* Fills the events of the n readings that it counts, or says why not. */
	void (*read)(struct np_counters *c, void *state, struct np_reading *readings);
	void (*close)(void *state);
};

extern const struct np_counter_source np_counters_lab, np_counters_perf;

struct np_counters {
	const struct np_machine *machine;
	const struct np_subject *subject; /* [n] */
	size_t n;
	bool user_only;				/* the kernel's own work is not counted */
	const struct np_counter_source *source; /* NULL: not open */
	void *state;
};

/*
 * Begins to count, with the lab's counters or the processor's; m and subject stay
 * the caller's and must outlive c. 0, or -errno with one line in err that says what
 * to do: -EACCES when counting is forbidden, -EOPNOTSUPP when nothing counts on
 * this machine, -EMFILE or -ENOMEM when there is no room for any of them now, another
 * (-EBUSY) when they cannot be counted now for another reason. One that there is no
 * room for beside others has that reason in place of its events.
 */
int np_counters_open(struct np_counters *c, const struct np_machine *m,
		     const struct np_subject *subject, size_t n, struct np_err *err);

/* np_counters_open() without the kernel's own work. */
int np_counters_open_user(struct np_counters *c, const struct np_machine *m,
			  const struct np_subject *subject, size_t n, struct np_err *err);

/* readings[n], in the order of the subjects. */
void np_counters_read(struct np_counters *c, struct np_reading *readings);
void np_counters_close(struct np_counters *c);

/* The counts between two readings. */
struct np_reading np_reading_between(const struct np_reading *before,
				     const struct np_reading *after);

/* Adds part to sum; an event that one of them lacks, the sum lacks. */
void np_reading_add(struct np_reading *sum, const struct np_reading *part);

/* Derived of a difference; not available where a part is not, or nothing was executed. */
struct np_count np_reading_ipc(const struct np_reading *r);  /* instructions a cycle */
struct np_count np_reading_cpi(const struct np_reading *r);  /* cycles an instruction */
struct np_count np_reading_mpki(const struct np_reading *r); /* LLC misses, 1000 instructions */
struct np_count np_reading_local_share(const struct np_reading *r); /* of DRAM lines, 0..1 */

/* A copy of the text that lives as long as the program; equal texts share one. */
const char *np_why(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For sources: not available, and why. */
struct np_count np_count_missing(const char *why);

#endif
