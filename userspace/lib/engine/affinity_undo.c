// SPDX-License-Identifier: GPL-2.0-only
/* Undoes placements by system calls: each thread gets its CPUs from just before the placement. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../host/proc.h"
#include "affinity.h"
#include "inherited.h"
#include "saved_affinity.h"

/* A chain of parents that is longer is not followed. */
#define MAX_DEPTH 64

struct undoing {
	const struct np_undo *undo; /* [n] */
	size_t n;
	struct np_saved_affinity state;
	struct np_processes all;
	struct bitmask *now, *every; /* scratch; all CPUs */
	int error;		     /* the first, with its line in err */
	struct np_err *err;
};

/* The state of the thread before; NULL: it did not exist, or its id was reused. */
static const struct np_affinity_was *was_bound(const struct np_affinity_undo *u,
					       const struct np_saved *r)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->thread[i].tid == r->tid && u->thread[i].start == r->start)
			return &u->thread[i];
	return NULL;
}

static bool descends_from(const struct undoing *w, pid_t pid, pid_t from)
{
	struct np_process p;

	for (int depth = 0; pid != from && depth < MAX_DEPTH; depth++) {
		if (!np_processes_find(&w->all, pid, &p))
			return false;
		pid = p.ppid;
	}
	return pid == from;
}

/* The state of its process before, for a later thread that inherited the placement. */
static const struct np_affinity_was *
has_inherited(const struct undoing *w, const struct np_affinity_undo *u, const struct np_saved *r)
{
	if (!u->n || !r->heir || r->start < u->when || !numa_bitmask_equal(r->set, u->set) ||
	    !descends_from(w, r->pid, u->pid))
		return NULL;
	for (size_t i = 0; i < u->n; i++)
		if (u->thread[i].tid == u->pid)
			return &u->thread[i];
	return &u->thread[0];
}

/* The state to give back; NULL: this record is of none of the placements. */
static const struct np_affinity_was *find(const struct undoing *w, const struct np_saved *r)
{
	const struct np_affinity_was *was = NULL;

	for (size_t i = 0; !was && i < w->n; i++)
		if (w->undo[i].calls)
			was = was_bound(w->undo[i].calls, r);
	for (size_t i = 0; !was && i < w->n; i++)
		if (w->undo[i].calls)
			was = has_inherited(w, w->undo[i].calls, r);
	return was;
}

static void fail(struct undoing *w, pid_t tid, const struct bitmask *cpus, int e)
{
	char list[NP_LIST_LEN];

	if (w->error)
		return;
	w->error = e;
	np_fail(w->err, e, "thread %d cannot have CPUs %s back: %s", tid,
		np_list_format(cpus, list, sizeof(list)), strerror(-e));
}

/*
 * False when the record of the placement is to be kept: the module has placed the thread
 * since, or it could not be done. CPUs that were set by others since stay.
 */
static bool give_back(struct undoing *w, const struct np_saved *r,
		      const struct np_affinity_was *was)
{
	int e = np_affinity_get(r->tid, w->now);

	if (!e && np_layers_lift(&w->state.layers, r->tid, w->now))
		return false;
	if (!e && np_inherited_has(r, r->pid, w->now))
		e = np_affinity_set(r->tid, was->all ? w->every : was->before);
	if (!e || e == -ESRCH)
		return true;
	fail(w, r->tid, was->before, e);
	return false;
}

/*
 * Those of this look that are not done yet. Their records stay for the next: one may just have
 * started another.
 */
static size_t give_back_all(struct undoing *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->state.n; i++) {
		struct np_saved *r = &w->state.saved[i];
		const struct np_affinity_was *was = r->done || r->gone ? NULL : find(w, r);

		if (!was)
			continue;
		r->done = give_back(w, r, was);
		n += r->done;
	}
	return n;
}

/* In the place of that of the placement, the one from before it. */
static void put_record_back(struct np_saved *r, const struct np_affinity_was *was)
{
	struct np_saved old = np_saved_copy(&was->old);

	if (was->tid != r->tid) {
		old.tid = r->tid;
		old.pid = r->pid;
		old.start = r->start;
		old.heir = true;
	}
	np_saved_free(r);
	*r = old;
}

static bool is_done(const struct np_saved *r)
{
	return r->done;
}

static void put_records_back(struct undoing *w)
{
	for (size_t i = 0; i < w->state.n; i++) {
		struct np_saved *r = &w->state.saved[i];
		const struct np_affinity_was *was = r->done ? find(w, r) : NULL;

		if (was && was->had_record)
			put_record_back(r, was);
	}
	np_saved_affinity_drop_if(&w->state, is_done);
}

static int undo_all(struct undoing *w)
{
	struct np_looks looks = { 0 };
	size_t done = 0, exited;
	int e;

	do {
		np_processes_free(&w->all);
		e = np_processes_read(&w->all);
		if (!e)
			e = np_inherited_note(&w->state, &w->all, &exited);
		if (!e)
			done = give_back_all(w);
	} while (!e && np_looks_again(&looks, done, exited));
	put_records_back(w);
	np_processes_free(&w->all);
	return e;
}

int np_affinity_undo(const struct np_undo *u, size_t n, struct np_err *err)
{
	struct undoing w = { .undo = u, .n = n, .err = err };
	struct np_err why;
	bool any = false;
	int e, saved;

	for (size_t i = 0; i < n; i++)
		any |= u[i].calls != NULL;
	e = any ? np_saved_affinity_open(&w.state, NULL, err) : 0;
	if (e || !any)
		return e;
	w.now = numa_bitmask_alloc(NP_MAX_CPUS);
	w.every = numa_bitmask_alloc(NP_MAX_CPUS);
	numa_bitmask_setall(w.every);
	e = undo_all(&w);
	if (e)
		np_fail(err, e, "/proc cannot be read: %s", strerror(-e));
	saved = np_saved_affinity_save(&w.state, &why);
	np_saved_affinity_close(&w.state);
	numa_bitmask_free(w.now);
	numa_bitmask_free(w.every);
	if (!e && !w.error && saved)
		return np_fail(err, saved, "%s", why.text);
	return e ? e : w.error;
}
