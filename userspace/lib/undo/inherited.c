// SPDX-License-Identifier: GPL-2.0-only
#include "inherited.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/grow.h"
#include "../host/cgroup.h"
#include "../host/proc.h"

/* A chain of parents that is longer is not followed. */
#define MAX_DEPTH 64
/* Tasks that start others faster than this many passes are not waited for. */
#define MAX_PASSES 64
/* So many generations of tasks that exit before they are looked at are followed. */
#define MAX_EMPTY 5

#define WORDS (NP_MAX_CPUS / (8 * sizeof(unsigned long)))

unsigned long long np_inherited_now(void)
{
	unsigned long long hertz = (unsigned long long)sysconf(_SC_CLK_TCK);

	return np_clock_ns(CLOCK_BOOTTIME) / (1000000000 / hertz);
}

/* Data of one search. */
struct search {
	const struct np_saved_affinity *s;
	const struct np_saved **by_pid; /* [n] the records of s in order of pid, the leader's first */
	size_t n;			/* 0: not in order, look at each */
	const struct np_processes *all; /* NULL: ask /proc */
	struct np_cpusets *cpusets;	/* opened when first needed */
	struct bitmask *allowed;	/* by the cpuset of this process: */
	pid_t allowed_to;
};

static void search_end(struct search *q)
{
	np_cpusets_close(q->cpusets);
	numa_bitmask_free(q->allowed);
	free(q->by_pid);
}

static bool equal(const struct bitmask *a, const struct bitmask *b)
{
	return !memcmp(a->maskp, b->maskp, NP_MAX_CPUS / 8);
}

/* True when cpus are what the cpuset leaves of set: all that it allows where that is nothing. */
static bool is_narrowed(const struct bitmask *set, const struct bitmask *allowed,
			const struct bitmask *cpus)
{
	bool cut = false, none = true, same = true, whole = true;

	for (size_t i = 0; i < WORDS; i++) {
		unsigned long left = set->maskp[i] & allowed->maskp[i];

		cut |= left != set->maskp[i];
		none &= !left;
		same &= cpus->maskp[i] == left;
		whole &= cpus->maskp[i] == allowed->maskp[i];
	}
	return cut && (none ? whole : same);
}

/*
 * Whether cpus, which process pid has, are those that the record's placement gave, now or earlier,
 * or what its own cpuset leaves of them. Reads the cpuset of pid once.
 */
static bool has_cpus_of(struct search *q, const struct np_saved *r, pid_t pid,
			const struct bitmask *cpus)
{
	if (equal(cpus, r->set) || (r->earlier && equal(cpus, r->earlier)))
		return true;
	if (!q->cpusets)
		q->cpusets = np_cpusets_open();
	if (!q->allowed)
		q->allowed = numa_bitmask_alloc(NP_MAX_CPUS);
	if (q->allowed_to != pid && (!q->cpusets || np_cpusets_cpus(q->cpusets, pid, q->allowed)))
		numa_bitmask_setall(q->allowed);
	q->allowed_to = pid;
	return is_narrowed(r->set, q->allowed, cpus);
}

bool np_inherited_has(const struct np_saved *r, pid_t pid, const struct bitmask *cpus)
{
	struct search q = { 0 };
	bool result = has_cpus_of(&q, r, pid, cpus);

	search_end(&q);
	return result;
}

/* Whether descendants may have inherited CPUs that a restore of the record changes. */
static bool has_descendants(const struct np_saved *r)
{
	return r->inherit && !equal(r->original, r->set);
}

