// SPDX-License-Identifier: GPL-2.0-only
/* The end of a daemon: the tasks that it has placed are restored, or left as they are. */
#include "daemon.h"

#include <errno.h>
#include <stdlib.h>

#include "../undo/saved_affinity.h"

static bool descends_from_placed(const struct np_daemon *d, const struct np_watched_task *t)
{
	for (int depth = 0; depth < 64; depth++) {
		t = np_task_watch_find(&d->watch, t->ppid);
		if (!t)
			return false;
		if (t->placed)
			return true;
	}
	return false;
}

/* A pid that was reused since is not on the list: the start time differs. */
static bool is_ours(const struct np_daemon *d, const struct np_watched_task *t)
{
	const struct np_placed_task task = { t->pid, t->start };

	bool ours = t->placed || t->descendant || (d->owns_watched && t->watched) ||
		    descends_from_placed(d, t);

	return ours && np_daemon_placed_runs(&task);
}

/* Tasks that it has placed, without their descendants. */
static bool is_placed(const struct np_daemon *d, const struct np_watched_task *t)
{
	const struct np_placed_task task = { t->pid, t->start };

	return t->placed && np_daemon_placed_runs(&task);
}

/* These, and those that it has adopted. NULL without memory. */
static pid_t *pids_of(const struct np_daemon *d,
		      bool (*is)(const struct np_daemon *d, const struct np_watched_task *t),
		      size_t *n)
{
	pid_t *pids = calloc(d->watch.n + d->adopted.n + 1, sizeof(*pids));

	*n = 0;
	for (size_t i = 0; pids && i < d->watch.n; i++)
		if (is(d, &d->watch.task[i]))
			pids[(*n)++] = d->watch.task[i].pid;
	for (size_t i = 0; pids && i < d->adopted.n; i++)
		if (np_daemon_placed_runs(&d->adopted.task[i]))
			pids[(*n)++] = d->adopted.task[i].pid;
	if (pids)
		qsort(pids, *n, sizeof(*pids), np_whose_order);
	return pids;
}

/* It did not happen: the next daemon adopts what is left, unless `restore` comes first. */
static int failed(struct np_daemon *d, int e, const char *why)
{
	np_daemon_complain(d, "%s; `numaplace restore --all` restores what is left", why);
	return e;
}

int np_daemon_restore(struct np_daemon *d, size_t *restored)
{
	struct np_whose whose = { .by = d->how.by };
	struct np_err err = { "" };
	size_t kept;
	pid_t *pids;
	int e;

	*restored = 0;
	d->watch.last_pid = 0;
	if (np_task_watch_list(&d->watch, &err))
		np_daemon_complain(d, "%s", err.text);
	whose.pids = pids = pids_of(d, is_ours, &whose.n);
	if (!pids)
		return failed(d, -ENOMEM, "out of memory");
	err.text[0] = '\0';
	e = d->how.engine->restore(&whose, restored, &kept, &err);
	if (e == -ENOENT || e == -ESRCH)
		e = 0;
	else if (e)
		failed(d, e, err.text);
	else if (err.text[0])
		np_daemon_say(d, "%s", err.text);
	free(pids);
	return e;
}

int np_daemon_pages_back(const struct np_daemon *d, const struct np_mover *mover,
			 const volatile sig_atomic_t *stop, struct np_pages_back *back,
			 struct np_err *err)
{
	size_t n;
	pid_t *pids = pids_of(d, is_placed, &n);
	int e;

	if (!pids)
		return np_fail(err, -ENOMEM, "out of memory");
	e = np_saved_pages_restore(&d->machine, pids, n, mover, stop, back, err);
	free(pids);
	return e == -ENOENT ? 0 : e;
}

static void forget(struct np_daemon *d)
{
	const struct np_daemon_placed none = { 0 };
	struct np_err err;

	if (d->remembers && np_daemon_placed_write(&none, &err))
		np_daemon_complain(d, "%s", err.text);
}

void np_daemon_leave(struct np_daemon *d)
{
	struct np_err err;

	if (np_saved_affinity_leave(d->how.by, &err))
		np_daemon_complain(d, "%s", err.text);
	forget(d);
}

int np_daemon_end(struct np_daemon *d, size_t *restored)
{
	int e = np_daemon_restore(d, restored);

	if (!e)
		forget(d);
	return e;
}
