// SPDX-License-Identifier: GPL-2.0-only
/* Brings the files of a plan's tasks to where the plan has their readers, and back. */
#include <errno.h>
#include <stdlib.h>

#include "../base/cpulist.h"
#include "apply.h"
#include "saved_files.h"

static bool go_on(const struct np_migrate_result *so_far, void *arg)
{
	const struct np_applied *a = arg;

	if (a->how.watch)
		a->how.watch(a, so_far);
	return !*a->how.stop;
}

/* What fails of a file is told of it, and no reason to undo what was done for the tasks. */
static int move_file(struct np_applied *a, size_t i, struct np_err *err)
{
	const struct np_file_move *move = &a->p->files->move[i];
	struct np_file_step *step = &a->file_step[i];
	const struct np_mover mover = {
		.engine = a->how.engine, .throttle = a->how.throttle, .go_on = go_on, .arg = a
	};
	struct np_err why;
	int e = np_file_move_to(move->file, move->share, &a->p->machine, &mover, &step->moved,
				&why);

	if (e == -ECANCELED)
		return np_fail(err, -EINTR, "interrupted");
	if (e)
		np_fail(&step->err, 0, "%s", why.text);
	return 0;
}

/* Those that were noted by this apply and of which no page is elsewhere now; without memory none. */
static void forget_files(struct np_applied *a)
{
	size_t n = a->p->files->n;
	bool *drop = calloc(n + 1, sizeof(*drop)), any = false;
	struct np_err err;

	for (size_t i = 0; drop && i < n; i++) {
		drop[i] = a->file_noted[i] &&
			  (!a->file_step[i].moved.moved || a->file_step[i].back);
		a->file_noted[i] &= !drop[i];
		any |= drop[i];
	}
	if (any && np_saved_files_drop(a->p->files, drop, &err) && !a->note.text[0])
		np_fail(&a->note, 0, "%s", err.text);
	free(drop);
}

int np_apply_files(struct np_applied *a, struct np_err *err)
{
	size_t n = a->p->files ? a->p->files->n : 0;
	int e = n && a->how.note_pages ?
			np_saved_files_add(a->p->files, &a->p->machine, a->file_noted, err) :
			0;

	for (size_t i = 0; !e && i < n; i++)
		e = *a->how.stop ? np_fail(err, -EINTR, "interrupted") : move_file(a, i, err);
	/* After an error they are forgotten when they are back. */
	if (!e && n)
		forget_files(a);
	return e;
}

static void bring_back(struct np_applied *a, size_t i)
{
	const struct np_machine *m = &a->p->machine;
	const struct np_mover mover = { .engine = a->how.engine };
	const struct np_file *file = a->p->files->move[i].file;
	struct np_file_step *step = &a->file_step[i];
	double share[NP_MAX_NODES];
	struct np_migrate_result back;
	struct np_err err;
	int e;

	if (!step->moved.moved || !np_file_shares(file, m, share))
		return;
	a->undone = true;
	e = np_file_move_to(file, share, m, &mover, &back, &err);
	if (!e && np_migrate_left(&back))
		e = np_fail(&err, -EBUSY, "%llu pages of %s would not go",
			    (unsigned long long)np_migrate_left(&back), file->path);
	step->back = !e || e == -ESTALE;
	if (!step->back && !a->not_undone.text[0])
		np_fail(&a->not_undone, 0,
			"pages of a file not moved back, `numaplace restore --pages` tries again: %s",
			err.text);
}

void np_apply_files_undo(struct np_applied *a)
{
	if (!a->p->files)
		return;
	for (size_t i = a->p->files->n; i-- > 0;)
		bring_back(a, i);
	forget_files(a);
}
