/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's decisions and actions, for programs: one JSON object a line. */
#ifndef NUMAPLACE_LIB_EVENT_LOG_H
#define NUMAPLACE_LIB_EVENT_LOG_H

#include "../plan/apply.h"
#include "hysteresis.h"

struct np_events {
	const char *path; /* NULL: no log */
	int fd;
	bool failed; /* the last line could not be written */
};

/*
 * Opens the file for lines behind those it has; again after it was renamed. 0 or -errno, one line
 * in err.
 */
int np_events_open(struct np_events *e, const char *path, struct np_err *err);
void np_events_close(struct np_events *e);

/*
 * {"time", "interval", "event", ..}, a whole line or nothing; takes the fields, which may be NULL.
 * False with one line in err when it cannot be written, and the one before could.
 */
bool np_event(struct np_events *e, unsigned int interval, const char *event, json_t *fields,
	      struct np_err *err);

/* The decision about task i as `plan --json` has it, with what was moved when a is not NULL. */
json_t *np_event_decision(const struct np_request *p, size_t i, const struct np_applied *a);

#endif
