// SPDX-License-Identifier: GPL-2.0-only
#include "counters.h"

#include <errno.h>
#include <string.h>

#include "../base/clock.h"

/* The first that can count does, of those that need not be asked for by name. */
static const struct {
	const struct np_counter_source *source;
	bool only_by_name;
} sources[] = {
	{ &np_counters_lab, false },
	{ &np_counters_perf, false },
	{ &np_counters_resctrl, true },
};

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

bool np_counters_is_source(const char *name)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		if (!strcmp(sources[i].source->name, name))
			return true;
	return false;
}

static bool is_asked(size_t i, const char *name)
{
	return name ? !strcmp(sources[i].source->name, name) : !sources[i].only_by_name;
}

/* This machine has no such counters; every other failure may be over in a moment. */
static bool is_for_ever(int e)
{
	return e == -ENODEV || e == -EOPNOTSUPP || e == -ENOENT || e == -EINVAL;
}

/* With c's subjects. */
static int open_from(struct np_counters *c, const char *name, struct np_err *err)
{
	struct np_err why = { "no source has that name" };
	int e = -ENODEV;

	for (size_t i = 0; e && e != -EACCES && i < N_SOURCES; i++) {
		if (!is_asked(i, name))
			continue;
		e = sources[i].source->open(c, &c->state, &why);
		c->source = e ? NULL : sources[i].source;
	}
	if (!e)
		return 0;
	if (e == -EACCES)
		return np_fail(err, e, "counting is forbidden because %s", why.text);
	if (!is_for_ever(e))
		return np_fail(err, e, "nothing can be counted now: %s", why.text);
	if (name)
		return np_fail(err, -EOPNOTSUPP, "source %s cannot count because %s", name,
			       why.text);
	return np_fail(err, -EOPNOTSUPP, "counters are not available on this CPU because %s",
		       why.text);
}

int np_counters_open_from(struct np_counters *c, const char *name, const struct np_machine *m,
			  const struct np_subject *subject, size_t n, struct np_err *err)
{
	*c = (struct np_counters) { .machine = m, .subject = subject, .n = n };
	return open_from(c, name, err);
}

int np_counters_open(struct np_counters *c, const struct np_machine *m,
		     const struct np_subject *subject, size_t n, struct np_err *err)
{
	return np_counters_open_from(c, NULL, m, subject, n, err);
}

int np_counters_open_user(struct np_counters *c, const struct np_machine *m,
			  const struct np_subject *subject, size_t n, struct np_err *err)
{
	*c = (struct np_counters) { .machine = m, .subject = subject, .n = n, .user_only = true };
	return open_from(c, NULL, err);
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
