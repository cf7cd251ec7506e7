// SPDX-License-Identifier: GPL-2.0-only
/* Penalties of the machine file, for tasks that have none. */
#include <limits.h>

#include "machine_find.h"
#include "penalty.h"

/* The measured one that matches best, or NULL. */
static const struct np_penalty_task *match(const struct np_penalties *p, const struct np_task *task)
{
	const struct np_penalty_task *best = NULL;
	enum np_penalty_match most = NP_MATCH_NONE;
	struct np_penalty_key key;

	if (!p->n)
		return NULL;
	np_penalty_key_of(task->pid, task->comm, &key);
	for (size_t i = 0; i < p->n; i++) {
		enum np_penalty_match m = np_penalty_key_match(&p->task[i].key, &key);

		if (m > most) {
			most = m;
			best = &p->task[i];
		}
	}
	return best;
}

static void apply(struct np_task *task, const struct np_penalties *p)
{
	const struct np_penalty_task *known;

	if (task->penalty_source != NP_PROVENANCE_NONE)
		return;
	known = match(p, task);
	if (known) {
		task->penalty = known->penalty;
		task->penalty_source = known->method;
		task->penalty_distance = known->distance;
	} else if (p->fit.remote > 0 && task->mpki_source != NP_PROVENANCE_NONE) {
		task->penalty = np_penalty_predict(&p->fit, task->mpki);
		task->penalty_source = NP_PROVENANCE_FIT;
		task->penalty_distance = p->fit.distance;
	}
}

int np_penalties_apply(struct np_tasks *t, struct np_err *err)
{
	struct np_penalties p;
	char path[PATH_MAX];
	int e = np_machine_file_here("", path, sizeof(path), err);

	if (e <= 0)
		return e;
	e = np_penalties_read(&p, path, err);
	for (size_t i = 0; !e && i < t->n; i++)
		apply(&t->task[i], &p);
	np_penalties_free(&p);
	return e;
}
