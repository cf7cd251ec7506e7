// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads of which each needs the one before: all lines of a slice in one
 * cycle. With page groups the cycle stays in so many pages before it goes on
 * to the next ones, so that their translations stay cached.
 */
#include "../emit.h"
#include "random.h"
#include "worker.h"

#include <unistd.h>

#define HOPS 16384 /* between two looks at the clock */

struct line {
	struct line *next;
	char rest[NP_LINE - sizeof(struct line *)];
};

static struct line *lines_of(const struct np_slice *s)
{
	return (struct line *)np_slice_start(s, s->w->array[0]);
}

static size_t group_lines(const struct np_slice *s)
{
	size_t lines = s->w->choice.group * (sysconf(_SC_PAGESIZE) / NP_LINE);

	return lines && lines < s->lines ? lines : s->lines;
}

/* Sattolo's shuffle of n lines that point at themselves: one cycle through all of them. */
static void link_group(struct line *line, size_t n, struct np_random *random)
{
	struct line *kept;

	for (size_t i = n - 1; i; i--) {
		size_t j = np_random_below(random, i);

		kept = line[i].next;
		line[i].next = line[j].next;
		line[j].next = kept;
	}
}

static struct line *before(struct line *wanted)
{
	struct line *at = wanted;

	while (at->next != wanted)
		at = at->next;
	return at;
}

static int fill(struct np_slice *s)
{
	struct np_random random = np_random_from(s->w->choice.seed + s->number);
	struct line *line = lines_of(s), *last = NULL, *end;
	size_t group = group_lines(s), n;

	for (size_t i = 0; i < s->lines; i++)
		line[i].next = &line[i];
	for (size_t g = 0; g < s->lines; g += group) {
		n = s->lines - g < group ? s->lines - g : group;
		link_group(line + g, n, &random);
		end = before(line + g);
		if (last)
			last->next = line + g;
		last = end;
	}
	if (last)
		last->next = line;
	s->at = line;
	return 0;
}

static uint64_t pass(struct np_slice *s)
{
	struct line *at = s->at;

	for (unsigned int i = 0; i < HOPS; i += 8)
		at = at->next->next->next->next->next->next->next->next;
	s->at = at;
	return HOPS;
}

/* Lines that the cycle misses or meets too early, and the walk's end where it should not be. */
static size_t errors(struct np_slice *s)
{
	struct line *first = lines_of(s), *at = first;
	size_t seen = 0, left = s->operations % s->lines;
	bool end_is_right = false;

	do {
		end_is_right |= seen == left && at == s->at;
		at = at->next;
		seen++;
	} while (at >= first && at < first + s->lines && at != first && seen < s->lines);
	return s->lines - seen + (at != first) + !end_is_right;
}

static double credited(const struct np_worker *w)
{
	(void)w;
	return sizeof(struct line *);
}

static double bus(const struct np_worker *w)
{
	(void)w;
	return NP_LINE;
}

const struct np_kernel np_chase = {
	.name = "chase",
	.summary = "a cycle of lines, each load waits for the one before",
	.operation = "hop",
	.arrays = 1,
	.fill = fill,
	.pass = pass,
	.errors = errors,
	.credited = credited,
	.bus = bus,
};
