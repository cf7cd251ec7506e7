// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's weights for interleaving, where a plan spreads pages unevenly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../host/interleave_weights.h"
#include "../host/mempolicy.h"
#include "../host/proc.h"
#include "apply.h"

static const char *root_of(const struct np_applied *a)
{
	return a->how.root ? a->how.root : "";
}

/* An earlier placement may have made its pages to come go by them already. */
static bool goes_by_them(const struct np_applied *a, size_t i)
{
	struct bitmask *nodes = NULL;
	int mode = -1;

	if (a->how.engine->memory)
		a->how.engine->memory(a->p->tasks.task[i].pid, &mode, &nodes);
	if (nodes)
		numa_bitmask_free(nodes);
	return mode == NP_MPOL_WEIGHTED_INTERLEAVE;
}

static const uint8_t *wanted(const struct np_applied *a, size_t i)
{
	const uint8_t *row = np_weights_wanted(a->p, i);

	return row && (np_decision_acts(a->p, i) || goes_by_them(a, i)) ? row : NULL;
}

/* Whether the row is of the same proportions as all; nodes that all has none for are added to it. */
static bool join(const struct np_machine *m, const uint8_t *row, uint8_t *all)
{
	unsigned int mine = 0, theirs = 0;

	for (size_t k = 0; k < m->n_nodes; k++)
		if (row[k] && all[k] && !mine) {
			mine = row[k];
			theirs = all[k];
		}
	for (size_t k = 0; k < m->n_nodes; k++) {
		if (!row[k])
			continue;
		if (mine && (all[k] ? row[k] * theirs != all[k] * mine : theirs != mine))
			return false;
		all[k] = all[k] ? all[k] : row[k];
	}
	return true;
}

/* A step of its own: a task whose weights cannot be set now does not hold up the others. */
static int refuse(struct np_applied *a, size_t i, int e, const char *why, struct np_err *err)
{
	a->step[i].state = NP_STEP_FAILED;
	np_fail(&a->step[i].err, e, "%s", why);
	return np_fail(err, e, "%s", why);
}

static int refuse_second(struct np_applied *a, size_t i, const uint8_t *row, const uint8_t *all,
			 struct np_err *err)
{
	json_t *mine = np_weights_row_json(&a->p->machine, row),
	       *others = np_weights_row_json(&a->p->machine, all);
	char want[64], have[64];
	struct np_err why;

	np_fail(&why, 0,
		"process %d is to go by weights %s, others of the plan by %s, and the kernel "
		"has one set: plan for one of them, or leave --weights out",
		a->p->tasks.task[i].pid, np_weights_list(mine, want, sizeof(want)),
		np_weights_list(others, have, sizeof(have)));
	json_decref(mine);
	json_decref(others);
	return refuse(a, i, -EBUSY, why.text, err);
}

/* Fills a->user and all, [n_nodes]; *last is the last task that wants any. */
static int collect(struct np_applied *a, uint8_t *all, size_t *last, struct np_err *err)
{
	for (size_t i = 0; i < a->p->plan.n; i++) {
		const uint8_t *row = wanted(a, i);
		struct np_weights_user *u = &a->user[a->n_users];

		if (!row)
			continue;
		if (!join(&a->p->machine, row, all))
			return refuse_second(a, i, row, all, err);
		u->pid = a->p->tasks.task[i].pid;
		u->start = a->p->tasks.start[i];
		snprintf(u->by, sizeof(u->by), "%s", a->how.by ? a->how.by : "");
		a->n_users++;
		*last = i;
	}
	return 0;
}

static void say_written(struct np_applied *a, const json_t *before)
{
	json_t *now = np_weights_kernel_read(root_of(a));
	char is[64], was[64];

	if (!json_equal(now, before))
		snprintf(a->weights, sizeof(a->weights),
			 "the kernel's weights for interleaving are %s now, were "
			 "%s, for every task of this machine; the last restore brings those back",
			 np_weights_list(now, is, sizeof(is)),
			 np_weights_list(before, was, sizeof(was)));
	json_decref(now);
}

static int take(struct np_applied *a, const uint8_t *all, size_t last, struct np_err *err)
{
	json_t *want = np_weights_row_json(&a->p->machine, all),
	       *before = np_weights_kernel_read(root_of(a));
	struct np_err why;
	int e = np_weights_take(root_of(a), want, a->user, a->n_users, &why);

	if (!e)
		say_written(a, before);
	json_decref(before);
	json_decref(want);
	return e ? refuse(a, last, e, why.text, err) : 0;
}

int np_apply_weights(struct np_applied *a, struct np_err *err)
{
	uint8_t *all = calloc(a->p->machine.n_nodes + 1, sizeof(*all));
	size_t last = 0;
	int e;

	if (!a->how.engine->memory) { /* nothing would go by them, and a->note says so */
		free(all);
		return 0;
	}
	a->user = calloc(a->p->plan.n + 1, sizeof(*a->user));
	if (!all || !a->user)
		e = np_fail(err, -ENOMEM, "out of memory");
	else
		e = collect(a, all, &last, err);
	if (!e && a->n_users)
		e = take(a, all, last, err);
	free(all);
	return e;
}

static bool is_ours(const struct np_weights_user *u, const void *arg)
{
	const struct np_applied *a = arg;

	for (size_t i = 0; i < a->n_users; i++)
		if (a->user[i].added && a->user[i].pid == u->pid && a->user[i].start == u->start)
			return true;
	return false;
}

void np_apply_weights_undo(struct np_applied *a)
{
	struct np_weights_back back;
	struct np_err err;
	bool any = false;

	for (size_t i = 0; i < a->n_users; i++)
		any |= a->user[i].added;
	if (any && np_weights_drop(root_of(a), is_ours, a, &back, &err))
		np_fail(&a->note, 0, "%s", err.text);
	a->weights[0] = '\0';
}
