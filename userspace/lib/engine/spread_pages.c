// SPDX-License-Identifier: GPL-2.0-only
#include "spread_pages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../host/proc.h"
#include "page_sender.h"

/* Base pages that are looked at together: as many as a huge page has. */
#define WINDOW 512

struct spreader {
	const struct np_migrate_request *r;
	struct np_migrate_result *out;
	struct np_sender sender;
	double placed[NP_MAX_NODES], done; /* base pages seen so far, by where they are now */
	/* Of the pages of the window, by number. */
	int before[WINDOW], now[WINDOW], to[WINDOW], error[WINDOW];
};

void np_spread_choose(const int *node, size_t n, const double *share, const double *placed,
		      double done, size_t nodes, int *to)
{
	double over[nodes], here[nodes], taken[nodes], part[nodes];

	memset(here, 0, sizeof(here));
	for (size_t i = 0; i < n; i++)
		if (node[i] >= 0 && (size_t)node[i] < nodes)
			here[node[i]]++, done++;
	for (size_t j = 0; j < nodes; j++) {
		over[j] = placed[j] + here[j] - share[j] * done;
		part[j] = over[j] > 0 && here[j] > 0 ? over[j] / here[j] : 0;
		taken[j] = 0.5;
	}
	for (size_t i = 0; i < n; i++) {
		size_t least = 0;

		to[i] = -1;
		if (node[i] < 0 || (size_t)node[i] >= nodes)
			continue;
		taken[node[i]] += part[node[i]] < 1 ? part[node[i]] : 1;
		if (taken[node[i]] < 1)
			continue;
		taken[node[i]] -= 1;
		for (size_t j = 1; j < nodes; j++)
			if (over[j] < over[least])
				least = j;
		if (over[least] > -0.5 || over[node[i]] < 0.5)
			continue;
		to[i] = (int)least;
		over[least]++;
		over[node[i]]--;
	}
}

static bool is_node(const struct spreader *s, int node)
{
	return node >= 0 && (size_t)node < s->r->n_nodes;
}

/*
 * Sends the pages that are still where they were and are to go to `to`; error[] gets what became of
 * them.
 */
static void add_for(struct spreader *s, const struct np_window *w, int to, size_t *number)
{
	for (size_t i = 0; i < w->n; i++) {
		if (s->to[i] != to || s->now[i] != s->before[i])
			continue;
		number[s->sender.n] = i;
		np_sender_add(&s->sender, w->page[i], w->weight[i], to);
	}
}

static int send(struct spreader *s, const size_t *number)
{
	int e = np_send(&s->sender);

	for (size_t i = 0; i < s->sender.n; i++)
		s->error[number[i]] = s->sender.error[i];
	s->sender.n = 0;
	return e;
}

/*
 * Pages by target: every change of it is a call's next batch. Those of the first go
 * alone: the kernel moves a huge page whole, and what came along is not sent on.
 */
static int send_window(struct spreader *s, const struct np_window *w)
{
	size_t number[WINDOW];
	bool first = true;
	int e = 0;

	for (size_t node = 0; !e && node < s->r->n_nodes; node++) {
		add_for(s, w, (int)node, number);
		if (!first || !s->sender.n)
			continue;
		first = false;
		e = send(s, number);
		if (!e)
			e = np_sender_ask(&s->sender, w->page, w->n, s->now);
	}
	if (!e && s->sender.n) {
		e = send(s, number);
		if (!e)
			e = np_sender_ask(&s->sender, w->page, w->n, s->now);
	}
	return e;
}

/* Page i of the window is counted by where it is now. */
static void account(struct spreader *s, const struct np_window *w, size_t i)
{
	struct np_migrate_result *out = s->out;
	uint32_t weight = w->weight[i];

	if (is_node(s, s->now[i])) {
		s->placed[s->now[i]] += weight;
		s->done += weight;
	}
	if (s->error[i] == NP_SENT)
		return; /* counted when it was sent */
	if (is_node(s, s->now[i]) && s->now[i] != s->before[i]) {
		out->asked += weight;
		out->moved += weight;
		out->bytes += weight * s->sender.page_size;
	} else if (s->to[i] < 0) {
		out->asked += weight;
		out->already += weight;
	} else {
		np_sender_count(out, s->error[i] < 0 ? s->error[i] : -EBUSY, weight);
	}
}

/* Leaves pages of files where they are, as not to be counted: on no node. */
static void leave_files(struct spreader *s, const struct np_window *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (!(w->entry[i] & NP_PAGE_FILE) || !is_node(s, s->before[i]))
			continue;
		s->out->asked += w->weight[i];
		s->out->file += w->weight[i];
		s->before[i] = -1;
	}
}

/* Spreads the pages of a window. */
static int each(const struct np_window *w, void *arg)
{
	struct spreader *s = arg;
	int e = np_sender_ask(&s->sender, w->page, w->n, s->before);

	if (e)
		return e;
	if (!s->r->files)
		leave_files(s, w);
	np_spread_choose(s->before, w->n, s->r->share, s->placed, s->done, s->r->n_nodes, s->to);
	memcpy(s->now, s->before, w->n * sizeof(*s->now));
	memset(s->error, 0, sizeof(s->error));
	e = send_window(s, w);
	for (size_t i = 0; !e && i < w->n; i++)
		if (is_node(s, s->before[i]))
			account(s, w, i);
	return e ? e : np_sender_go_on(&s->sender);
}

static bool is_spread(const struct np_vma_range *range, void *arg)
{
	const struct spreader *s = arg;

	return s->r->files || (!range->hugetlb && !range->chosen);
}

int np_spread_pages(const struct np_migrate_request *r, struct np_migrate_result *out,
		    struct np_err *err)
{
	struct spreader s = { .r = r, .out = out, .sender = { .r = r, .out = out, .err = err } };
	struct np_page_walk walk = {
		.room = WINDOW,
		.aligned = true,
		.wanted = is_spread,
		.each = each,
		.arg = &s,
	};
	struct np_proc_stat st;
	int e = np_proc_check(r->pid, false, &st, err);

	return e ? e : np_sender_walk(&s.sender, &walk);
}
