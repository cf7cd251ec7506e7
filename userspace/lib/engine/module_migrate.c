// SPDX-License-Identifier: GPL-2.0-only
/* A move of pages by the module: a part at a time, by several threads of this process. */
#include <errno.h>
#include <numa.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/cpulist.h"
#include "../base/record.h"
#include "../host/module_files.h"
#include "../host/proc.h"
#include "../host/vma_ranges.h"
#include "module.h"
#include "page_sender.h"

/* Addresses that a thread takes at a time, a power of two: a huge page is in one of them. */
#define PART	   (32ull << 20)
#define LEAST_PART (2ull << 20)

struct move {
	const struct np_migrate_request *r;
	struct np_vma_range *range; /* [n] mapped addresses, by address */
	size_t n;
	uint64_t part;	/* bytes */
	uint64_t began; /* CLOCK_MONOTONIC, ns */

	pthread_mutex_t lock; /* guards the rest */
	size_t next;	      /* range to go on with */
	uint64_t at;	      /* address to go on from */
	struct np_migrate_result *out;
	struct np_err *err; /* of the first error */
	int e;
	bool stop;
};

static void parse_result(const char *line, struct np_migrate_result *out)
{
	np_record_number(line, "asked", &out->asked);
#define X(name) np_record_number(line, #name, &out->name);
	NUMAPLACE_COUNTS(X)
#undef X
	np_record_number(line, "bytes", &out->bytes);
	np_record_number(line, "longest_unmapped_us", &out->longest_unmapped_us);
}

__attribute__((format(printf, 3, 4))) static void add(char *line, size_t len, const char *format,
						      ...)
{
	size_t used = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, len - used, format, args);
	va_end(args);
}

/* Keys that are not given have the module's defaults. */
static void migrate_line(const struct np_migrate_request *r, uint64_t start, uint64_t end,
			 uint64_t limit, char *line, size_t len)
{
	char from[NP_LIST_LEN] = "any";

	if (r->from)
		np_list_format(r->from, from, sizeof(from));
	snprintf(line, len, "pid=%d from=%s to=%d start=0x%llx end=0x%llx", r->pid, from, r->to,
		 (unsigned long long)start, (unsigned long long)end);
	if (limit)
		add(line, len, " limit=%llu", (unsigned long long)limit);
	if (r->max_stall_us)
		add(line, len, " max_stall_us=%u", r->max_stall_us);
	if (r->shared)
		add(line, len, " shared=1");
	if (!r->files)
		add(line, len, " files=0");
	if (r->split)
		add(line, len, " split=1");
	if (r->dry)
		add(line, len, " dry=1");
	add(line, len, "\n");
}

/*
 * One write, and what became of it: *out, and *next, the address to go on from after a signal.
 * Returns 0 or -errno; *begun: it was not refused.
 */
static int write_move(int fd, const char *line, struct np_migrate_result *out, uint64_t *next,
		      bool *begun)
{
	char answer[1024], address[24];
	int e = write(fd, line, strlen(line)) < 0 ? -errno : 0;
	ssize_t n = pread(fd, answer, sizeof(answer) - 1, 0);

	answer[n < 0 ? 0 : n] = '\0';
	*begun = np_record_get(answer, "next", address, sizeof(address));
	if (*begun) {
		*next = strtoull(address, NULL, 16);
		parse_result(answer, out);
	}
	return e ? e : *begun ? 0 : -EPROTO;
}

static int explain(const struct np_migrate_request *r, int e, bool begun, struct np_err *err)
{
	if (e == -EPROTO)
		return np_fail(err, e,
			       "the module did not say what became of the pages of process %d",
			       r->pid);
	if (!begun)
		return np_module_refused(r->pid, "move the pages of", e, err);
	return np_fail(err, e, "moving the pages of process %d ended early: %s", r->pid,
		       e == -ESRCH  ? "it has exited or executes another program" :
		       e == -EACCES ? "its cpuset has lost the node" :
				      strerror(-e));
}

/* How many pages may still move; 0: as many as there are. The caller holds the lock. */
static bool may_move(const struct move *m, uint64_t *limit)
{
	*limit = m->r->limit > m->out->moved ? m->r->limit - m->out->moved : 0;
	return !m->stop && (*limit || !m->r->limit);
}

/* Takes the addresses that are to be moved next. */
static bool take_part(struct move *m, uint64_t *start, uint64_t *end)
{
	uint64_t limit;
	bool taken;

	pthread_mutex_lock(&m->lock);
	while (m->next < m->n && (m->range[m->next].end <= m->at || m->range[m->next].chosen))
		m->next++;
	taken = m->next < m->n && may_move(m, &limit);
	if (taken) {
		*start = m->range[m->next].start > m->at ? m->range[m->next].start : m->at;
		*end = (*start / m->part + 1) * m->part;
		/* What is mapped up to there is moved along, but for what was chosen. */
		for (size_t i = m->next; i < m->n && m->range[i].start < *end; i++)
			if (m->range[i].chosen)
				*end = m->range[i].start;
		if (m->r->end && *end > m->r->end)
			*end = m->r->end;
		m->at = *end;
	}
	pthread_mutex_unlock(&m->lock);
	return taken;
}

/* Adds what became of a part. Returns whether to go on. */
static bool note_part(struct move *m, const struct np_migrate_result *done, int e, bool begun)
{
	bool go_on;

	pthread_mutex_lock(&m->lock);
	np_migrate_add(m->out, done);
	m->out->ns = np_clock_ns(CLOCK_MONOTONIC) - m->began;
	if (e && e != -EINTR && !m->e)
		m->e = explain(m->r, e, begun, m->err);
	m->stop |= m->e != 0;
	go_on = !m->stop;
	pthread_mutex_unlock(&m->lock);
	return go_on;
}

