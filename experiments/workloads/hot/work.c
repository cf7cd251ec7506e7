// SPDX-License-Identifier: GPL-2.0-only
#include "../emit.h"
#include "../pages.h"
#include "hot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCH	256
#define SAMPLES 1024
#define STEP	4096	   /* lines by which memory grows */
#define GROWN	0.75	   /* of the time, in which it grows */
#define LATE	(2.0 / 3)  /* of the time, from which on operations are also counted apart */
#define SPREAD	2654435761 /* a prime above every number of pages: ranks times it meet every page */

static size_t page_lines(void)
{
	return sysconf(_SC_PAGESIZE) / HOT_LINE;
}

static uint64_t odd(size_t line)
{
	return 2 * line + 1;
}

size_t hot_page_of(size_t rank, size_t pages)
{
	return rank * SPREAD % pages;
}

/* The hottest of all pages have the first quantiles. */
static int distribute(const struct hot_options *o, struct hot_worker *w)
{
	size_t pages = w->lines / page_lines(), rank = 0;
	double total = 0, sum = 0;

	w->page_at = malloc(HOT_QUANTILES * sizeof(*w->page_at));
	if (!w->page_at)
		return -ENOMEM;
	for (size_t k = 1; k <= pages; k++)
		total += pow(k, -o->zipf);
	for (size_t q = 0; q < HOT_QUANTILES; q++) {
		while (rank < pages && sum * HOT_QUANTILES <= total * q)
			sum += pow(++rank, -o->zipf);
		w->page_at[q] = hot_page_of(rank - 1, pages);
	}
	return 0;
}

static void touch(struct hot_worker *w, size_t lines)
{
	for (; w->filled < lines; w->filled += page_lines())
		w->line[w->filled].stamp = odd(w->filled);
}

int hot_fill(const struct hot_options *o, struct hot_worker *w)
{
	int err = np_pages_map((char **)&w->line, w->lines * HOT_LINE, NP_PAGES_DEFAULT);

	if (!err && o->zipf > 0)
		err = distribute(o, w);
	if (!err)
		touch(w, o->pattern == HOT_GROWTH ? w->hot_lines : w->lines);
	return err;
}

/* What is hot at this time. */
static struct hot_span hot_span(const struct hot_options *o, const struct hot_worker *w,
				double elapsed)
{
	unsigned long turn = elapsed > 0 ? elapsed / o->period : 0;

	switch (o->pattern) {
	case HOT_MOVING:
		return (struct hot_span) { turn % (w->lines / w->hot_lines) * w->hot_lines,
					   w->hot_lines };
	case HOT_GROWTH:
		return (struct hot_span) { w->filled - w->hot_lines, w->hot_lines };
	case HOT_PHASES:
		return (struct hot_span) { 0, turn % 2 == w->tenant ? w->hot_lines : 0 };
	default:
		return (struct hot_span) { 0, w->hot_lines };
	}
}

static inline size_t pick(const struct hot_worker *w, struct hot_span s, uint64_t r)
{
	if (w->page_at)
		return w->page_at[r / (UINT64_MAX / HOT_QUANTILES + 1)] * page_lines() +
		       (r >> 8) % page_lines();
	return s.first + ((r >> 32) * s.lines >> 32);
}

static void access_hot(const struct hot_options *o, struct hot_worker *w, struct hot_span s)
{
	unsigned int writes = o->writes * 2.56;
	struct np_random random = w->random;
	uint64_t r, sum = 0;
	size_t at;

	for (unsigned int i = 0; i < BATCH; i++) {
		r = np_random_next(&random);
		at = pick(w, s, r);
		if ((r & 0xff) < writes) {
			w->line[at].written += odd(at);
			w->writes++;
		} else {
			sum += w->line[at].written;
		}
	}
	w->random = random;
	w->sink += sum;
}

static void scan(struct hot_worker *w)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		w->sink += w->line[w->scanned].written;
		w->scanned = w->scanned + 1 < w->lines ? w->scanned + 1 : 0;
	}
}

static void grow(const struct hot_options *o, struct hot_worker *w, double elapsed)
{
	double part = elapsed / (GROWN * o->seconds);
	size_t wanted = w->hot_lines + (w->lines - w->hot_lines) * (part < 1 ? part : 1);

	if (wanted >= w->filled + STEP || part >= 1)
		touch(w, wanted / page_lines() * page_lines());
}

void hot_work(const struct hot_options *o, struct hot_worker *w, double begin)
{
	double end = begin + o->seconds, now = np_now(), before;
	struct hot_span hot;

	while (now < end) {
		if (o->pattern == HOT_GROWTH)
			grow(o, w, now - begin);
		if (o->pattern == HOT_SCAN)
			scan(w);
		hot = hot_span(o, w, now - begin);
		if (o->oracle)
			hot_place(o, w, hot);
		if (!hot.lines) {
			before = begin + (floor((now - begin) / o->period) + 1) * o->period;
			np_sleep_until(before < end ? before : end);
			now = np_now();
			continue;
		}
		before = np_now();
		access_hot(o, w, hot);
		now = np_now();
		np_histogram_add(&w->latency, (now - before) * 1e9, 1);
		w->operations += BATCH;
		if (now - begin >= LATE * o->seconds)
			w->late += BATCH;
	}
}

void hot_sample(const struct hot_options *o, struct hot_worker *w, double elapsed, double *nodes)
{
	struct np_random random = np_random_from(o->seed + 1);
	struct hot_span hot = hot_span(o, w, elapsed);
	void *address[SAMPLES];
	int status[SAMPLES];

	if (!hot.lines)
		return;
	for (unsigned int i = 0; i < SAMPLES; i++)
		address[i] = &w->line[pick(w, hot, np_random_next(&random))];
	if (numa_move_pages(0, SAMPLES, address, NULL, status, 0))
		return;
	for (unsigned int i = 0; i < SAMPLES; i++)
		if (status[i] >= 0 && status[i] < HOT_NODES)
			nodes[status[i]]++;
}

bool hot_verify(const struct hot_worker *w)
{
	uint64_t writes = 0;

	for (size_t k = 0; k < w->filled; k++) {
		if (w->line[k].stamp != (k % page_lines() ? 0 : odd(k)) ||
		    w->line[k].written % odd(k))
			return false;
		writes += w->line[k].written / odd(k);
	}
	return writes == w->writes;
}
