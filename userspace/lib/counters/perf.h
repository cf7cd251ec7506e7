/* SPDX-License-Identifier: GPL-2.0-only */
/* perf_event_open(2): one file a thread or CPU, event and part. */
#ifndef NUMAPLACE_LIB_PERF_H
#define NUMAPLACE_LIB_PERF_H

#include "counters.h"
#include "events.h"

struct perf_event_attr;

/* The counted events: of each the parts that were encoded. */
struct np_perf_events {
	struct perf_event_attr *attr[NP_EVENTS][NP_EVENT_PARTS];
	const char *why[NP_EVENTS]; /* of an event without parts */
};

/* The value of one file; its read format has the total times enabled and running. */
struct np_perf_value {
	unsigned long long value, enabled, running;
};

/*
 * The sum of an event's files, scaled by the sums of their times: those that were
 * counted stand for those whose turn never came. Not available when these have
 * half of the time or more.
 */
struct np_count np_perf_scale(const struct np_perf_value *v, size_t n);

/* Opens the files of these events for c's subjects; errors as a source's open. */
int np_perf_open(struct np_counters *c, const struct np_perf_events *events, void **state,
		 struct np_err *err);

#endif
