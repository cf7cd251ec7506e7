// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../host/proc.h"
#include "affinity.h"
#include "inherited.h"
#include "saved_affinity.h"

/* A chain of parents that is longer is not followed. */
#define MAX_DEPTH 64

struct restoring {
	struct np_saved_affinity state;
	const struct np_whose *whose;
	struct np_processes all;
	struct bitmask *now, *every; /* scratch; all CPUs */
	size_t n, kept, matched;
	struct np_err unseen; /* what else has the CPUs, one line; "": nothing */
	int error;	      /* the first, with its line in err */
	struct np_err *err;
};

static void fail(struct restoring *r, const struct np_saved *record, int e)
{
	char list[NP_LIST_LEN];

	if (r->error)
		return;
	r->error = e;
	if (e == -EPERM)
		np_proc_denied(record->tid, "restore the CPUs of", r->err);
	else
		np_fail(r->err, e, "thread %d cannot have CPUs %s back: %s", record->tid,
			np_list_format(record->original, list, sizeof(list)), strerror(-e));
}

/*
 * Gives one thread its CPUs back unless they were changed since numaplace set them. Returns false
 * when the record must be kept for another attempt, as where the module's have to go first.
 */
static bool restore_thread(struct restoring *r, const struct np_saved *record)
{
	int e = np_affinity_get(record->tid, r->now);

	if (e == -ESRCH)
		return true;
	if (!e && np_layers_lift(&r->state.layers, record->tid, r->now))
		return false;
	if (!e && !np_inherited_has(record, record->pid, r->now)) {
		if (numa_bitmask_equal(r->now, record->original))
			r->n++;
		else
			r->kept++;
		return true;
	}
	if (!e && !np_saved_still_there(record)) /* since the state was loaded */
		return true;
	if (!e)
		e = np_affinity_set(record->tid, record->all ? r->every : record->original);
	if (!e)
		r->n++;
	else if (e != -ESRCH)
		fail(r, record, e);
	return !e || e == -ESRCH;
}

/* Heirs are restored with the process that was placed. */
static bool matches(const struct restoring *r, const struct np_saved *record)
{
	const struct np_whose *w = r->whose;
	struct np_process p;
	pid_t pid = record->pid;

	if (np_whose_all(w) || np_whose_has(w, pid) || np_whose_has(w, record->tid) ||
	    (w->by && !strcmp(w->by, record->by)))
		return true;
	for (int depth = 0; record->heir && depth < MAX_DEPTH; depth++) {
		if (!np_processes_find(&r->all, pid, &p))
			return false;
		pid = p.ppid;
		if (np_whose_has(w, pid))
			return true;
	}
	return false;
}

/* Those of this look that are not done yet. Returns how many could be done. */
static size_t restore_matching(struct restoring *r)
{
	size_t done = 0;

	for (size_t i = 0; i < r->state.n; i++) {
		struct np_saved *record = &r->state.saved[i];

		if (record->done || !matches(r, record))
			continue;
		r->matched++;
		record->done = record->gone || restore_thread(r, record);
		done += record->done;
	}
	return done;
}

/*
 * Names the processes that have the CPUs of what was restored, or has exited, and no record: they
 * may descend from it or have been given the same CPUs by others.
 */
static void name_unseen(struct restoring *r)
{
	const struct np_saved *like = NULL;
	struct np_proc_stat st;
	char cpus[NP_LIST_LEN];
	size_t others = 0;
	pid_t first = 0;

	for (size_t i = 0; i < r->all.n; i++) {
		const struct np_process *p = &r->all.process[i];
		const struct np_saved *found;

		if (np_affinity_get(p->pid, r->now))
			continue;
		found = np_inherited_alike(&r->state, p, r->now);
		if (!found || p->pid == getpid() || np_saved_affinity_find(&r->state, p->pid))
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
	np_fail(&r->unseen, 0,
		"process %d (%s) has the CPUs of process %d but was not seen as its child, so it "
		"keeps them%s; `taskset -acp %.64s %d` gives it others",
		first, st.comm, like->pid, others ? ", as others do" : "", cpus, first);
}

static bool is_over(const struct np_saved *record)
{
	return record->done || record->gone;
}

/*
 * Children that a task starts before it is restored are found by the next look, for which
 * the records stay. Those that others start meanwhile are none of this restore's.
 */
static int restore_all(struct restoring *r)
{
	struct np_looks looks = { 0 };
	size_t done = 0, exited;
	int e;

	do {
		np_processes_free(&r->all);
		e = np_processes_read(&r->all);
		if (!e)
			e = np_inherited_note(&r->state, &r->all, &exited);
		if (!e)
			done = restore_matching(r);
	} while (!e && np_looks_again(&looks, done, exited));
	if (!e)
		name_unseen(r);
	np_processes_free(&r->all);
	np_saved_affinity_drop_if(&r->state, is_over);
	return e;
}

static int save(struct restoring *r)
{
	struct np_err why;
	int e = np_saved_affinity_save(&r->state, &why);

	if (e && !r->error)
		return np_fail(r->err, e, "%s", why.text);
	return r->error;
}

static int restore(struct restoring *r, size_t *n, size_t *kept)
{
	int e = np_saved_affinity_open(&r->state, NULL, r->err);

	*n = *kept = 0;
	if (e)
		return e;
	r->now = numa_bitmask_alloc(NP_MAX_CPUS);
	r->every = numa_bitmask_alloc(NP_MAX_CPUS);
	numa_bitmask_setall(r->every);
	if (r->state.n)
		e = restore_all(r);
	if (e)
		np_fail(r->err, e, "/proc cannot be read: %s", strerror(-e));
	else if (r->state.written)
		e = save(r);
	np_saved_affinity_close(&r->state);
	numa_bitmask_free(r->now);
	numa_bitmask_free(r->every);
	*n = r->n;
	*kept = r->kept;
	if (!e && !r->matched && r->whose->n)
		e = np_fail(r->err, -ENOENT,
			    "process %d is not under control; there is "
			    "nothing to restore",
			    r->whose->pids[0]);
	else if (!e)
		np_affinity_left_alone(r->kept, r->unseen.text, r->err);
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

int np_affinity_restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	struct restoring r = { .whose = whose, .err = err };

	return restore(&r, n, kept);
}
