// SPDX-License-Identifier: GPL-2.0-only
#include "affinity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/grow.h"
#include "../host/cgroup.h"
#include "../host/proc.h"
#include "../undo/inherited.h"
#include "../undo/saved_affinity.h"

/* A program that starts threads faster than this many passes is not waited for. */
#define MAX_PASSES 64

/* One call's work, so that it can be undone. */
struct placing {
	struct np_saved_affinity state;
	const struct np_place_request *request;
	pid_t pid;
	const struct bitmask *cpus;
	bool first_pass;
	bool leader_is_new; /* it had no record and no inherited place before this call */
	struct bitmask *now, *allowed; /* scratch */
	struct np_affinity_undo undo;
	struct np_err *err;
};

static bool already_done(const struct placing *p, pid_t tid)
{
	for (size_t i = 0; i < p->undo.n; i++)
		if (p->undo.thread[i].tid == tid)
			return true;
	return false;
}

/*
 * Whether the thread has every online CPU that its cpuset allows: it never chose any, as
 * far as can be told, and is to follow its cpuset again.
 */
static bool has_all(struct placing *p)
{
	struct np_cpusets *sets = np_cpusets_open();
	struct bitmask *online = numa_bitmask_alloc(NP_MAX_CPUS);
	char *text = np_read_file("/sys/devices/system/cpu/online");
	bool all = sets && text && !np_list_parse_kernel(text, online) &&
		   !np_cpusets_cpus(sets, p->pid, p->allowed);

	for (unsigned int i = 0; all && i < NP_MAX_CPUS; i++)
		all = numa_bitmask_isbitset(p->now, i) || !numa_bitmask_isbitset(online, i) ||
		      !numa_bitmask_isbitset(p->allowed, i);
	free(text);
	numa_bitmask_free(online);
	np_cpusets_close(sets);
	return all;
}

/*
 * The record that says what this thread, whose CPUs are p->now, had at first; NULL: just
 * these. The first original wins; but CPUs that the user chose after it was placed are an
 * original of their own. A thread without a record may have inherited its CPUs, but not
 * from a process that this call places: the thread is older than that.
 */
static const struct np_saved *first_record(const struct placing *p, const struct np_saved *old,
					   unsigned long long start)
{
	const struct np_saved *r;

	if (old)
		return np_inherited_has(old, p->pid, p->now) ? old : NULL;
	r = np_inherited_origin(&p->state, p->pid, start, p->now);
	return r && r->pid == p->pid && p->leader_is_new && p->first_pass ? NULL : r;
}

/* The record of a thread, with masks of its own. */
static struct np_saved record_of(struct placing *p, pid_t tid, const struct np_proc_stat *st,
				 const struct np_saved *old)
{
	const struct np_saved *first = first_record(p, old, st->start);
	bool changes = !numa_bitmask_equal(p->cpus, p->now);
	struct np_saved r = {
		.tid = tid,
		.pid = p->pid,
		.start = st->start,
		.inherit = p->request->inherit,
		.original = np_saved_mask_copy(first ? first->original : p->now),
		.set = np_saved_mask_copy(p->cpus),
		.earlier = first && changes ? np_saved_mask_copy(p->now) : NULL,
	};

	if (p->request->by)
		snprintf(r.by, sizeof(r.by), "%s", p->request->by);
	r.all = first ? first->all : has_all(p);
	r.placed = first && first == old ? old->placed : np_inherited_now();
	if (tid == p->pid)
		p->leader_is_new = !first;
	return r;
}

