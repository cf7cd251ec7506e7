// SPDX-License-Identifier: GPL-2.0-only
#include "affinity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "list.h"
#include "proc.h"
#include "state.h"

/* A program that starts threads faster than this many passes is not waited for. */
#define MAX_PASSES 64

int np_affinity_get(pid_t tid, struct bitmask *mask)
{
	static const char key[] = "\nCpus_allowed_list:";
	char path[64], *text, *line;
	int e = -EINVAL;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	text = np_read_file(path);
	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	line = strstr(text, key);
	if (line) {
		line += strlen(key);
		line[strcspn(line, "\n")] = '\0';
		e = np_list_parse_kernel(line, mask);
	}
	free(text);
	return e;
}

int np_affinity_set(pid_t tid, const struct bitmask *mask)
{
	return numa_sched_setaffinity(tid, (struct bitmask *)mask) < 0 ? -errno : 0;
}

/* One call's work, so that it can be undone. */
struct placing {
	struct np_state state;
	pid_t pid;
	bool inherit;
	const struct bitmask *cpus;
	struct bitmask *now;		/* scratch */
	struct undo {
		pid_t tid;
		bool had_record;
		struct bitmask *before;		/* its CPUs before this call */
		struct bitmask *original;	/* its record before this call */
	} *undo;
	size_t n_undo;
	char *err;
	size_t err_len;
};

static struct bitmask *clone(const struct bitmask *from)
{
	struct bitmask *to = numa_bitmask_alloc(NP_MAX_CPUS);

	copy_bitmask_to_bitmask((struct bitmask *)from, to);
	return to;
}

static bool already_done(const struct placing *p, pid_t tid)
{
	for (size_t i = 0; i < p->n_undo; i++)
		if (p->undo[i].tid == tid)
			return true;
	return false;
}

/*
 * What to restore this thread to. The first original wins; but CPUs that the
 * user chose after we placed it are an original of their own, and a thread
 * that was started by one we have just placed has its process's original.
 */
static const struct bitmask *original_of(struct placing *p, const struct np_saved *old)
{
	const struct np_saved *leader = np_state_find(&p->state, p->pid);

	if (old && numa_bitmask_equal(old->set, p->now))
		return old->original;
	if (!old && p->n_undo && leader && numa_bitmask_equal(p->now, p->cpus))
		return leader->original;
	return p->now;
}

/* Notes the thread in the state (not yet on disk) and in the undo list. */
static int note_thread(struct placing *p, pid_t tid)
{
	struct np_saved *old = np_state_find(&p->state, tid);
	struct undo *bigger, *u;
	struct np_proc_stat st;
	struct np_saved record;
	bool ours;
	int e;

	if (np_proc_thread_stat(p->pid, tid, &st) || np_affinity_get(tid, p->now))
		return 0;	/* it has exited */
	if (old && old->start != st.start) {	/* its number was another thread's */
		np_state_drop(&p->state, tid);
		old = NULL;
	}
	bigger = realloc(p->undo, sizeof(*bigger) * (p->n_undo + 1));
	if (!bigger)
		return -ENOMEM;
	p->undo = bigger;
	ours = old && numa_bitmask_equal(old->set, p->now) && !numa_bitmask_equal(p->cpus, p->now);
	record = (struct np_saved){ .tid = tid, .pid = p->pid, .start = st.start,
				    .inherit = p->inherit,
				    .original = clone(original_of(p, old)),
				    .set = clone(p->cpus), .earlier = ours ? clone(p->now) : NULL };
	u = &p->undo[p->n_undo++];
	*u = (struct undo){ tid, old, clone(p->now), old ? clone(old->original) : NULL };
	np_state_drop(&p->state, tid);
	e = np_state_add(&p->state, &record);
	numa_bitmask_free(record.original);
	numa_bitmask_free(record.set);
	if (record.earlier)
		numa_bitmask_free(record.earlier);
	return e;
}

