// SPDX-License-Identifier: GPL-2.0-only
#include "move.h"

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
#include "proc.h"

/* Pages looked at in one go: large calls, bounded memory. */
#define WINDOW 32768
#define MIN_CALL 64
/* A page that is busy is often free a moment later. */
#define PASSES 3
#define PASS_NAP_NS 2000000L

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FILE (1ull << 61)

/* In mover.error[], besides 0 (not tried yet) and the -errno of the last try. */
#define MOVED 1
#define FILE_PAGE 2

struct mover {
	const struct np_migrate_request *r;
	struct np_migrate_result *out;
	uint64_t page_size, began;
	int pagemap;
	size_t n;			/* pages in the window */
	void **page;
	uint32_t *weight;		/* base pages in each */
	int *error;			/* 0: not tried yet, -errno, MOVED or FILE_PAGE */
	size_t call;			/* pages in the next call */
	/* Arguments of one call. */
	void **arg;
	size_t *index;
	int *node, *status;
	char *err;
	size_t err_len;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

void np_move_count(struct np_migrate_result *out, int error, uint64_t weight)
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

size_t np_move_tried(const int *status, size_t n)
{
	size_t last = n, unset = n;

	for (size_t i = 0; i < n; i++) {
		if (status[i] != NP_STATUS_UNSET)
			last = i;
		else if (unset == n)
			unset = i;
	}
	/* A page whose status is stored ends a batch; if that batch failed, nothing follows. */
	return last != n && unset < last ? last + 1 : n;
}

static int call_failed(struct mover *m, int e)
{
	pid_t pid = m->r->pid;

	switch (e) {
	case -EPERM:
		return np_proc_denied(pid, "move the pages of", m->err, m->err_len);
	case -ENODEV:
		return np_fail(m->err, m->err_len, e, "node %d has no memory to move pages to",
			       m->r->to);
	case -EACCES:
		return np_fail(m->err, m->err_len, e,
			       "the cpuset of process %d or of this shell does not allow node %d",
			       pid, m->r->to);
	case -ESRCH:
		return np_fail(m->err, m->err_len, e, "process %d has exited", pid);
	default:
		return np_fail(m->err, m->err_len, e, "pages of process %d cannot be moved: %s", pid,
			       strerror(-e));
	}
}

/* Where the n pages of m->arg are, into m->status. */
static int query(struct mover *m, size_t n)
{
	if (move_pages(m->r->pid, n, m->arg, NULL, m->status, 0) < 0)
		return call_failed(m, -errno);
	return 0;
}

/* Keeps to the rate: sleeps until the bytes moved so far are due. */
static void pace(struct mover *m)
{
	uint64_t due, passed;

	if (!m->r->rate_mib)
		return;
	due = m->out->bytes * 1000 / m->r->rate_mib * 1000000 / (1024 * 1024);
	passed = now_ns() - m->began;
	if (due > passed)
		nap_ns(due - passed);
}

/* The next call's size: as much as fits into the longest stall allowed, and 0.1 s of the rate. */
static void adapt(struct mover *m, size_t n, uint64_t ns)
{
	uint64_t want = WINDOW;

	if (m->r->max_stall_us && ns)
		want = (uint64_t)n * m->r->max_stall_us * 1000 / ns;
	if (m->r->max_stall_us && want > m->call * 2)
		want = m->call * 2;
	if (m->r->rate_mib && want > m->r->rate_mib * 1024ull * 1024 / m->page_size / 10)
		want = m->r->rate_mib * 1024ull * 1024 / m->page_size / 10;
	m->call = want < MIN_CALL ? MIN_CALL : want > WINDOW ? WINDOW : (size_t)want;
}

/* Settles the pages of one call by where they are now. tried: how many the call got to. */
static int settle(struct mover *m, size_t n, size_t tried)
{
	struct np_migrate_result *out = m->out;
	int e;

	for (size_t i = 0; i < tried; i++) {
		int status = m->status[i];

		m->error[m->index[i]] = status < 0 && status != NP_STATUS_UNSET ? status : -EBUSY;
	}
	e = query(m, n);
	if (e)
		return e;
	for (size_t i = 0; i < n; i++) {
		size_t at = m->index[i];

		if (m->status[i] != m->r->to)
			continue;
		m->error[at] = MOVED;
		out->asked += m->weight[at];
		out->moved += m->weight[at];
		out->bytes += m->weight[at] * m->page_size;
	}
	out->ns = now_ns() - m->began;
	return 0;
}

/* Moves the n pages of m->arg and settles them. Sets *tried. */
static int move_call(struct mover *m, size_t n, size_t *tried)
{
	uint64_t before = now_ns();
	long left;
	int e;

	for (size_t i = 0; i < n; i++) {
		m->node[i] = m->r->to;
		m->status[i] = NP_STATUS_UNSET;
	}
	left = move_pages(m->r->pid, n, m->arg, m->node, m->status, MPOL_MF_MOVE);
	if (left < 0 && errno != ENOENT)
		return call_failed(m, -errno);
	*tried = left > 0 ? np_move_tried(m->status, n) : n;
	adapt(m, n, now_ns() - before);
	e = settle(m, n, *tried);
	if (e)
		return e;
	pace(m);
	if (m->r->progress && !m->r->progress(m->out, m->r->progress_arg))
		return np_fail(m->err, m->err_len, -ECANCELED, "cancelled");
	return 0;
}

/* Tries every page of the window whose last answer was last (0 or -EBUSY). */
static int move_pass(struct mover *m, int last)
{
	size_t at = 0;

	while (at < m->n) {
		size_t n = 0, tried = 0;
		int e;

		for (; at < m->n && n < m->call; at++) {
			if (m->error[at] != last)
				continue;
			m->arg[n] = m->page[at];
			m->index[n++] = at;
		}
		if (!n)
			break;
		e = move_call(m, n, &tried);
		if (e)
			return e;
		if (tried < n)
			at = m->index[tried];	/* go on with those it did not get to */
	}
	return 0;
}

/* Sorts out what need not move: status says where each page of the window is. */
static int look(struct mover *m)
{
	const struct bitmask *from = m->r->from;
	size_t kept = 0;
	int e;

	memcpy(m->arg, m->page, m->n * sizeof(*m->arg));
	e = query(m, m->n);
	if (e)
		return e;
	for (size_t i = 0; i < m->n; i++) {
		int node = m->status[i];

		if (node == m->r->to) {
			m->out->asked += m->weight[i];
			m->out->already += m->weight[i];
		} else if (node < 0) {
			np_move_count(m->out, node, m->weight[i]);
		} else if (from && !numa_bitmask_isbitset(from, (unsigned int)node)) {
			continue;	/* not asked for */
		} else if (m->error[i] == FILE_PAGE) {
			m->out->asked += m->weight[i];
			m->out->file += m->weight[i];
		} else {
			m->page[kept] = m->page[i];
			m->weight[kept] = m->weight[i];
			m->error[kept++] = 0;
		}
	}
	m->n = kept;
	return 0;
}

static bool any_busy(const struct mover *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->error[i] == -EBUSY)
			return true;
	return false;
}

