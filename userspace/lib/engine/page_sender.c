// SPDX-License-Identifier: GPL-2.0-only
#include "page_sender.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../host/proc.h"

#define MIN_CALL   64
#define FIRST_CALL 1024 /* where a stall must not be long */
/* A page that is busy is often free a moment later. */
#define PASSES	    3
#define PASS_NAP_NS 2000000L

static void nap_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

void np_sender_count(struct np_migrate_result *out, int error, uint64_t weight)
{
	out->asked += weight;
	switch (error) {
	case -ENOENT:
	case -EFAULT:
		out->absent += weight;
		break;
	case -EACCES:
		out->shared += weight;
		break;
	case -ENOMEM:
		out->no_memory += weight;
		break;
	default:
		out->busy += weight;
	}
}

size_t np_sender_tried(const int *node, const int *status, size_t n)
{
	size_t first = 0;

	/* Statuses are stored at a batch's end: the first without one is of the failed batch. */
	while (first < n && status[first] != NP_STATUS_UNSET)
		first++;
	for (size_t i = first + 1; i < n; i++) {
		if (node[i] != node[first])
			return i;
		if (status[i] != NP_STATUS_UNSET) /* its own failure ended the batch */
			return i + 1;
	}
	return n;
}

/* Writes the line about -errno e of the process. Returns e. */
static int failed(struct np_sender *s, int e)
{
	s->said = true;
	switch (e) {
	case -EPERM:
		return np_proc_denied(s->r->pid, "move the pages of", s->err);
	case -ESRCH:
		return np_fail(s->err, e, "process %d has exited", s->r->pid);
	case -ENOMEM:
		return np_fail(s->err, e, "out of memory");
	default:
		return np_fail(s->err, e, "pages of process %d cannot be moved: %s", s->r->pid,
			       strerror(-e));
	}
}

/* n pages of s->arg; the kernel says which node it refuses by where it stopped. */
static int call_failed(struct np_sender *s, size_t n, int e)
{
	size_t at = 0;

	while (at + 1 < n && s->status[at] != NP_STATUS_UNSET)
		at++;
	s->said = true;
	if (e == -ENODEV)
		return np_fail(s->err, e, "node %d has no memory to move pages to", s->node[at]);
	if (e == -EACCES)
		return np_fail(s->err, e,
			       "the cpuset of process %d or of this shell does not allow node %d",
			       s->r->pid, s->node[at]);
	return failed(s, e);
}

int np_sender_ask(struct np_sender *s, void **page, size_t n, int *status)
{
	return move_pages(np_proc_memory_thread(s->r->pid), n, page, NULL, status, 0) < 0 ?
		       failed(s, -errno) :
		       0;
}

uint64_t np_sender_due_ns(uint64_t bytes, unsigned int rate_mib)
{
	return (uint64_t)((double)bytes * 1e9 / (1024.0 * 1024 * rate_mib));
}

/* Keeps to the rate: sleeps until the bytes moved so far are due. */
static void throttle(const struct np_sender *s)
{
	uint64_t due, passed;

	if (!s->r->rate_mib)
		return;
	due = np_sender_due_ns(s->out->bytes, s->r->rate_mib);
	passed = np_clock_ns(CLOCK_MONOTONIC) - s->began;
	if (due > passed)
		nap_ns(due - passed);
}

/* The next call's size: as much as fits into the longest stall allowed, and 0.1 s of the rate. */
static void adapt(struct np_sender *s, size_t n, uint64_t ns)
{
	uint64_t want = s->room;

	if (s->r->max_stall_us && ns)
		want = (uint64_t)n * s->r->max_stall_us * 1000 / ns;
	if (s->r->max_stall_us && want > s->call * 2)
		want = s->call * 2;
	if (s->r->rate_mib && want > s->r->rate_mib * 1024ull * 1024 / s->page_size / 10)
		want = s->r->rate_mib * 1024ull * 1024 / s->page_size / 10;
	s->call = want < MIN_CALL ? MIN_CALL : want > s->room ? s->room : (size_t)want;
}

/*
 * Records the result of each page of one call by where it is now. failed: why those that were
 * tried and have no status stayed.
 */
static int record_results(struct np_sender *s, size_t n, size_t tried, int failed)
{
	struct np_migrate_result *out = s->out;
	int e;

	for (size_t i = 0; i < tried; i++) {
		int status = s->status[i];

		s->error[s->index[i]] = status == NP_STATUS_UNSET ? failed :
					status < 0		  ? status :
								    -EBUSY;
	}
	e = np_sender_ask(s, s->arg, n, s->status);
	if (e)
		return e;
	for (size_t i = 0; i < n; i++) {
		size_t at = s->index[i];

		if (s->status[i] != s->to[at])
			continue;
		s->error[at] = NP_SENT;
		out->asked += s->weight[at];
		out->moved += s->weight[at];
		out->bytes += s->weight[at] * s->page_size;
	}
	out->ns = np_clock_ns(CLOCK_MONOTONIC) - s->began;
	return 0;
}

