// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "affinity.h"
#include "error.h"
#include "list.h"
#include "proc.h"
#include "state.h"

struct restoring {
	struct np_state state;
	struct bitmask *now;	/* scratch */
	size_t n, kept, matched;
	bool unchanged_only;	/* leave records of CPUs changed since for later */
	int error;		/* the first, with its line in err */
	char *err;
	size_t err_len;
};

static bool we_set(const struct np_saved *record, const struct bitmask *cpus)
{
	return numa_bitmask_equal(cpus, record->set) ||
	       (record->earlier && numa_bitmask_equal(cpus, record->earlier));
}

/*
 * Gives one thread its CPUs back unless somebody changed them after us; the
 * record is its own, or that of whom it has inherited them from.
 * Returns false when the record must be kept for another attempt.
 */
static bool restore_thread(struct restoring *r, pid_t tid, const struct np_saved *record, bool ours)
{
	const struct bitmask *original = record->original;
	char list[NP_LIST_LEN];
	int e = np_affinity_get(tid, r->now);

	if (e == -ESRCH)
		return true;
	if (!e && !we_set(record, r->now)) {
		if (r->unchanged_only)
			return false;
		if (ours && !numa_bitmask_equal(r->now, original))
			r->kept++;
		else if (ours)
			r->n++;
		return true;
	}
	if (!e)
		e = np_affinity_set(tid, original);
	if (!e) {
		r->n++;
		return true;
	}
	if (e == -ESRCH)
		return true;
	if (!r->error) {
		r->error = e;
		if (e == -EPERM)
			np_proc_denied(tid, "restore the CPUs of", r->err, r->err_len);
		else
			np_fail(r->err, r->err_len, e, "thread %d cannot have CPUs %s back: %s", tid,
				np_list_format(original, list, sizeof(list)), strerror(-e));
	}
	return false;
}

/* Threads that a placed process has started since have inherited its CPUs. */
static void restore_new_threads(struct restoring *r, const struct np_saved *leader)
{
	pid_t *tids;
	size_t n;

	if (np_proc_threads(leader->pid, &tids, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (!np_state_find(&r->state, tids[i]))
			restore_thread(r, tids[i], leader, false);
	free(tids);
}

/* True when pid descends from ancestor. */
static bool descends(pid_t pid, pid_t ancestor)
{
	struct np_proc_stat st;

	for (int depth = 0; pid > 1 && depth < 64; depth++) {
		if (np_proc_stat(pid, &st))
			return false;
		if (st.ppid == ancestor)
			return true;
		pid = st.ppid;
	}
	return false;
}

/* The same for children, when they were asked for. */
static void restore_children(struct restoring *r, const struct np_saved *leader)
{
	pid_t *pids;
	size_t n;

	if (!leader->inherit || np_proc_all(&pids, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct np_saved child = *leader;

		child.pid = pids[i];
		if (descends(pids[i], leader->pid) && !np_state_find(&r->state, pids[i]))
			restore_new_threads(r, &child);
	}
	free(pids);
}

static bool matches(const struct np_saved *record, pid_t pid)
{
	return pid == 0 || record->pid == pid || record->tid == pid;
}

static void restore_matching(struct restoring *r, pid_t pid)
{
	for (size_t i = 0; i < r->state.n; i++) {
		const struct np_saved *record = &r->state.saved[i];

		if (!matches(record, pid) || record->tid != record->pid)
			continue;
		restore_children(r, record);
		restore_new_threads(r, record);
	}
	for (size_t i = 0; i < r->state.n;) {
		const struct np_saved *record = &r->state.saved[i];

		if (!matches(record, pid)) {
			i++;
			continue;
		}
		r->matched++;
		if (restore_thread(r, record->tid, record, true))
			np_state_drop(&r->state, record->tid);	/* the last one takes its place */
		else
			i++;
	}
}

static int restore(pid_t pid, bool unchanged_only, size_t *n, size_t *kept, char *err,
		   size_t err_len)
{
	struct restoring r = { .unchanged_only = unchanged_only, .err = err, .err_len = err_len };
	int e = np_state_open(&r.state, NULL, err, err_len);

	*n = *kept = 0;
	if (e)
		return e;
	r.now = numa_bitmask_alloc(NP_MAX_CPUS);
	restore_matching(&r, pid);
	numa_bitmask_free(r.now);
	e = r.error;
	if (r.matched) {
		char why[NP_ERR_LEN];
		int saved = np_state_save(&r.state, why, sizeof(why));

		if (!e && saved)
			e = np_fail(err, err_len, saved, "%s", why);
	}
	np_state_close(&r.state);
	*n = r.n;
	*kept = r.kept;
	if (!e && pid && !r.matched)
		e = np_fail(err, err_len, -ENOENT,
			    "process %d is not under control; there is nothing to restore", pid);
	else if (!e && r.kept)
		np_fail(err, err_len, 0, "%zu thread%s left alone: the CPUs were changed after "
			"numaplace had set them", r.kept, r.kept == 1 ? "" : "s");
	return e;
}

int np_affinity_restore(pid_t pid, size_t *n, size_t *kept, char *err, size_t err_len)
{
	return restore(pid, false, n, kept, err, err_len);
}

int np_affinity_restore_unchanged(pid_t pid, size_t *n, char *err, size_t err_len)
{
	size_t kept;

	return restore(pid, true, n, &kept, err, err_len);
}
