// SPDX-License-Identifier: GPL-2.0-only
/* Undoes one apply as far as possible; actions that cannot be undone are reported. */
#include <errno.h>
#include <stdlib.h>

#include "apply.h"
#include "saved_pages.h"

/* A step that failed keeps the reason for that. */
static void say(struct np_applied *a, size_t i, const char *what, const char *why)
{
	if (!a->step[i].err.text[0])
		np_fail(&a->step[i].err, 0, "%s: %s", what, why);
	if (!a->not_undone.text[0])
		np_fail(&a->not_undone, 0, "process %d: %s: %s", a->p->tasks.task[i].pid, what,
			why);
}

static void keep_pages(struct np_applied *a, size_t i, const char *why)
{
	a->step[i].pages_stay = true;
	say(a, i, "pages not moved back, `numaplace restore --pages` tries again", why);
}

static void move_back(struct np_applied *a, size_t i, const struct np_tasks *now)
{
	const struct np_mover mover = { .engine = a->how.engine };
	const struct np_task *t = &a->p->tasks.task[i];
	struct np_err err;
	uint64_t moved = 0;

	/* Without those of files, which a policy may have counted. */
	if (np_move_back(&mover, &a->p->machine, t->pid,
			 a->p->tasks.pages + i * a->p->machine.n_nodes, now->task[0].pages, &moved,
			 &err))
		keep_pages(a, i, err.text);
}

/*
 * By system calls a thread has again what it had just before. The module gives what it had
 * before it was first placed: that of an earlier apply is what this one replaced.
 */
static void bind_again(struct np_applied *a, size_t i, const struct np_tasks *now)
{
	const struct bitmask *before = a->p->tasks.cpus[i];
	bool exact = a->step[i].calls && !a->how.engine->memory;
	struct np_place_request r = {
		.pid = a->p->tasks.task[i].pid,
		.cpus = exact || numa_bitmask_equal(now->cpus[0], before) ? NULL : before,
		.mem_mode = a->step[i].earlier_mode,
		.mem_nodes = a->step[i].earlier_nodes,
		.inherit = true,
		.by = a->how.by,
	};
	struct np_err err;

	if (!r.cpus && r.mem_mode < 0)
		return;
	if (a->how.engine->place(&r, &err))
		say(a, i, "earlier placement not restored", err.text);
}

/* 0, -ESRCH when the task has exited, or another -errno. */
static int read_again(const struct np_applied *a, size_t i, struct np_tasks *now,
		      struct np_err *err)
{
	int e = np_tasks_read(now, &a->p->machine, &a->p->tasks.task[i].pid, 1, err);

	if (e || now->start[0] == a->p->tasks.start[i])
		return e;
	np_tasks_free(now);
	return -ESRCH;
}

static bool is_to_undo(const struct np_applied *a, size_t i)
{
	return a->step[i].state == NP_STEP_DONE || a->step[i].state == NP_STEP_FAILED;
}

static void bring_pages_back(struct np_applied *a, size_t i)
{
	struct np_tasks now;
	struct np_err err;
	int e;

	if (!a->step[i].moved.moved)
		return;
	e = read_again(a, i, &now, &err);
	if (e && e != -ESRCH)
		keep_pages(a, i, err.text);
	if (e)
		return;
	move_back(a, i, &now);
	np_tasks_free(&now);
}

/* All in one pass: that of one task costs as much. One whose placing failed has undone that itself. */
static void undo_placements(struct np_applied *a)
{
	struct np_undo *undo = calloc(a->p->plan.n + 1, sizeof(*undo));
	struct np_err err = { "out of memory" };
	int e = undo ? 0 : -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; undo && i < a->p->plan.n; i++)
		if (is_to_undo(a, i) && a->step[i].placed)
			undo[n++] = (struct np_undo) { a->p->tasks.task[i].pid, a->step[i].calls };
	if (n)
		e = a->how.engine->undo(undo, n, &err);
	if (e && !a->not_undone.text[0])
		np_fail(&a->not_undone, 0, "not every placement was restored: %s", err.text);
	free(undo);
}

static void bind_as_before(struct np_applied *a, size_t i)
{
	struct np_step *step = &a->step[i];
	struct np_tasks now;
	struct np_err err;

	if (step->placed && !read_again(a, i, &now, &err)) {
		bind_again(a, i, &now);
		np_tasks_free(&now);
	}
	if (step->state == NP_STEP_DONE)
		step->state = NP_STEP_UNDONE;
}

/* Those that this apply had noted and that are back already. */
static void forget_pages(struct np_applied *a)
{
	struct np_err err;
	bool any = false;

	for (size_t i = 0; i < a->p->plan.n; i++)
		any |= a->noted[i] &= !a->step[i].pages_stay;
	if (any && np_saved_pages_drop(&a->p->tasks, a->noted, &err))
		np_fail(&a->note, 0, "%s", err.text);
}

void np_apply_undo(struct np_applied *a)
{
	np_apply_files_undo(a);
	for (size_t i = a->p->plan.n; i-- > 0;) {
		if (!is_to_undo(a, i))
			continue;
		a->undone = true;
		bring_pages_back(a, i);
	}
	undo_placements(a);
	for (size_t i = a->p->plan.n; i-- > 0;)
		if (is_to_undo(a, i))
			bind_as_before(a, i);
	forget_pages(a);
}