/* Moves what is in the window and empties it. */
static int flush(struct mover *m)
{
	int e = m->n ? look(m) : 0;

	for (int pass = 0; !e && pass < PASSES; pass++) {
		if (pass)
			nap_ns(PASS_NAP_NS);
		e = move_pass(m, pass ? -EBUSY : 0);
		if (!any_busy(m))
			break;
	}
	for (size_t i = 0; i < m->n; i++)
		if (m->error[i] < 0)
			np_move_count(m->out, m->error[i], m->weight[i]);
	m->n = 0;
	return e;
}

/* Puts the resident pages of one area into the window, page by page. */
static int scan_area(struct mover *m, const struct np_area *a)
{
	uint64_t entry[512], step = a->page_size / m->page_size;
	int e = 0;

	for (uint64_t at = a->start; !e && at < a->end;) {
		uint64_t left = (a->end - at) / m->page_size, want = left < 512 ? left : 512;
		ssize_t got = pread(m->pagemap, entry, want * sizeof(*entry),
				    (off_t)(at / m->page_size * sizeof(*entry)));
		size_t n = got > 0 ? (size_t)got / sizeof(*entry) : 0;

		if (got < 0)
			return call_failed(m, -errno);
		if (!n)
			break;	/* the process has gone, or the area */
		for (size_t i = 0; !e && i < n; i += step) {
			if (entry[i] & PAGEMAP_SWAPPED)
				np_move_count(m->out, -ENOENT, step);
			if (!(entry[i] & PAGEMAP_PRESENT))
				continue;
			/* Of a file or shared memory: others may use it; left alone as by the module. */
			m->error[m->n] = entry[i] & PAGEMAP_FILE ? FILE_PAGE : 0;
			m->page[m->n] = (void *)(uintptr_t)(at + i * m->page_size);
			m->weight[m->n++] = (uint32_t)step;
			if (m->n == WINDOW)
				e = flush(m);
		}
		at += (n < step ? step : n / step * step) * m->page_size;
	}
	return e;
}

static int mover_open(struct mover *m)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", m->r->pid);
	m->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (m->pagemap < 0)
		return errno == EACCES ? call_failed(m, -EPERM) : call_failed(m, -errno);
	m->page = calloc(WINDOW, sizeof(*m->page));
	m->weight = calloc(WINDOW, sizeof(*m->weight));
	m->error = calloc(WINDOW, sizeof(*m->error));
	m->arg = calloc(WINDOW, sizeof(*m->arg));
	m->index = calloc(WINDOW, sizeof(*m->index));
	m->node = calloc(WINDOW, sizeof(*m->node));
	m->status = calloc(WINDOW, sizeof(*m->status));
	if (!m->page || !m->weight || !m->error || !m->arg || !m->index || !m->node || !m->status)
		return np_fail(m->err, m->err_len, -ENOMEM, "out of memory");
	return 0;
}

static void mover_close(struct mover *m)
{
	if (m->pagemap >= 0)
		close(m->pagemap);
	free(m->page);
	free(m->weight);
	free(m->error);
	free(m->arg);
	free(m->index);
	free(m->node);
	free(m->status);
}

int np_move_pages(const struct np_migrate_request *r, struct np_migrate_result *out,
		  char *err, size_t err_len)
{
	struct mover m = { .r = r, .out = out, .pagemap = -1, .err = err, .err_len = err_len };
	struct np_area *areas = NULL;
	size_t n = 0;
	int e;

	memset(out, 0, sizeof(*out));
	out->engine = "syscall";
	m.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	m.began = now_ns();
	m.call = r->max_stall_us ? 1024 : WINDOW;
	adapt(&m, 0, 0);
	e = np_areas(r->pid, m.page_size, r->start, r->end, &areas, &n);
	if (e)
		e = call_failed(&m, e == -EACCES ? -EPERM : e);
	else
		e = mover_open(&m);
	for (size_t i = 0; !e && i < n; i++)
		e = scan_area(&m, &areas[i]);
	if (!e)
		e = flush(&m);
	out->ns = now_ns() - m.began;
	mover_close(&m);
	free(areas);
	return e;
}
