// SPDX-License-Identifier: GPL-2.0-only
/*
 * np-batch MIB FROM TO PAGES small|huge
 *
 * Moves MIB of a fresh process from node FROM to node TO, in calls of
 * move_pages(2) of PAGES pages each, and prints one JSON object. A thread of the
 * process writes to the first page all the while, another to all of them.
 * PAGES 0: one job of the module.
 */
#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "methods.h"
#include "target.h"

#define PAGE	    4096
#define HUGE	    512	      /* small pages of a huge one */
#define MOST	    512	      /* pages of a call: what the kernel moves at once */
#define BASELINE_NS 50000000L /* without a move, to see what gaps there are anyhow */

/* Of all calls, and of the first. */
struct times {
	uint64_t all, first;
};

static int move_in_calls(const struct target *t, int to, size_t batch, struct times *out)
{
	size_t step = t->huge ? HUGE : 1, count;
	uint64_t began = now_ns();
	int node[MOST], status[MOST];
	void *page[MOST];

	for (size_t at = 0; at < t->pages; at += count * step) {
		for (count = 0; count < batch && at + count * step < t->pages; count++) {
			page[count] = t->memory + (at + count * step) * PAGE;
			node[count] = to;
		}
		if (move_pages(t->pid, count, page, node, status, MPOL_MF_MOVE) < 0)
			return -errno;
		out->all = now_ns() - began;
		if (!at)
			out->first = out->all;
	}
	return 0;
}

static int move_by_a_job(const struct target *t, int to, struct times *out)
{
	struct moved moved = { 0 };
	int e = methods[0].move(t, to, &(struct options) { .text = "" }, &moved);

	out->all = out->first = moved.ns;
	return e;
}

static int observe(struct target *t, int to, size_t batch)
{
	const struct timespec length = { 0, BASELINE_NS };
	struct times times = { 0 };
	uint64_t idle;
	long there;
	int e;

	target_reset_gap(t);
	nanosleep(&length, NULL);
	idle = target_gap(t);
	target_reset_gap(t);
	e = batch ? move_in_calls(t, to, batch, &times) : move_by_a_job(t, to, &times);
	if (e)
		return e;
	there = pages_on(t, to);
	if (there < 0)
		return (int)there;
	printf("{\"kind\": \"%s\", \"batch\": %zu, \"pages\": %zu, \"moved\": %ld, \"ns\": %llu, \"first_call_ns\": %llu,"
	       " \"first_page_gap_ns\": %llu, \"gap_ns\": %llu, \"idle_gap_ns\": %llu,",
	       t->huge ? "huge" : "small", batch, t->pages, there, (unsigned long long)times.all,
	       (unsigned long long)times.first, (unsigned long long)target_gap_of(t, 0),
	       (unsigned long long)target_gap_of(t, 1), (unsigned long long)idle);
	printf(" \"whole\": %s}\n", target_is_whole(t) ? "true" : "false");
	return 0;
}

int main(int argc, char **argv)
{
	struct target t = { .threads = 2, .first = true };
	size_t batch = argc == 6 ? strtoul(argv[4], NULL, 10) : MOST + 1;
	int to, e;

	if (batch > MOST || (strcmp(argv[5], "small") && strcmp(argv[5], "huge"))) {
		fprintf(stderr,
			"usage: np-batch MIB FROM TO PAGES small|huge, with up to %d PAGES\n",
			MOST);
		return 2;
	}
	t.pages = strtoul(argv[1], NULL, 10) * 256;
	t.node = atoi(argv[2]);
	to = atoi(argv[3]);
	t.huge = !strcmp(argv[5], "huge");
	e = target_start(&t);
	if (!e)
		e = run_on_node(to);
	if (!e)
		e = observe(&t, to, batch);
	if (e)
		fprintf(stderr, "np-batch: %zu pages from node %d to node %d: %s\n", t.pages,
			t.node, to, strerror(-e));
	if (t.pid > 0)
		target_stop(&t);
	return e ? 1 : 0;
}
