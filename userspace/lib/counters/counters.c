// SPDX-License-Identifier: GPL-2.0-only
#include "counters.h"

#include <errno.h>
#include <string.h>

#include "../base/clock.h"

/* The first that can count does. */
static const struct np_counter_source *const sources[] = { &np_counters_lab, &np_counters_perf };

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

/* This machine has no such counters; every other failure may be over in a moment. */
static bool is_for_ever(int e)
{
	return e == -ENODEV || e == -EOPNOTSUPP || e == -ENOENT || e == -EINVAL;
}

static int open_counters(struct np_counters *c, struct np_err *err)
{
	struct np_err why;
	int e = -ENODEV;

	for (size_t i = 0; e && e != -EACCES && i < N_SOURCES; i++) {
		e = sources[i]->open(c, &c->state, &why);
		c->source = e ? NULL : sources[i];
	}
	if (!e)
		return 0;
	if (e == -EACCES)
		return np_fail(err, e, "counting is forbidden because %s", why.text);
	if (!is_for_ever(e))
		return np_fail(err, e, "nothing can be counted now: %s", why.text);
	return np_fail(err, -EOPNOTSUPP, "counters are not available on this CPU because %s",
		       why.text);
}

int np_counters_open(struct np_counters *c, const struct np_machine *m,
		     const struct np_subject *subject, size_t n, struct np_err *err)
{
	*c = (struct np_counters) { .machine = m, .subject = subject, .n = n };
	return open_counters(c, err);
}

int np_counters_open_user(struct np_counters *c, const struct np_machine *m,
			  const struct np_subject *subject, size_t n, struct np_err *err)
{
	*c = (struct np_counters) { .machine = m, .subject = subject, .n = n, .user_only = true };
	return open_counters(c, err);
}

void np_counters_read(struct np_counters *c, struct np_reading *readings)
{
	double now = np_clock(CLOCK_MONOTONIC);

	memset(readings, 0, c->n * sizeof(*readings));
	if (c->source)
		c->source->read(c, c->state, readings);
	for (size_t i = 0; i < c->n; i++) {
		readings[i].seconds = now;
		for (int e = 0; e < NP_EVENTS; e++) {
			struct np_count *count = &readings[i].event[e];

			if (!count->source && !count->why)
				count->why = "its source does not count it";
		}
	}
}

void np_counters_close(struct np_counters *c)
{
	if (c->source)
		c->source->close(c->state);
	memset(c, 0, sizeof(*c));
}