/* Notes the thread in the state (not yet on disk) and in the undo list. */
static int note_thread(struct placing *p, pid_t tid)
{
	struct np_saved *old = np_saved_affinity_find(&p->state, tid), record;
	struct np_proc_stat st;
	struct np_affinity_was *u;
	int e;

	if (np_proc_thread_stat(p->pid, tid, &st) || np_affinity_get(tid, p->now))
		return 0;		     /* it has exited */
	if (old && old->start != st.start) { /* its number was another thread's */
		np_saved_affinity_end(&p->state, old);
		old = NULL;
	}
	if (np_grow(&p->undo.thread, p->undo.n, sizeof(*u)))
		return -ENOMEM;
	u = &p->undo.thread[p->undo.n++];
	*u = (struct np_affinity_was) {
		.tid = tid,
		.start = st.start,
		.before = np_saved_mask_copy(p->now),
		.had_record = old,
	};
	np_placements_to_saved(&p->state.placements, tid, p->now);
	if (old)
		u->old = np_saved_copy(old);
	record = record_of(p, tid, &st, old);
	u->all = record.all && !old && !record.earlier;
	e = np_saved_affinity_add(&p->state, &record);
	np_saved_free(&record);
	return e;
}

static int explain(struct placing *p, pid_t tid, int e)
{
	char want[NP_LIST_LEN], have[NP_LIST_LEN];
	struct np_proc_stat st;

	np_list_format(p->cpus, want, sizeof(want));
	if (e == -EPERM)
		return np_proc_denied(tid, "change the CPUs of", p->err);
	if (!np_proc_thread_stat(p->pid, tid, &st) && st.fixed_affinity)
		return np_fail(p->err, e, "the kernel has fixed the CPUs of thread %d (%s)", tid,
			       st.comm);
	if (e == -EXDEV)
		return np_fail(p->err, -EINVAL,
			       "the cpuset of process %d allows only CPUs %s of %s; choose among "
			       "those or change its cgroup",
			       p->pid, np_list_format(p->now, have, sizeof(have)), want);
	if (e == -EINVAL)
		return np_fail(p->err, e,
			       "the cpuset of process %d allows none of CPUs %s, or they are offline",
			       p->pid, want);
	return np_fail(p->err, e, "thread %d of process %d cannot be bound to CPUs %s: %s", tid,
		       p->pid, want, strerror(-e));
}

static int bind_thread(struct placing *p, pid_t tid)
{
	int e = np_affinity_set(tid, p->cpus);

	if (!e)
		e = np_affinity_get(tid, p->now);
	if (e == -ESRCH)
		return 0;
	/* A cpuset narrows the mask without an error. */
	if (!e && !numa_bitmask_equal(p->now, p->cpus))
		e = -EXDEV;
	return e ? explain(p, tid, e) : 0;
}

/* One pass over the threads there are now. Sets *found to the number of new ones. */
static int place_pass(struct placing *p, bool one_thread, pid_t tid, size_t *found)
{
	size_t first = p->undo.n, n = 1;
	pid_t *tids = NULL;
	int e = np_placements_read(&p->state.placements);

	if (!e && !one_thread)
		e = np_proc_threads(p->pid, &tids, &n);

	for (size_t i = 0; !e && i < n; i++) {
		pid_t t = one_thread ? tid : tids[i];

		if (!already_done(p, t))
			e = note_thread(p, t);
	}
	free(tids);
	*found = p->undo.n - first;
	/* What it has started since the first pass is found by its records. */
	if (e == -ESRCH && !p->first_pass)
		return 0;
	if (e == -ESRCH)
		return np_fail(p->err, e, "process %d has just exited", p->pid);
	if (e)
		return np_fail(p->err, e, "out of memory");
	if (*found)
		e = np_saved_affinity_record(&p->state, p->err);
	for (size_t i = first; !e && i < p->undo.n; i++) {
		p->undo.thread[i].bound = true;
		e = bind_thread(p, p->undo.thread[i].tid);
	}
	p->first_pass = false;
	return e;
}

/* Puts every thread and record back as they were before this call. */
static void undo_all(struct placing *p)
{
	struct bitmask *every = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_err ignored;

	numa_bitmask_setall(every);
	for (size_t i = 0; i < p->undo.n; i++) {
		struct np_affinity_was *u = &p->undo.thread[i];

		if (u->bound)
			np_affinity_set(u->tid, u->all ? every : u->before);
		np_saved_affinity_drop(&p->state, u->tid);
		if (u->had_record)
			np_saved_affinity_add(&p->state, &u->old);
	}
	np_saved_affinity_save(&p->state, &ignored);
	numa_bitmask_free(every);
}

