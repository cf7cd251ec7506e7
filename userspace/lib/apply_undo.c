// SPDX-License-Identifier: GPL-2.0-only
/* Takes back what one apply did. Best effort: what cannot be taken back is said. */
#include <errno.h>
#include <stdlib.h>

#include "apply.h"
#include "list.h"

/* Pages; looking for fewer among many that stay takes more calls than it is worth. */
#define NOT_WORTH_A_CALL 64

static void say(struct np_step *step, const char *format, const char *why)
{
	if (!step->err[0])
		np_fail(step->err, NP_ERR_LEN, 0, format, why);
}

/* True when every page that is on sent_to now was on one other node before. */
static bool came_from_one_node(const struct np_machine *m, const uint64_t *before, int sent_to)
{
	size_t sources = 0;

	for (size_t node = 0; node < m->n_nodes; node++)
		sources += before[node] > 0;
	return sources == 1 && before[sent_to] == 0;
}

static int move_to(struct np_applied *a, size_t i, const struct bitmask *from, int node,
		   uint64_t pages, bool all, char *err, size_t err_len)
{
	struct np_migrate_request r = {
		.pid = a->p->tasks.task[i].pid,
		.from = from,
		.to = a->p->machine.node[node].id,
	};
	struct np_migrate_result result;
	uint64_t moved;

	if (all)
		return a->control->migrate(&r, &result, err, err_len);
	if (pages < NOT_WORTH_A_CALL)
		return 0;
	return np_apply_move(a, i, from, node, pages, &moved, err, err_len);
}

/* As many pages as each node had before, of those that are where the task's were sent. */
static void move_back(struct np_applied *a, size_t i, const struct np_tasks *now)
{
	const struct np_machine *m = &a->p->machine;
	const uint64_t *before = a->p->tasks.task[i].pages, *have = now->task[0].pages;
	int sent_to = a->p->plan.decision[i].pages_to;
	bool all = came_from_one_node(m, before, sent_to);
	struct bitmask *from = numa_bitmask_alloc(NP_MAX_NODES);
	char err[NP_ERR_LEN];

	numa_bitmask_setbit(from, (unsigned int)m->node[sent_to].id);
	for (int node = 0; node < (int)m->n_nodes; node++) {
		if (node == sent_to || before[node] <= have[node])
			continue;
		if (move_to(a, i, from, node, before[node] - have[node], all, err, sizeof(err)))
			say(&a->step[i], "pages not moved back: %s", err);
	}
	numa_bitmask_free(from);
}

/*
 * Restoring gives the CPUs from before numaplace's first placement. If an
 * earlier apply had placed the task, that placement is what this one replaced.
 */
static void bind_again(struct np_applied *a, size_t i, const struct np_tasks *now)
{
	struct np_place_request r = {
		.pid = a->p->tasks.task[i].pid,
		.cpus = a->p->tasks.cpus[i],
		.mem_mode = -1,
		.inherit = true,
	};
	char err[NP_ERR_LEN];

	if (numa_bitmask_equal(now->cpus[0], r.cpus))
		return;
	if (a->control->place(&r, err, sizeof(err)))
		say(&a->step[i], "earlier placement not restored: %s", err);
}

static bool read_again(const struct np_applied *a, size_t i, struct np_tasks *now)
{
	char err[NP_ERR_LEN];

	if (np_tasks_read(now, &a->p->machine, &a->p->tasks.task[i].pid, 1, 0, err, sizeof(err)))
		return false;
	if (now->start[0] == a->p->tasks.start[i])
		return true;
	np_tasks_free(now);
	return false;
}

static void undo_task(struct np_applied *a, size_t i)
{
	struct np_step *step = &a->step[i];
	struct np_tasks now;
	char err[NP_ERR_LEN];
	size_t n, kept;
	int e;

	if (step->moved.moved && read_again(a, i, &now)) {
		move_back(a, i, &now);
		np_tasks_free(&now);
	}
	if (step->cpus || step->mem != NP_NODE_NONE) {
		e = a->control->restore(a->p->tasks.task[i].pid, &n, &kept, err, sizeof(err));
		if (e && e != -ENOENT && e != -ESRCH)
			say(step, "placement not restored: %s", err);
	}
	if (step->cpus && read_again(a, i, &now)) {
		bind_again(a, i, &now);
		np_tasks_free(&now);
	}
	if (step->state == NP_STEP_DONE)
		step->state = NP_STEP_UNDONE;
}

void np_apply_undo(struct np_applied *a)
{
	a->undone = true;
	for (size_t i = a->p->plan.n; i-- > 0;)
		if (a->step[i].state == NP_STEP_DONE || a->step[i].state == NP_STEP_FAILED)
			undo_task(a, i);
}
