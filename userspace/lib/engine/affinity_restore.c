// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives threads that were placed by system calls their CPUs back: a restore those from before
 * the first placement, an undo those from just before one placement.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../host/proc.h"
#include "../undo/inherited.h"
#include "../undo/saved_affinity.h"
#include "affinity.h"

/* A chain of parents that is longer is not followed. */
#define MAX_DEPTH 64

struct giving {
	/* Sees to the thread of a record that is not done; true when it then is. */
	bool (*thread)(struct giving *g, const struct np_saved *record);
	/* After the last pass: drops records, before the rest is saved. */
	void (*finish)(struct giving *g);
	const struct np_whose *whose; /* of a restore */
	const struct np_undo *undo;   /* [n_undo] of an undo */
	size_t n_undo;

	struct np_saved_affinity state;
	struct np_processes all;
	struct bitmask *now, *every; /* scratch; all CPUs */
	size_t n, kept, matched;     /* of a restore */
	struct np_err unseen;	     /* of a restore: what keeps CPUs, one line; "": nothing */
	int error;		     /* the first, with its line in err */
	struct np_err *err;
};

static void fail(struct giving *g, pid_t tid, const struct bitmask *cpus, int e)
{
	char list[NP_LIST_LEN];

	if (g->error)
		return;
	g->error = e;
	if (e == -EPERM)
		np_proc_denied(tid, "restore the CPUs of", g->err);
	else
		np_fail(g->err, e, "thread %d cannot have CPUs %s back: %s", tid,
			np_list_format(cpus, list, sizeof(list)), strerror(-e));
}

enum outcome {
	BACK,	/* it has the CPUs */
	OTHERS, /* g->now, which others have set since, stay */
	EXITED,
	LATER, /* the record is needed: it could not be done, or the module's have to go first */
};

/* all: the thread gets every CPU in the place of these. */
static enum outcome give(struct giving *g, const struct np_saved *record, bool all,
			 const struct bitmask *cpus)
{
	int e = np_affinity_get(record->tid, g->now);

	if (!e && np_placements_to_saved(&g->state.placements, record->tid, g->now))
		return LATER;
	if (!e && !np_inherited_has(record, record->pid, g->now))
		return OTHERS;
	if (!e && !np_saved_still_there(record)) /* since the state was loaded */
		return EXITED;
	if (!e)
		e = np_affinity_set(record->tid, all ? g->every : cpus);
	if (!e)
		return BACK;
	if (e == -ESRCH)
		return EXITED;
	fail(g, record->tid, cpus, e);
	return LATER;
}

/* Whether the process or one that it descends from is among these. */
static bool descends_from(const struct giving *g, pid_t pid, const struct np_whose *whose)
{
	struct np_process p;

	for (int depth = 0; depth < MAX_DEPTH && !np_whose_has(whose, pid); depth++) {
		if (!np_processes_find(&g->all, pid, &p))
			return false;
		pid = p.ppid;
	}
	return np_whose_has(whose, pid);
}

/*
 * Children that a task starts before it is seen to are found by the next pass, for which
 * the records stay. Those that others start meanwhile are none of this call's.
 */
static int pass_over_all(struct giving *g)
{
	struct np_passes passes = { 0 };
	size_t done, exited;
	int e;

	do {
		done = 0;
		np_processes_free(&g->all);
		e = np_processes_read(&g->all);
		if (!e)
			e = np_inherited_note(&g->state, &g->all, &exited);
		for (size_t i = 0; !e && i < g->state.n; i++) {
			struct np_saved *record = &g->state.saved[i];

			if (record->done)
				continue;
			record->done = g->thread(g, record);
			done += record->done;
		}
	} while (!e && np_passes_again(&passes, done, exited));
	return e;
}

static int give_back(struct giving *g)
{
	struct np_err why;
	int e = np_saved_affinity_open(&g->state, NULL, g->err), saved = 0;

	if (e)
		return e;
	g->now = numa_bitmask_alloc(NP_MAX_CPUS);
	g->every = numa_bitmask_alloc(NP_MAX_CPUS);
	numa_bitmask_setall(g->every);
	if (g->state.n)
		e = pass_over_all(g);
	if (e)
		np_fail(g->err, e, "/proc cannot be read: %s", strerror(-e));
	g->finish(g);
	np_processes_free(&g->all);
	if (g->state.written)
		saved = np_saved_affinity_save(&g->state, &why);
	np_saved_affinity_close(&g->state);
	numa_bitmask_free(g->now);
	numa_bitmask_free(g->every);
	if (!e && !g->error && saved)
		return np_fail(g->err, saved, "%s", why.text);
	return e ? e : g->error;
}

/* Inherited placements are restored with the process that was placed. */
static bool matches(const struct giving *g, const struct np_saved *record)
{
	const struct np_whose *w = g->whose;

	return np_whose_all(w) || np_whose_has(w, record->pid) || np_whose_has(w, record->tid) ||
	       (w->by && !strcmp(w->by, record->by)) ||
	       (record->inherited && descends_from(g, record->pid, w));
}

static bool restore_thread(struct giving *g, const struct np_saved *record)
{
	enum outcome outcome;
	bool same;

	if (!matches(g, record))
		return false;
	g->matched++;
	outcome = record->gone ? EXITED : give(g, record, record->all, record->original);
	same = outcome == BACK ||
	       (outcome == OTHERS && numa_bitmask_equal(g->now, record->original));
	g->n += same;
	g->kept += outcome == OTHERS && !same;
	return outcome != LATER;
}

