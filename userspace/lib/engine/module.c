// SPDX-License-Identifier: GPL-2.0-only
/* The module as an engine: its table, restore. */
#include "module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/cpulist.h"
#include "../host/module_files.h"
#include "../undo/placements.h"
#include "affinity.h"
#include "engines.h"
#include "spread_pages.h"

int np_module_ready(struct np_err *err)
{
	struct np_module_info info;

	return np_module_probe(&info, err);
}

/* The thread's CPUs where they are not those that the module set; NULL: they are. */
static struct bitmask *changed_since(const struct np_placement *p)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);

	if (p->set && !np_affinity_get(p->tid, now) && !numa_bitmask_equal(now, p->set))
		return now;
	numa_bitmask_free(now);
	return NULL;
}

/* The process, or the thread of one, that a placement is to be restored with. */
struct target {
	pid_t pid;
	bool thread;
	pid_t tid;
	struct bitmask *changed; /* changed_since() */
	bool refused;
};

struct targets {
	struct target *target;
	size_t n;
};

/* Whether the placement is meant; *t as it is to be written, pid 0 where "all" is. */
static bool is_meant(const struct np_placement *p, const struct np_whose *whose, struct target *t)
{
	*t = (struct target) { .tid = p->tid };
	if (np_whose_has(whose, p->pid))
		t->pid = p->pid;
	else if (np_whose_has(whose, p->tid)) {
		t->pid = p->tid;
		t->thread = true;
	}
	return t->pid || np_whose_all(whose);
}

static int in_order(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid) : x->thread - y->thread;
}

static int write_restore(const struct target *t, struct np_err *err)
{
	char line[32];
	int e;

	if (t->pid)
		snprintf(line, sizeof(line), "%s=%d\n", t->thread ? "tid" : "pid", t->pid);
	else
		snprintf(line, sizeof(line), "all\n");
	e = np_module_write("restore", line);
	return e ? np_module_refused(t->pid, "restore", e, err) : 0;
}

/*
 * The first error is reported; that a task has exited meanwhile counts only where it is the only
 * one.
 */
static int restore_targets(struct target *target, size_t n, struct np_err *err)
{
	struct np_err why;
	int first = 0;

	qsort(target, n, sizeof(*target), in_order);
	for (size_t i = 0; i < n; i++) {
		int e = 0;

		if (!i || in_order(&target[i], &target[i - 1]))
			e = write_restore(&target[i], &why);
		if (e && (e != -ESRCH || n == 1) && !first)
			first = np_fail(err, e, "%s", why.text);
	}
	return first;
}

/* The placements that are meant. 0, -ENOENT or -ENOMEM. */
static int read_targets(const struct np_whose *whose, struct targets *all, struct np_err *err)
{
	struct np_placements placements = { 0 };
	int e = np_placements_read(&placements);

	all->target = calloc(placements.n + 1, sizeof(*all->target));
	if (e || !all->target)
		e = np_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !e && i < placements.n; i++) {
		struct target *t = &all->target[all->n];

		if (!is_meant(&placements.placement[i], whose, t))
			continue;
		t->changed = changed_since(&placements.placement[i]);
		all->n++;
	}
	np_placements_free(&placements);
	return e ? e : all->n || np_whose_all(whose) ? 0 : -ENOENT;
}

static void targets_free(struct targets *all)
{
	for (size_t i = 0; i < all->n; i++)
		numa_bitmask_free(all->target[i].changed);
	free(all->target);
}

/* After an error: those that the module still has in its table. */
static void mark_refused(struct targets *all)
{
	struct np_placements left = { 0 };

	np_placements_read(&left);
	for (size_t i = 0; i < all->n; i++)
		all->target[i].refused = np_placements_find(&left, all->target[i].tid);
	np_placements_free(&left);
}

/* Those that the module has restored; *kept: those left with CPUs that others have set since. */
static size_t count_restored(const struct targets *all, size_t *kept)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	size_t n = 0;

	*kept = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct target *t = &all->target[i];

		if (t->refused)
			continue;
		n += !t->changed;
		*kept += t->changed && !np_affinity_get(t->tid, now) &&
			 numa_bitmask_equal(now, t->changed);
	}
	numa_bitmask_free(now);
	return n;
}

/*
 * A task may have been placed by the module and by plain system calls, one on top of the
 * other. What system calls keep lies under both, so the module's goes first. That one of
 * the two had nothing to do is no error.
 */
static int restore_both(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	struct targets all = { 0 };
	struct np_err why = { "" };
	size_t by_module, left;
	int e = read_targets(whose, &all, err), e2;

	if (!e)
		e = restore_targets(all.target, all.n, err);
	if (e && e != -ENOENT)
		mark_refused(&all);
	e2 = np_affinity_restore(whose, n, kept, &why);
	by_module = count_restored(&all, &left);
	targets_free(&all);
	*n += by_module;
	*kept += left;
	if (e == -ENOENT || (!e && e2 != -ENOENT)) {
		np_fail(err, 0, "%s", why.text);
		e = e2;
	}
	if (!e && left)
		np_affinity_left_alone(*kept, *kept == left ? why.text : "", err);
	return e;
}

int np_module_restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	struct np_state_file lock;
	int e = np_placements_lock(&lock, err);

	*n = *kept = 0;
	if (!e) {
		err->text[0] = '\0';
		e = restore_both(whose, n, kept, err);
	}
	np_state_file_close(&lock);
	return e;
}

/* The module's, on top, first. It has nothing of those whose CPUs alone were set, by system calls. */
static int undo_both(const struct np_undo *u, size_t n, struct np_err *err)
{
	struct np_err why;
	int first = 0, e;

	for (size_t i = 0; i < n; i++) {
		const struct target t = { .pid = u[i].pid };

		e = write_restore(&t, &why);
		if (e && e != -ESRCH && !first)
			first = np_fail(err, e, "%s", why.text);
	}
	e = np_affinity_undo(u, n, &why);
	return e && !first ? np_fail(err, e, "%s", why.text) : first;
}

int np_module_undo(const struct np_undo *u, size_t n, struct np_err *err)
{
	struct np_state_file lock;
	int e = np_placements_lock(&lock, err);

	if (!e)
		e = undo_both(u, n, err);
	np_state_file_close(&lock);
	return e;
}

static int migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
		   struct np_err *err)
{
	return (r->share ? np_spread_pages : np_module_migrate)(r, out, err);
}

const struct np_engine_ops np_engine_module = {
	.name = "module",
	.probe = np_module_ready,
	.place = np_module_place,
	.undo = np_module_undo,
	.migrate = migrate,
	.memory = np_module_memory,
	.restore = np_module_restore,
};