static int explain(struct placing *p, pid_t tid, int e)
{
	char want[NP_LIST_LEN], have[NP_LIST_LEN];
	struct np_proc_stat st;

	np_list_format(p->cpus, want, sizeof(want));
	if (e == -EPERM)
		return np_proc_denied(tid, "change the CPUs of", p->err, p->err_len);
	if (!np_proc_thread_stat(p->pid, tid, &st) && st.fixed_affinity)
		return np_fail(p->err, p->err_len, e,
			       "the kernel has fixed the CPUs of thread %d (%s)", tid, st.comm);
	if (e == -EXDEV)
		return np_fail(p->err, p->err_len, -EINVAL,
			       "the cpuset of process %d allows only CPUs %s of %s; choose among "
			       "those or change its cgroup", p->pid,
			       np_list_format(p->now, have, sizeof(have)), want);
	if (e == -EINVAL)
		return np_fail(p->err, p->err_len, e,
			       "the cpuset of process %d allows none of CPUs %s, or they are offline",
			       p->pid, want);
	return np_fail(p->err, p->err_len, e, "thread %d of process %d cannot be bound to CPUs %s: %s",
		       tid, p->pid, want, strerror(-e));
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
	size_t first = p->n_undo, n = 1;
	pid_t *tids = NULL;
	int e = one_thread ? 0 : np_proc_threads(p->pid, &tids, &n);

	for (size_t i = 0; !e && i < n; i++) {
		pid_t t = one_thread ? tid : tids[i];

		if (!already_done(p, t))
			e = note_thread(p, t);
	}
	free(tids);
	*found = p->n_undo - first;
	if (e == -ESRCH)
		return np_fail(p->err, p->err_len, e, "process %d has just exited", p->pid);
	if (e)
		return np_fail(p->err, p->err_len, e, "out of memory");
	if (*found)
		e = np_state_record(&p->state, p->err, p->err_len);
	for (size_t i = first; !e && i < p->n_undo; i++)
		e = bind_thread(p, p->undo[i].tid);
	return e;
}

/* Puts every thread and record back as they were before this call. */
static void undo_all(struct placing *p)
{
	char ignored[NP_ERR_LEN];

	for (size_t i = 0; i < p->n_undo; i++) {
		struct undo *u = &p->undo[i];
		struct np_saved *r = np_state_find(&p->state, u->tid);

		np_affinity_set(u->tid, u->before);
		if (!r)
			continue;
		if (u->had_record) {
			copy_bitmask_to_bitmask(u->original, r->original);
			copy_bitmask_to_bitmask(u->before, r->set);
		} else {
			np_state_drop(&p->state, u->tid);
		}
	}
	np_state_save(&p->state, ignored, sizeof(ignored));
}

static void placing_free(struct placing *p)
{
	for (size_t i = 0; i < p->n_undo; i++) {
		numa_bitmask_free(p->undo[i].before);
		if (p->undo[i].original)
			numa_bitmask_free(p->undo[i].original);
	}
	free(p->undo);
	numa_bitmask_free(p->now);
	np_state_keep(&p->state);
}

int np_affinity_place(pid_t pid, bool one_thread, bool inherit, const struct bitmask *cpus,
		      char *err, size_t err_len)
{
	struct placing p = { .inherit = inherit, .err = err, .err_len = err_len };
	size_t found = 1;
	int e = np_state_open_kept(&p.state, err, err_len);

	if (e)
		return e;
	p.pid = np_proc_group(pid);
	p.cpus = clone(cpus);
	p.now = numa_bitmask_alloc(NP_MAX_CPUS);
	for (int pass = 0; !e && found && pass < MAX_PASSES; pass++)
		e = place_pass(&p, one_thread, pid, &found);
	if (!e && p.n_undo == 0)
		e = np_fail(err, err_len, -ESRCH, "process %d has just exited", pid);
	if (e)
		undo_all(&p);
	numa_bitmask_free((struct bitmask *)p.cpus);
	placing_free(&p);
	return e;
}