static int in_order(const void *a, const void *b)
{
	const struct np_saved *x = *(const struct np_saved *const *)a;
	const struct np_saved *y = *(const struct np_saved *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid == x->pid || (y->tid != y->pid && x->tid < y->tid) ? -1 : 1;
	return 0;
}

/* The records of those that are not gone, in order. 0 or -ENOMEM. */
static int put_in_order(struct search *q)
{
	q->by_pid = calloc(q->s->n + 1, sizeof(*q->by_pid));
	if (!q->by_pid)
		return -ENOMEM;
	for (size_t i = 0; i < q->s->n; i++)
		if (!q->s->saved[i].gone)
			q->by_pid[q->n++] = &q->s->saved[i];
	qsort(q->by_pid, q->n, sizeof(*q->by_pid), in_order);
	return 0;
}

/* In the records in order, of the first that is not before this thread. */
static size_t place_of(const struct search *q, pid_t pid, pid_t tid)
{
	const struct np_saved key = { .pid = pid, .tid = tid }, *p = &key;
	size_t low = 0, high = q->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (in_order(&q->by_pid[middle], &p) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* That record; NULL: none of the process. */
static const struct np_saved *first_from(const struct search *q, pid_t pid, pid_t tid)
{
	size_t i = place_of(q, pid, tid);

	return i < q->n && q->by_pid[i]->pid == pid ? q->by_pid[i] : NULL;
}

/* The record of the process: its leader's, else of a thread of it. */
static const struct np_saved *record_of(const struct search *q, pid_t pid)
{
	const struct np_saved *found = NULL;

	if (q->by_pid)
		return first_from(q, pid, pid);
	for (size_t i = 0; i < q->s->n; i++) {
		const struct np_saved *r = &q->s->saved[i];

		if (r->gone || r->pid != pid)
			continue;
		if (!found || r->tid == pid)
			found = r;
	}
	return found;
}

/*
 * That of the process or of the first of its parents that has one. A younger process has its
 * number from one that has exited.
 */
static const struct np_saved *nearest_record(const struct search *q, pid_t pid)
{
	struct np_process p;

	for (int depth = 0; pid > 0 && depth < MAX_DEPTH; depth++) {
		const struct np_saved *r = record_of(q, pid);

		if (!np_processes_find(q->all, pid, &p))
			break;
		if (r && p.start <= r->start)
			return r;
		pid = p.ppid;
	}
	return NULL;
}

/*
 * Of the process that has the nearest record, as any of its threads may have started this one: the
 * first of its records with these CPUs.
 */
static const struct np_saved *origin(struct search *q, pid_t pid, unsigned long long start,
				     const struct bitmask *now)
{
	const struct np_saved *nearest = nearest_record(q, pid);
	size_t n = q->by_pid ? q->n : q->s->n;

	for (size_t i = q->by_pid && nearest ? place_of(q, nearest->pid, nearest->pid) : 0;
	     nearest && i < n; i++) {
		const struct np_saved *r = q->by_pid ? q->by_pid[i] : &q->s->saved[i];

		if (q->by_pid && r->pid != nearest->pid)
			break;
		if (r->pid == nearest->pid && !r->gone && has_descendants(r) &&
		    start >= r->placed && has_cpus_of(q, r, pid, now))
			return r;
	}
	return NULL;
}

const struct np_saved *np_inherited_origin(const struct np_saved_affinity *s, pid_t pid,
					   unsigned long long start, const struct bitmask *now)
{
	struct search q = { .s = s };
	const struct np_saved *found = s->n ? origin(&q, pid, start, now) : NULL;

	search_end(&q);
	return found;
}

/* Those found by one pass: they are added after it, because that moves the records. */
struct found {
	struct np_saved *record; /* [n] with masks of their own */
	size_t n;
};

static int add_inherited(struct found *f, const struct np_saved *from, pid_t pid, pid_t tid,
			 unsigned long long start)
{
	if (np_grow(&f->record, f->n, sizeof(*f->record)))
		return -ENOMEM;
	f->record[f->n] = np_saved_copy(from);
	f->record[f->n].pid = pid;
	f->record[f->n].tid = tid;
	f->record[f->n].start = start;
	f->record[f->n].inherited = true;
	f->record[f->n].done = false;
	f->n++;
	return 0;
}

static int note_process(struct search *q, const struct np_process *p, struct bitmask *now,
			struct found *f, size_t *exited)
{
	struct np_proc_stat st;
	pid_t *tids;
	size_t n;
	int e = 0;

	if (!nearest_record(q, p->pid))
		return 0;
	if (np_proc_threads(p->pid, &tids, &n)) {
		++*exited;
		return 0;
	}
	for (size_t i = 0; !e && i < n; i++) {
		const struct np_saved *r = first_from(q, p->pid, tids[i]);

		if (r && r->tid == tids[i])
			continue;
		if (np_proc_thread_stat(p->pid, tids[i], &st) || np_affinity_get(tids[i], now)) {
			++*exited;
			continue;
		}
		np_placements_to_saved(&q->s->placements, tids[i], now);
		r = origin(q, p->pid, st.start, now);
		if (r)
			e = add_inherited(f, r, p->pid, tids[i], st.start);
	}
	free(tids);
	return e;
}

int np_inherited_note(struct np_saved_affinity *s, const struct np_processes *all, size_t *exited)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	struct search q = { .s = s, .all = all };
	struct found f = { 0 };
	int e = np_placements_read(&s->placements);

	*exited = 0;
	if (!e)
		e = put_in_order(&q);
	for (size_t i = 0; !e && s->n && i < all->n; i++)
		e = note_process(&q, &all->process[i], now, &f, exited);
	for (size_t i = 0; i < f.n; i++) {
		if (!e)
			e = np_saved_affinity_add(s, &f.record[i]);
		np_saved_free(&f.record[i]);
	}
	free(f.record);
	numa_bitmask_free(now);
	search_end(&q);
	return e;
}

static int note_all(struct np_saved_affinity *s)
{
	struct np_processes all;
	size_t exited;
	int e = np_processes_read(&all);

	if (!e)
		e = np_inherited_note(s, &all, &exited);
	np_processes_free(&all);
	return e;
}

int np_inherited_see(struct np_err *err)
{
	struct np_saved_affinity s;
	int e = np_saved_affinity_open_kept(&s, err);
	size_t before = s.n;

	if (e)
		return e;
	if (s.n)
		e = note_all(&s);
	if (e)
		np_fail(err, e, "/proc cannot be read: %s", strerror(-e));
	else if (s.n > before)
		e = np_saved_affinity_record(&s, err);
	if (e)
		np_saved_affinity_close(&s);
	else
		np_saved_affinity_keep(&s);
	return e;
}

const struct np_saved *np_inherited_alike(const struct np_saved_affinity *s,
					  const struct np_process *p, const struct bitmask *now)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct np_saved *r = &s->saved[i];

		if (r->done && !r->inherited && has_descendants(r) && p->start >= r->placed &&
		    (equal(now, r->set) || (r->earlier && equal(now, r->earlier))))
			return r;
	}
	return NULL;
}

bool np_passes_again(struct np_passes *p, bool found, bool missed)
{
	p->n++;
	p->empty = found ? 0 : p->empty + 1;
	return p->n < MAX_PASSES && (found || (missed && p->empty < MAX_EMPTY));
}

static bool is_gone(const struct np_saved *r)
{
	return r->gone;
}

int np_inherited_complete(struct np_saved_affinity *s)
{
	int e = note_all(s);

	if (e)
		return e;
	np_saved_affinity_drop_if(s, is_gone);
	for (size_t i = 0; i < s->n; i++)
		s->saved[i].complete = true;
	s->rewrite = true;
	return 0;
}