/*
 * Names the processes that have the CPUs of what was restored, or has exited, and no record: they
 * may descend from it or have been given the same CPUs by others.
 */
static void name_unseen(struct giving *g)
{
	const struct np_saved *like = NULL;
	struct np_proc_stat st;
	char cpus[NP_LIST_LEN];
	size_t others = 0;
	pid_t first = 0;

	for (size_t i = 0; i < g->all.n; i++) {
		const struct np_process *p = &g->all.process[i];
		const struct np_saved *found;

		if (np_affinity_get(p->pid, g->now))
			continue;
		found = np_inherited_alike(&g->state, p, g->now);
		if (!found || p->pid == getpid() || np_saved_affinity_find(&g->state, p->pid))
			continue;
		if (!first && !np_proc_stat(p->pid, &st)) {
			first = p->pid;
			like = found;
		} else {
			others++;
		}
	}
	if (!first)
		return;
	np_list_format(like->original, cpus, sizeof(cpus));
	np_fail(&g->unseen, 0,
		"process %d (%s) has the CPUs of process %d but was not seen as its child, so it "
		"keeps them%s; `taskset -acp %.64s %d` gives it others",
		first, st.comm, like->pid, others ? ", as others do" : "", cpus, first);
}

static bool is_over(const struct np_saved *record)
{
	return record->done || record->gone;
}

static void end_restore(struct giving *g)
{
	name_unseen(g);
	if (!g->unseen.text[0] && np_whose_all(g->whose))
		np_state_file_say_foreign(&g->state.file, &g->unseen);
	np_saved_affinity_drop_if(&g->state, is_over);
}

int np_affinity_restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	struct giving g = {
		.thread = restore_thread, .finish = end_restore, .whose = whose, .err = err
	};
	int e = give_back(&g);

	*n = g.n;
	*kept = g.kept;
	if (!e && !g.matched && whose->n)
		e = np_fail(err, -ENOENT,
			    "process %d is not under control; there is nothing to restore",
			    whose->pids[0]);
	else if (!e)
		np_affinity_left_alone(g.kept, g.unseen.text, err);
	return e;
}

void np_affinity_left_alone(size_t kept, const char *unseen, struct np_err *err)
{
	if (!kept)
		np_fail(err, 0, "%s", unseen);
	else
		np_fail(err, 0,
			"%zu thread%s left alone: the CPUs were changed after numaplace had set "
			"them%s%s",
			kept, kept == 1 ? "" : "s", *unseen ? "; " : "", unseen);
}

/* The state of the thread before; NULL: it did not exist, or its id was reused. */
static const struct np_affinity_was *was_bound(const struct np_affinity_undo *u,
					       const struct np_saved *r)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->thread[i].tid == r->tid && u->thread[i].start == r->start)
			return &u->thread[i];
	return NULL;
}

/* The state of its process before, for a later thread that inherited the placement. */
static const struct np_affinity_was *
has_inherited(const struct giving *g, const struct np_affinity_undo *u, const struct np_saved *r)
{
	if (!u->n || !r->inherited || r->start < u->when || !numa_bitmask_equal(r->set, u->set) ||
	    !descends_from(g, r->pid, NP_WHOSE(&u->pid)))
		return NULL;
	for (size_t i = 0; i < u->n; i++)
		if (u->thread[i].tid == u->pid)
			return &u->thread[i];
	return &u->thread[0];
}

/* The state to give back; NULL: this record is of none of the placements. */
static const struct np_affinity_was *find(const struct giving *g, const struct np_saved *r)
{
	const struct np_affinity_was *was = NULL;

	for (size_t i = 0; !was && i < g->n_undo; i++)
		if (g->undo[i].calls)
			was = was_bound(g->undo[i].calls, r);
	for (size_t i = 0; !was && i < g->n_undo; i++)
		if (g->undo[i].calls)
			was = has_inherited(g, g->undo[i].calls, r);
	return was;
}

static bool undo_thread(struct giving *g, const struct np_saved *r)
{
	const struct np_affinity_was *was = r->gone ? NULL : find(g, r);

	return was && give(g, r, was->all, was->before) != LATER;
}

/* In the place of that of the placement, the one from before it. */
static void put_record_back(struct np_saved *r, const struct np_affinity_was *was)
{
	struct np_saved old = np_saved_copy(&was->old);

	if (was->tid != r->tid) {
		old.tid = r->tid;
		old.pid = r->pid;
		old.start = r->start;
		old.inherited = true;
	}
	np_saved_free(r);
	*r = old;
}

static bool is_done(const struct np_saved *r)
{
	return r->done;
}

static void put_records_back(struct giving *g)
{
	for (size_t i = 0; i < g->state.n; i++) {
		struct np_saved *r = &g->state.saved[i];
		const struct np_affinity_was *was = r->done ? find(g, r) : NULL;

		if (was && was->had_record)
			put_record_back(r, was);
	}
	np_saved_affinity_drop_if(&g->state, is_done);
}

int np_affinity_undo(const struct np_undo *u, size_t n, struct np_err *err)
{
	struct giving g = { .thread = undo_thread,
			    .finish = put_records_back,
			    .undo = u,
			    .n_undo = n,
			    .err = err };
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= u[i].calls != NULL;
	return any ? give_back(&g) : 0;
}
