// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads every line and writes some of them, at a pace: the load beside which
 * a latency is measured. R:W are lines that memory gives and takes back: one
 * of R lines is changed in place, so its store reads no line of its own.
 */
#include "../emit.h"
#include "worker.h"

#include <stdio.h>
#include <string.h>

#define PER_LINE (NP_LINE / sizeof(uint64_t))
#define PIECE	 4096 /* lines between two looks at the clock, fewer at a slow pace */
#define LEAST	 16

/* Different from one word to the next, whatever the array's size. */
static uint64_t value_of(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15;
}

/* Lines of which one is written; 0: none. */
static unsigned int every_of(const struct np_worker *w)
{
	const char *mix = w->choice.mix;

	return !strcmp(mix, "1:1") ? 1 : !strcmp(mix, "2:1") ? 2 : !strcmp(mix, "3:1") ? 3 : 0;
}

static int choose(struct np_worker *w)
{
	if (every_of(w) || !strcmp(w->choice.mix, "1:0"))
		return 0;
	return np_fail("--mix %s: needs 1:0, 3:1, 2:1 or 1:1", w->choice.mix);
}

static int fill(struct np_slice *s)
{
	uint64_t *a = (uint64_t *)np_slice_start(s, s->w->array[0]);

	for (size_t i = 0; i < s->lines * PER_LINE; i++)
		a[i] = value_of(i);
	return 0;
}

static inline void spin(unsigned long long steps)
{
	while (steps--)
		__asm__ volatile("");
}

/* `every` is a constant in each of its calls. */
static inline __attribute__((always_inline)) uint64_t run(uint64_t *a, size_t first, size_t n,
							  unsigned int every,
							  unsigned long long delay)
{
	uint64_t sum = 0;

	for (size_t line = first; line < first + n; line++) {
		uint64_t *word = a + line * PER_LINE;

		for (unsigned int k = 0; k < PER_LINE; k++)
			sum += word[k];
		if (every && line % every == 0)
			for (unsigned int k = 0; k < PER_LINE; k++)
				word[k]++;
		spin(delay);
	}
	return sum;
}

static uint64_t pass(struct np_slice *s)
{
	uint64_t *a = (uint64_t *)np_slice_start(s, s->w->array[0]);
	unsigned long long delay = s->w->choice.delay;
	size_t first = (uintptr_t)s->at, n = PIECE / (1 + delay / 8);

	n = n < LEAST ? LEAST : n;
	if (n >= s->lines - first)
		n = s->lines - first;
	switch (every_of(s->w)) {
	case 0:
		s->sum += run(a, first, n, 0, delay);
		break;
	case 1:
		s->sum += run(a, first, n, 1, delay);
		break;
	case 2:
		s->sum += run(a, first, n, 2, delay);
		break;
	default:
		s->sum += run(a, first, n, 3, delay);
	}
	s->at = (void *)(first + n);
	if (first + n == s->lines) {
		s->at = NULL;
		s->passes++;
	}
	return n;
}

/* Words that are not what so many passes leave, and the sum of all that was read. */
static size_t errors(struct np_slice *s)
{
	const uint64_t *a = (uint64_t *)np_slice_start(s, s->w->array[0]);
	unsigned int every = every_of(s->w);
	uint64_t sum = 0;
	size_t wrong = 0;

	for (size_t line = 0; line < s->lines; line++) {
		uint64_t times = s->passes + (line < (uintptr_t)s->at);
		bool written = every && line % every == 0;

		for (size_t i = line * PER_LINE; i < (line + 1) * PER_LINE; i++) {
			wrong += a[i] != value_of(i) + (written ? times : 0);
			sum += times * value_of(i) + (written ? times * (times - 1) / 2 : 0);
		}
	}
	return wrong + (sum != s->sum);
}

static double bus(const struct np_worker *w)
{
	unsigned int every = every_of(w);

	return NP_LINE + (every ? (double)NP_LINE / every : 0);
}

const struct np_kernel np_mix = {
	.name = "mix",
	.summary = "reads every line and writes some, at a pace",
	.operation = "line",
	.arrays = 1,
	.choose = choose,
	.fill = fill,
	.pass = pass,
	.errors = errors,
	.credited = bus,
	.bus = bus,
};