int np_sender_go_on(struct np_sender *s)
{
	if (!s->r->progress || s->r->progress(s->out, s->r->progress_arg))
		return 0;
	s->said = true;
	return np_fail(s->err, -ECANCELED, "cancelled");
}

/* Sends the n pages of s->arg and records the results. Sets *tried. */
static int send_call(struct np_sender *s, size_t n, size_t *tried)
{
	int flags = s->r->shared ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE, e;
	uint64_t before = np_clock_ns(CLOCK_MONOTONIC), us;
	long left;

	for (size_t i = 0; i < n; i++) {
		s->node[i] = s->to[s->index[i]];
		s->status[i] = NP_STATUS_UNSET;
	}
	left = move_pages(np_proc_memory_thread(s->r->pid), n, s->arg, s->node, s->status, flags);
	e = left < 0 ? -errno : 0;
	if (e && e != -ENOENT && e != -ENOMEM)
		return call_failed(s, n, e);
	us = (np_clock_ns(CLOCK_MONOTONIC) - before) / 1000;
	if (us > s->out->longest_unmapped_us)
		s->out->longest_unmapped_us = us;
	*tried = left > 0 || e == -ENOMEM ? np_sender_tried(s->node, s->status, n) : n;
	adapt(s, n, np_clock_ns(CLOCK_MONOTONIC) - before);
	e = record_results(s, n, *tried, e == -ENOMEM ? e : -EBUSY);
	if (e)
		return e;
	throttle(s);
	return np_sender_go_on(s);
}

/* Tries every page whose last answer was last (0: not tried yet, or -EBUSY). */
static int send_pass(struct np_sender *s, int last)
{
	size_t at = 0;

	while (at < s->n) {
		size_t n = 0, tried = 0;
		int e;

		for (; at < s->n && n < s->call; at++) {
			if (s->error[at] != last)
				continue;
			s->arg[n] = s->page[at];
			s->index[n++] = at;
		}
		if (!n)
			break;
		e = send_call(s, n, &tried);
		if (e)
			return e;
		if (tried < n)
			at = s->index[tried]; /* go on with those it did not get to */
	}
	return 0;
}

static bool any_busy(const struct np_sender *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->error[i] == -EBUSY)
			return true;
	return false;
}

int np_send(struct np_sender *s)
{
	int e = 0;

	for (int pass = 0; !e && pass < PASSES; pass++) {
		if (pass)
			nap_ns(PASS_NAP_NS);
		e = send_pass(s, pass ? -EBUSY : 0);
		if (!any_busy(s))
			break;
	}
	return e;
}

void np_sender_add(struct np_sender *s, void *page, uint32_t weight, int to)
{
	s->page[s->n] = page;
	s->weight[s->n] = weight;
	s->to[s->n] = to;
	s->error[s->n++] = 0;
}

static int make_room(struct np_sender *s, size_t room)
{
	s->room = room;
	s->began = np_clock_ns(CLOCK_MONOTONIC);
	s->call = s->r->max_stall_us && room > FIRST_CALL ? FIRST_CALL : room;
	adapt(s, 0, 0);
	s->page = calloc(room, sizeof(*s->page));
	s->weight = calloc(room, sizeof(*s->weight));
	s->to = calloc(room, sizeof(*s->to));
	s->error = calloc(room, sizeof(*s->error));
	s->arg = calloc(room, sizeof(*s->arg));
	s->index = calloc(room, sizeof(*s->index));
	s->node = calloc(room, sizeof(*s->node));
	s->status = calloc(room, sizeof(*s->status));
	if (s->page && s->weight && s->to && s->error && s->arg && s->index && s->node && s->status)
		return 0;
	return failed(s, -ENOMEM);
}

static void close_sender(struct np_sender *s)
{
	s->out->ns = np_clock_ns(CLOCK_MONOTONIC) - s->began;
	free(s->page);
	free(s->weight);
	free(s->to);
	free(s->error);
	free(s->arg);
	free(s->index);
	free(s->node);
	free(s->status);
}

int np_sender_walk(struct np_sender *s, struct np_page_walk *walk)
{
	int e;

	memset(s->out, 0, sizeof(*s->out));
	s->out->engine = "syscall";
	s->page_size = walk->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	walk->pid = s->r->pid;
	walk->start = s->r->start;
	walk->end = s->r->end;
	e = make_room(s, walk->room);
	if (!e)
		e = np_pages_walk(walk);
	if (e < 0 && !s->said)
		e = failed(s, e == -EACCES ? -EPERM : e);
	close_sender(s);
	return e < 0 ? e : 0;
}