/* Keeps to the rate: sleeps until the bytes moved so far are due. */
static void keep_rate(struct move *m)
{
	uint64_t due, passed;
	struct timespec nap;

	if (!m->r->rate_mib)
		return;
	pthread_mutex_lock(&m->lock);
	due = np_sender_due_ns(m->out->bytes, m->r->rate_mib);
	pthread_mutex_unlock(&m->lock);
	passed = np_clock_ns(CLOCK_MONOTONIC) - m->began;
	if (due <= passed)
		return;
	nap.tv_sec = (time_t)((due - passed) / 1000000000u);
	nap.tv_nsec = (long)((due - passed) % 1000000000u);
	nanosleep(&nap, NULL);
}

/* Asks the caller whether to go on. */
static bool ask(struct move *m)
{
	struct np_migrate_result so_far;

	pthread_mutex_lock(&m->lock);
	so_far = *m->out;
	pthread_mutex_unlock(&m->lock);
	if (!m->r->progress || m->r->progress(&so_far, m->r->progress_arg))
		return true;
	pthread_mutex_lock(&m->lock);
	if (!m->e)
		m->e = np_fail(m->err, -ECANCELED, "cancelled");
	m->stop = true;
	pthread_mutex_unlock(&m->lock);
	return false;
}

/* Moves a part, going on after each signal. Returns whether to take another one. */
static bool move_part(struct move *m, int fd, uint64_t start, uint64_t end, bool asks)
{
	char line[NP_LIST_LEN + 256];
	bool begun, go_on;
	uint64_t limit;
	int e;

	do {
		struct np_migrate_result done = { .engine = "module" };

		pthread_mutex_lock(&m->lock);
		go_on = may_move(m, &limit);
		pthread_mutex_unlock(&m->lock);
		if (!go_on)
			return false;
		migrate_line(m->r, start, end, limit, line, sizeof(line));
		e = write_move(fd, line, &done, &start, &begun);
		if (!note_part(m, &done, e, begun) || (asks && !ask(m)))
			return false;
	} while (e == -EINTR);
	keep_rate(m);
	return true;
}

/* Moves parts until there are no more. asks: this is the caller's thread. */
static void move_parts(struct move *m, bool asks)
{
	struct np_migrate_result none = { .engine = "module" };
	int fd = np_module_open("migrate");
	uint64_t start, end;

	if (fd < 0) {
		note_part(m, &none, fd, false);
		return;
	}
	while (take_part(m, &start, &end))
		if (!move_part(m, fd, start, end, asks))
			break;
	close(fd);
}

static void *run_helper(void *arg)
{
	move_parts(arg, false);
	return NULL;
}

/*
 * NP_MODULE_THREADS, or as many as there are CPUs for: those that wait for a CPU have pages
 * unmapped meanwhile.
 */
static unsigned int default_threads(void)
{
	struct bitmask *mask = numa_allocate_cpumask();
	unsigned int cpus = numa_sched_getaffinity(0, mask) > 0 ? numa_bitmask_weight(mask) : 1;

	numa_free_cpumask(mask);
	return cpus < NP_MODULE_THREADS ? cpus : NP_MODULE_THREADS;
}

/* How many threads are worth it: each with a part of its own. Of a limit one knows what is left. */
static unsigned int count_threads(const struct move *m)
{
	unsigned int most = m->r->threads ? m->r->threads : default_threads(), parts = 0;

	for (size_t i = 0; i < m->n && parts < most; i++)
		if (!m->range[i].chosen)
			parts += 1 +
				 (unsigned int)((m->range[i].end - m->range[i].start) / m->part);
	return m->r->limit || !parts ? 1 : parts < most ? parts : most;
}

/* Signals are the calling thread's: a helper that has begun a part ends it. */
static void move_by_threads(struct move *m)
{
	unsigned int n = count_threads(m), started = 0;
	pthread_t helper[NP_MODULE_MAX_THREADS];
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started + 1 < n && !pthread_create(&helper[started], NULL, run_helper, m))
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	move_parts(m, true);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(helper[i], NULL);
}

static int list_ranges(struct move *m)
{
	const struct np_migrate_request *r = m->r;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct np_vma_range *own = NULL;
	size_t n = 0, at = 0;
	int e = np_vma_mapped(r->pid, r->start, r->end, &m->range, &m->n);

	if (!e && r->keep_chosen)
		e = np_vma_ranges(r->pid, page, r->start, r->end, &own, &n);
	for (size_t i = 0; !e && i < m->n; i++) {
		while (at < n && own[at].start < m->range[i].start)
			at++;
		m->range[i].chosen = at < n && own[at].start == m->range[i].start && own[at].chosen;
	}
	free(own);
	return e;
}

/* A tenth of a second of the rate. */
static uint64_t part_size(unsigned int rate_mib)
{
	uint64_t part = PART;

	while (rate_mib && part > LEAST_PART && part > (uint64_t)rate_mib * (1 << 20) / 10)
		part /= 2;
	return part;
}

int np_module_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
		      struct np_err *err)
{
	struct move m = {
		.r = r,
		.out = out,
		.err = err,
		.part = part_size(r->rate_mib),
		.began = np_clock_ns(CLOCK_MONOTONIC),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	struct np_proc_stat st;
	int e = np_proc_check(r->pid, false, &st, err);

	memset(out, 0, sizeof(*out));
	out->engine = "module";
	if (e)
		return e;
	e = list_ranges(&m);
	if (e)
		np_fail(err, e, "the mappings of process %d cannot be read: %s", r->pid,
			strerror(-e));
	else
		move_by_threads(&m);
	free(m.range);
	return e ? e : m.e;
}