static void free_threads(struct np_affinity_undo *u)
{
	for (size_t i = 0; i < u->n; i++) {
		numa_bitmask_free(u->thread[i].before);
		np_saved_free(&u->thread[i].old);
	}
	free(u->thread);
	numa_bitmask_free(u->set);
}

void np_affinity_undo_free(struct np_affinity_undo *u)
{
	if (u)
		free_threads(u);
	free(u);
}

/* Passes the undo data to the caller. */
static int hand_over(struct placing *p, struct np_affinity_undo **to)
{
	*to = malloc(sizeof(**to));
	if (!*to)
		return np_fail(p->err, -ENOMEM, "out of memory");
	p->undo.set = np_saved_mask_copy(p->cpus);
	**to = p->undo;
	p->undo = (struct np_affinity_undo) { 0 };
	return 0;
}

static void placing_free(struct placing *p)
{
	free_threads(&p->undo);
	numa_bitmask_free(p->now);
	numa_bitmask_free(p->allowed);
	np_saved_affinity_keep(&p->state);
}

static bool has_inherited(const struct np_saved_affinity *s, pid_t pid)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_proc_stat st;
	bool result = s->n && !np_proc_stat(pid, &st) && !np_affinity_get(pid, now);

	if (result) {
		np_placements_to_saved(&s->placements, pid, now);
		result = np_inherited_origin(s, pid, st.start, now);
	}
	numa_bitmask_free(now);
	return result;
}

/*
 * What was started by those that have exited, or by this process while it was placed
 * elsewhere, is noted first: its record is about to say something else. Once for a
 * series, over all processes: what is started between that and the placement has the
 * CPUs that the record keeps as "earlier", until the next series.
 */
static int open_state(struct np_saved_affinity *s, pid_t pid, bool follows, struct np_err *err)
{
	bool incomplete = false, known = false;
	int e = np_saved_affinity_open_kept(s, err);

	if (e)
		return e;
	e = np_placements_read(&s->placements);
	for (size_t i = 0; i < s->n; i++) {
		bool own = s->saved[i].pid == pid;

		s->saved[i].complete &= follows;
		incomplete |= s->saved[i].gone || (own && !s->saved[i].complete);
		known |= own;
	}
	if (!e)
		e = incomplete || (!known && has_inherited(s, pid)) ? np_inherited_complete(s) : 0;
	if (!e)
		return 0;
	np_saved_affinity_close(s);
	return np_fail(err, e, "/proc cannot be read: %s", strerror(-e));
}

int np_affinity_place(const struct np_place_request *r, struct np_err *err)
{
	struct placing p = { .request = r, .cpus = r->cpus, .first_pass = true, .err = err };
	size_t found = 1;
	int e;

	if (r->undo)
		*r->undo = NULL;
	p.pid = np_proc_group(r->pid);
	if (p.pid < 0)
		return np_fail(err, -ESRCH, "process %d has just exited", r->pid);
	e = open_state(&p.state, p.pid, r->follows, err);
	if (e)
		return e;
	p.undo.pid = p.pid;
	p.undo.when = np_inherited_now();
	p.now = numa_bitmask_alloc(NP_MAX_CPUS);
	p.allowed = numa_bitmask_alloc(NP_MAX_CPUS);
	for (int pass = 0; !e && found && pass < MAX_PASSES; pass++)
		e = place_pass(&p, r->one_thread, r->pid, &found);
	if (!e && p.undo.n == 0)
		e = np_fail(err, -ESRCH, "process %d has just exited", r->pid);
	if (!e && r->undo)
		e = hand_over(&p, r->undo);
	if (e)
		undo_all(&p);
	placing_free(&p);
	return e;
}
