// SPDX-License-Identifier: GPL-2.0-only
/* Lists the tasks, and selects those that are watched. */
#include "task_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../base/error.h"
#include "../base/grow.h"
#include "../host/cgroup.h"
#include "../host/proc.h"
#include "../undo/inherited.h"

/* Index of pid, or the index to insert it at. */
static size_t place_of(const struct np_task_watch *w, pid_t pid)
{
	size_t low = 0, high = w->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (w->task[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct np_watched_task *np_task_watch_find(const struct np_task_watch *w, pid_t pid)
{
	size_t at = place_of(w, pid);

	return at < w->n && w->task[at].pid == pid ? &w->task[at] : NULL;
}

static struct np_watched_task *add(struct np_task_watch *w, pid_t pid)
{
	size_t at = place_of(w, pid);

	if (np_grow(&w->task, w->n, sizeof(*w->task)))
		return NULL;
	memmove(&w->task[at + 1], &w->task[at], (w->n - at) * sizeof(*w->task));
	w->n++;
	w->task[at] = (struct np_watched_task) { .pid = pid, .stat = -1 };
	return &w->task[at];
}

/* Not a task that reuses the pid of a named one that has exited. */
static bool is_named(const struct np_task_watch *w, const struct np_watched_task *t)
{
	for (size_t i = 0; i < w->rules->n_pids; i++)
		if (w->rules->pids[i] == t->pid && w->named[i] == t->start)
			return true;
	return false;
}

/* Named, or a descendant of one that is watched; a child may have a lower pid. */
static bool belongs(const struct np_task_watch *w, const struct np_watched_task *t)
{
	for (int depth = 0; t && depth < 64; depth++) {
		if (is_named(w, t) || (t->judged && t->watched))
			return true;
		t = np_task_watch_find(w, t->ppid);
	}
	return false;
}

/* Its parent has exited, so it is not watched; its new parent may be a watched task. */
static bool has_lost_parent(const struct np_task_watch *w, const struct np_watched_task *t)
{
	return !t->watched && t->ppid > 0 && !np_task_watch_find(w, t->ppid);
}

/*
 * Whether the pid is among those that the kernel has allocated since the last listing, in turn up to
 * last, so that it may be another process's than it was.
 */
static bool is_allocated_since(const struct np_task_watch *w, pid_t pid, unsigned long last)
{
	unsigned long n = (unsigned long)pid, before = w->last_pid;

	if (!last) /* not known */
		return true;
	if (before <= last)
		return n > before && n <= last;
	return n > before || n <= last;
}

static bool is_reused(const struct np_watched_task *t)
{
	struct np_proc_stat st;

	return t->gone || (!np_proc_stat(t->pid, &st) && st.start != t->start);
}

static bool meet(struct np_task_watch *w, pid_t pid, unsigned long last)
{
	struct np_watched_task *t = np_task_watch_find(w, pid);
	const struct np_watched_task *parent;
	struct np_proc_stat st;

	if (t && (t->gone || is_allocated_since(w, pid, last)) && is_reused(t)) {
		np_task_watch_forget(t);
		*t = (struct np_watched_task) { .pid = pid, .stat = -1 };
	} else if (!t) {
		t = add(w, pid);
		if (!t)
			return false;
	}
	if (!t->start || has_lost_parent(w, t)) {
		if (np_proc_stat(pid, &st) || st.kernel_thread)
			st.ppid = -1; /* known, so that it is not read again and again */
		t->judged = false;
		t->ppid = st.ppid;
		t->start = st.start;
		parent = np_task_watch_find(w, st.ppid);
		if (!t->descendant && parent && (parent->placed || parent->descendant))
			t->descendant = w->met_descendant = true;
		memcpy(t->comm, st.comm, sizeof(t->comm));
	}
	t->seen = true;
	return true;
}

static int list(const struct np_task_watch *w, pid_t **pids, size_t *n, struct np_err *err)
{
	int e;

	if (w->rules->cgroup)
		return np_cgroup_tasks(w->rules->cgroup, pids, n, err);
	e = np_proc_all(pids, n);
	return e ? np_fail(err, e, "/proc cannot be read: %s", strerror(-e)) : 0;
}

#define RESERVE 64 /* descriptors that are not for tasks: /proc, the machine's files, state */

/* Whether so high a descriptor may stay open. */
static bool may_keep(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)fd + RESERVE < limit.rlim_cur;
}

/* Without its open file, whether the process of that number is another one now. */
static bool is_another(const struct np_watched_task *t, const char *text)
{
	struct np_proc_stat st;

	return t->start && (np_proc_stat_parse(text, &st) || st.start != t->start);
}

bool np_task_watch_read_stat(struct np_watched_task *t, char *text, size_t len)
{
	char path[64];
	ssize_t n;

	if (t->stat < 0) {
		snprintf(path, sizeof(path), "/proc/%d/stat", t->pid);
		t->stat = open(path, O_RDONLY | O_CLOEXEC);
	}
	/* The open file is the process's own: a reused pid gives ESRCH. */
	n = t->stat < 0 ? -1 : pread(t->stat, text, len - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (t->stat >= 0 && !may_keep(t->stat)) {
		close(t->stat);
		t->stat = -1;
		return n > 0 && !is_another(t, text);
	}
	return n > 0;
}

/* One that has left the cgroup is no longer watched, but its placement is to be undone. */
static bool has_left(const struct np_task_watch *w, struct np_watched_task *t)
{
	char text[1024];

	return w->rules->cgroup && (t->placed || t->descendant) &&
	       np_task_watch_read_stat(t, text, sizeof(text));
}

static void drop_unseen(struct np_task_watch *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct np_watched_task *t = &w->task[i];

		if (!t->seen && !has_left(w, t)) {
			np_task_watch_forget(t);
			continue;
		}
		t->watched &= t->seen;
		w->task[kept++] = *t;
	}
	w->n = kept;
}

static void choose_members(struct np_task_watch *w)
{
	bool all = !w->rules->n_pids;
	pid_t self = getpid();

	w->n_watched = 0;
	for (size_t i = 0; i < w->n; i++) {
		struct np_watched_task *t = &w->task[i];

		if (!t->judged || (w->rules->cgroup && t->seen && !t->gone))
			t->watched = t->ppid >= 0 && t->pid != self && (all || belongs(w, t));
		t->judged = true;
		w->n_watched += t->watched;
	}
}

/* The last pid that the kernel allocated: unchanged, there is no new task. */
static unsigned long last_pid(void)
{
	char *text = np_read_file("/proc/loadavg"), *word = text ? strrchr(text, ' ') : NULL;
	unsigned long pid = word ? strtoul(word, NULL, 10) : 0;

	free(text);
	return pid;
}

/* While their parents live: of what has lost them nobody can say whose CPUs it has. */
static int note_descendants(struct np_task_watch *w, struct np_err *err)
{
	int e = w->met_descendant ? np_inherited_see(err) : 0;

	w->met_descendant &= e != 0;
	return e;
}

int np_task_watch_list(struct np_task_watch *w, struct np_err *err)
{
	unsigned long last = last_pid();
	pid_t *pids;
	size_t n;
	int e;

	if (last != w->last_pid)
		w->listings = 0;
	/* A cgroup's tasks change without a new pid. */
	if (w->n && last && w->listings >= NP_TASK_LISTINGS && !w->rules->cgroup)
		return note_descendants(w, err);
	e = list(w, &pids, &n, err);
	if (e)
		return e;
	for (size_t i = 0; i < w->n; i++)
		w->task[i].seen = false;
	for (size_t i = 0; !e && i < n; i++)
		if (!meet(w, pids[i], last))
			e = np_fail(err, -ENOMEM, "out of memory");
	free(pids);
	if (e)
		return e;
	w->last_pid = last;
	drop_unseen(w);
	w->listings = np_task_watch_find(w, (pid_t)last) ? NP_TASK_LISTINGS : w->listings + 1;
	choose_members(w);
	return note_descendants(w, err);
}
