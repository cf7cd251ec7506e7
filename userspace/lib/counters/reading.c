// SPDX-License-Identifier: GPL-2.0-only
/* Counts, why one is missing, and what is derived of readings. */
#include "counters.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *np_event_name(enum np_event e)
{
	static const char *const name[NP_EVENTS] = {
		[NP_CYCLES] = "cycles",
		[NP_INSTRUCTIONS] = "instructions",
		[NP_LLC_REFERENCES] = "llc_references",
		[NP_LLC_MISSES] = "llc_misses",
		[NP_LOCAL_DRAM] = "local_dram",
		[NP_REMOTE_DRAM] = "remote_dram",
		[NP_REMOTE_CACHE] = "remote_cache",
	};

	return name[e];
}

const char *np_why(const char *format, ...)
{
	static struct text {
		struct text *next;
		char text[];
	} *known;
	char line[2 * NP_ERR_LEN];
	struct text *t;
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	for (t = known; t; t = t->next)
		if (!strcmp(t->text, line))
			return t->text;
	t = malloc(sizeof(*t) + strlen(line) + 1);
	if (!t)
		return "there is no memory to say why";
	strcpy(t->text, line);
	t->next = known;
	known = t;
	return t->text;
}

struct np_count np_count_missing(const char *why)
{
	return (struct np_count) { .why = why };
}

struct np_reading np_reading_between(const struct np_reading *before,
				     const struct np_reading *after)
{
	struct np_reading r = *after;

	r.seconds -= before->seconds;
	for (int e = 0; e < NP_EVENTS; e++) {
		struct np_count *c = &r.event[e];

		/* A source that knows the total all the same has left it there. */
		if (c->source && !before->event[e].source && !(before->event[e].value > 0))
			*c = np_count_missing(before->event[e].why);
		c->value -= c->source ? before->event[e].value : 0;
		if (c->value < 0) /* scaling can go back by a little */
			c->value = 0;
	}
	return r;
}

void np_reading_add(struct np_reading *sum, const struct np_reading *part)
{
	for (int e = 0; e < NP_EVENTS; e++) {
		struct np_count *s = &sum->event[e];
		const struct np_count *p = &part->event[e];

		if (s->why)
			continue;
		if (!p->source) {
			*s = *p;
			continue;
		}
		s->share = s->source && s->share < p->share ? s->share : p->share;
		s->source = p->source;
		s->value += p->value;
	}
	sum->seconds = part->seconds;
}

static struct np_count ratio(const struct np_count *part, const struct np_count *of, double factor)
{
	struct np_count c = *of;

	if (!part->source)
		return np_count_missing(part->why);
	if (!of->source)
		return np_count_missing(of->why);
	if (!(of->value > 0))
		return np_count_missing("nothing was counted in that time");
	c.value = part->value / of->value * factor;
	if (part->share < c.share)
		c.share = part->share;
	return c;
}

struct np_count np_reading_ipc(const struct np_reading *r)
{
	return ratio(&r->event[NP_INSTRUCTIONS], &r->event[NP_CYCLES], 1);
}

struct np_count np_reading_cpi(const struct np_reading *r)
{
	return ratio(&r->event[NP_CYCLES], &r->event[NP_INSTRUCTIONS], 1);
}

struct np_count np_reading_mpki(const struct np_reading *r)
{
	return ratio(&r->event[NP_LLC_MISSES], &r->event[NP_INSTRUCTIONS], 1000);
}

struct np_count np_reading_local_share(const struct np_reading *r)
{
	struct np_count all = r->event[NP_REMOTE_DRAM];

	if (all.source)
		all.value += r->event[NP_LOCAL_DRAM].value;
	return ratio(&r->event[NP_LOCAL_DRAM], &all, 1);
}
