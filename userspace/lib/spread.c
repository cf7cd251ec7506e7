// SPDX-License-Identifier: GPL-2.0-only
#include "spread.h"

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "areas.h"
#include "list.h"
#include "move.h"
#include "proc.h"

/* Base pages that are looked at together: as many as a huge page has. */
#define WINDOW 512

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_FILE	(1ull << 61)

struct spreader {
	const struct np_spread_request *r;
	struct np_migrate_result *out;
	uint64_t page_size, began;
	int pagemap;
	double placed[NP_MAX_NODES], done;	/* base pages seen so far, by where they are now */
	size_t n, step;				/* pages in the window, base pages in each */
	void *page[WINDOW], *arg[WINDOW];
	int node[WINDOW], before[WINDOW], to[WINDOW];	/* by page */
	int wanted[WINDOW], status[WINDOW];		/* by page that is asked to move */
	char *err;
	size_t err_len;
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

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Keeps to the rate: sleeps until the bytes moved so far are due. */
static void pace(const struct spreader *s)
{
	uint64_t due, passed = now_ns() - s->began;
	struct timespec nap;

	if (!s->r->rate_mib)
		return;
	due = (uint64_t)((double)s->out->bytes / (1024 * 1024) / s->r->rate_mib * 1e9);
	if (due <= passed)
		return;
	nap = (struct timespec) { (time_t)((due - passed) / 1000000000u),
				  (long)((due - passed) % 1000000000u) };
	nanosleep(&nap, NULL);
}

static int failed(struct spreader *s, int e)
{
	pid_t pid = s->r->pid;

	if (e == -EPERM || e == -EACCES)
		return np_proc_denied(pid, "move the pages of", s->err, s->err_len);
	return np_fail(s->err, s->err_len, e, e == -ESRCH ? "process %d has exited" :
		       "pages of process %d cannot be spread: %s", pid, strerror(-e));
}

static int look(struct spreader *s)
{
	return move_pages(s->r->pid, s->n, s->page, NULL, s->node, 0) < 0 ? failed(s, -errno) : 0;
}

static int move(struct spreader *s, size_t n)
{
	uint64_t before = now_ns(), us;

	for (size_t i = 0; i < n; i++)
		s->status[i] = NP_STATUS_UNSET;
	if (n && move_pages(s->r->pid, n, s->arg, s->wanted, s->status, MPOL_MF_MOVE) < 0 &&
	    errno != ENOMEM)
		return failed(s, -errno);
	us = (now_ns() - before) / 1000;
	if (us > s->out->longest_pause_us)
		s->out->longest_pause_us = us;
	return 0;
}

static bool is_node(const struct spreader *s, int node)
{
	return node >= 0 && (size_t)node < s->r->n_nodes;
}

/*
 * Page i, which was on a node, is counted by where it is now: the kernel moves a
 * huge page whole when one page of it is asked for. status: what it said of this one.
 */
static void account(struct spreader *s, size_t i, int status)
{
	struct np_migrate_result *out = s->out;

	if (is_node(s, s->node[i])) {
		s->placed[s->node[i]] += (double)s->step;
		s->done += (double)s->step;
	}
	if (is_node(s, s->node[i]) && s->node[i] != s->before[i]) {
		out->asked += s->step;
		out->moved += s->step;
		out->bytes += s->step * s->page_size;
	} else if (s->to[i] < 0) {
		out->asked += s->step;
		out->already += s->step;
	} else {
		np_move_count(out, status < 0 && status != NP_STATUS_UNSET ? status : -EBUSY, s->step);
	}
}

/* Spreads what is in the window and empties it. */
static int flush(struct spreader *s)
{
	size_t n = 0;
	int e = s->n ? look(s) : 0;

	if (e || !s->n)
		return e;
	np_spread_choose(s->node, s->n, s->r->share, s->placed, s->done, s->r->n_nodes, s->to);
	for (size_t i = 0; i < s->n; i++) {
		if (s->to[i] < 0)
			continue;
		s->arg[n] = s->page[i];
		s->wanted[n++] = s->to[i];
	}
	memcpy(s->before, s->node, s->n * sizeof(*s->node));
	e = move(s, n);
	if (!e)
		e = look(s);
	n = 0;
	for (size_t i = 0; !e && i < s->n; i++) {
		int status = s->to[i] < 0 ? 0 : s->status[n++];

		if (is_node(s, s->before[i]))
			account(s, i, status);
	}
	s->n = 0;
	pace(s);
	if (!e && s->r->progress && !s->r->progress(s->out, s->r->progress_arg))
		return np_fail(s->err, s->err_len, -ECANCELED, "cancelled");
	return e;
}

static int spread_area(struct spreader *s, const struct np_area *a)
{
	uint64_t entry[WINDOW], at = a->start, chunk;
	int e = 0;

	s->step = a->page_size / s->page_size;
	chunk = (s->step > WINDOW ? s->step : WINDOW) * s->page_size;
	for (; !e && at < a->end; at = (at / chunk + 1) * chunk) {
		uint64_t end = (at / chunk + 1) * chunk < a->end ? (at / chunk + 1) * chunk : a->end;
		size_t want = (end - at) / s->page_size;
		ssize_t got = pread(s->pagemap, entry, (want < WINDOW ? want : WINDOW) *
				    sizeof(*entry), (off_t)(at / s->page_size * sizeof(*entry)));

		if (got <= 0)
			return got < 0 && errno != EINTR ? failed(s, -errno) : 0;
		for (size_t i = 0; i < (size_t)got / sizeof(*entry); i += s->step) {
			if (!(entry[i] & PAGEMAP_PRESENT))
				continue;
			if (entry[i] & PAGEMAP_FILE) {
				s->out->asked += s->step;
				s->out->file += s->step;
				continue;
			}
			s->page[s->n++] = (void *)(uintptr_t)(at + i * s->page_size);
		}
		e = flush(s);
	}
	return e;
}

int np_spread_pages(const struct np_spread_request *r, struct np_migrate_result *out,
		    char *err, size_t err_len)
{
	struct spreader s = { .r = r, .out = out, .err = err, .err_len = err_len };
	struct np_area *areas = NULL;
	struct np_proc_stat st;
	char path[64];
	size_t n = 0;
	int e = np_proc_check(r->pid, false, &st, err, err_len);

	memset(out, 0, sizeof(*out));
	out->engine = "syscall";
	if (e)
		return e;
	s.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	s.began = now_ns();
	snprintf(path, sizeof(path), "/proc/%d/pagemap", r->pid);
	s.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	e = s.pagemap < 0 ? -errno : np_areas(r->pid, s.page_size, 0, 0, &areas, &n);
	if (e)
		failed(&s, e);
	for (size_t i = 0; !e && i < n; i++)
		e = spread_area(&s, &areas[i]);
	out->ns = now_ns() - s.began;
	if (s.pagemap >= 0)
		close(s.pagemap);
	free(areas);
	return e;
}
