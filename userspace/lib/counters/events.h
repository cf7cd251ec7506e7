/* SPDX-License-Identifier: GPL-2.0-only */
/* The libpfm4 events that make up numaplace's events on each microarchitecture. */
#ifndef NUMAPLACE_LIB_EVENTS_H
#define NUMAPLACE_LIB_EVENTS_H

#include "counters.h"

#define NP_EVENT_PARTS 3

/* One numaplace event: the sum of the events named, or why there are none. */
struct np_event_names {
	const char *part[NP_EVENT_PARTS]; /* libpfm4's, without the PMU's name */
	const char *why;
};

struct np_uarch {
	const char *pmu; /* libpfm4's name; NULL: Debian 12's libpfm4 does not know it */
	const char *title;
	struct np_event_names event[NP_EVENTS];
	const char *remark; /* what the numbers include or leave out */
};

extern const struct np_uarch np_uarchs[]; /* ends with title == NULL */

/* The row of the processor at hand, or NULL with the reason in err. */
const struct np_uarch *np_uarch_here(struct np_err *err);

/* The row of that PMU's name, or NULL. */
const struct np_uarch *np_uarch_find(const char *pmu);

struct perf_event_attr;

/*
 * libpfm4's encoding of an event ("perf" for events of every processor), of
 * this machine or another. 0, or -EINVAL with the reason in err.
 */
int np_event_encode(const char *pmu, const char *name, struct perf_event_attr *attr,
		    struct np_err *err);

#endif
