// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads of which each needs the one before: all lines of a slice in one
 * cycle. With page groups the cycle stays in so many pages before it goes on
 * to the next ones, so that their translations stay cached. Several chains walk
 * the same cycle, evenly apart, so that as many loads are in flight.
 */
#include "../emit.h"
#include "chase.h"
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define HOPS	   1024 /* between two looks at the clock, of each chain */
#define MAX_CHAINS 16	/* more than a core keeps in flight would say no more */

static struct np_chase_line *lines_of(const struct np_slice *s)
{
	return (struct np_chase_line *)np_slice_start(s, s->w->array[0]);
}

static size_t group_lines(const struct np_slice *s)
{
	size_t lines = s->w->choice.group * (sysconf(_SC_PAGESIZE) / NP_LINE);

	return lines && lines < s->lines ? lines : s->lines;
}

/* Sattolo's shuffle of lines that point at themselves: one cycle through all of them. */
void np_chase_link(struct np_chase_line *line, size_t n, struct np_random *random)
{
	struct np_chase_line *kept;

	for (size_t i = 0; i < n; i++)
		line[i] = (struct np_chase_line) { .next = &line[i] };
	for (size_t i = n - 1; i; i--) {
		size_t j = np_random_below(random, i);

		kept = line[i].next;
		line[i].next = line[j].next;
		line[j].next = kept;
	}
}

size_t np_chase_lines(const struct np_chase_line *first, size_t n)
{
	const struct np_chase_line *at = first;
	size_t seen = 0;

	do {
		at = at->next;
		seen++;
	} while (at >= first && at < first + n && at != first && seen < n);
	return at == first ? seen : 0;
}

static unsigned int chains_of(const struct np_worker *w)
{
	return w->choice.chains ? w->choice.chains : 1;
}

static int choose(struct np_worker *w)
{
	unsigned int chains = chains_of(w);

	if (chains > MAX_CHAINS || (chains & (chains - 1)))
		return np_fail("--chains %u: needs 1, 2, 4, 8 or %d", chains, MAX_CHAINS);
	return 0;
}

static struct np_chase_line *before(struct np_chase_line *wanted)
{
	struct np_chase_line *at = wanted;

	while (at->next != wanted)
		at = at->next;
	return at;
}

/* Evenly apart on the cycle: all walk at one pace, so none meets what another has just loaded. */
static int start_chains(struct np_slice *s)
{
	unsigned int chains = chains_of(s->w);
	struct np_chase_line **place = calloc(chains, sizeof(*place)), *at = lines_of(s);

	if (!place)
		return -ENOMEM;
	for (size_t hop = 0, k = 0; k < chains; hop++, at = at->next)
		if (hop == s->lines * k / chains)
			place[k++] = at;
	s->at = place;
	return 0;
}

static int fill(struct np_slice *s)
{
	struct np_random random = np_random_from(s->w->choice.seed + s->number);
	struct np_chase_line *line = lines_of(s), *last = NULL, *end;
	size_t group = group_lines(s), n;

	for (size_t g = 0; g < s->lines; g += group) {
		n = s->lines - g < group ? s->lines - g : group;
		np_chase_link(line + g, n, &random);
		end = before(line + g);
		if (last)
			last->next = line + g;
		last = end;
	}
	if (last)
		last->next = line;
	return start_chains(s);
}

/* A function for each number of chains: the places stay in registers. */
#define WALK(n) \
	static void walk_##n(struct np_chase_line **place) \
	{ \
		struct np_chase_line *at[n]; \
\
		for (unsigned int k = 0; k < (n); k++) \
			at[k] = place[k]; \
		for (unsigned int i = 0; i < HOPS / 8; i++) { \
			_Pragma("GCC unroll 8") for (unsigned int hop = 0; hop < 8; hop++) \
				_Pragma("GCC unroll 16") for (unsigned int k = 0; k < (n); k++) \
					at[k] = at[k]->next; \
		} \
		for (unsigned int k = 0; k < (n); k++) \
			place[k] = at[k]; \
	}

WALK(1)
WALK(2)
WALK(4)
WALK(8)
WALK(16)

static uint64_t pass(struct np_slice *s)
{
	struct np_chase_line **place = s->at;

	switch (chains_of(s->w)) {
	case 1:
		walk_1(place);
		break;
	case 2:
		walk_2(place);
		break;
	case 4:
		walk_4(place);
		break;
	case 8:
		walk_8(place);
		break;
	default:
		walk_16(place);
	}
	return HOPS * chains_of(s->w);
}

/* Lines that the cycle misses or meets too early, and walks that end where they should not. */
static size_t errors(struct np_slice *s)
{
	struct np_chase_line *first = lines_of(s), *at = first, **place = s->at;
	unsigned int chains = chains_of(s->w), right = 0;
	size_t seen = 0, walked = s->operations / chains;

	do {
		for (unsigned int k = 0; k < chains; k++)
			right += at == place[k] &&
				 (s->lines * k / chains + walked) % s->lines == seen;
		at = at->next;
		seen++;
	} while (at >= first && at < first + s->lines && at != first && seen < s->lines);
	return s->lines - seen + (at != first) + chains - right;
}

const struct np_kernel np_chase = {
	.name = "chase",
	.summary = "a cycle of lines, each load waits for the one before",
	.operation = "hop",
	.arrays = 1,
	.choose = choose,
	.fill = fill,
	.pass = pass,
	.errors = errors,
	.credited_bytes = sizeof(struct np_chase_line *),
	.bus_bytes = NP_LINE,
};
