// SPDX-License-Identifier: GPL-2.0-only
/*
 * remote: a control. Every task runs on another node than its memory is on, as in
 * the measurements of Heard and Shafiee and of Prabhanjan et al.: the worst that
 * a policy may do to locality, to compare the others with.
 */
#include "plan/placer.h"

static const char *const move_words[] = { "tasks", "pages", NULL };
static const char *const which_words[] = { "nearest", "farthest", NULL };

enum { MOVE_TASKS, MOVE_PAGES };
enum { NEAREST, FARTHEST };

static const struct np_option options[] = {
	/* clang-format off */
	{ .name = "move", .type = NP_OPT_ENUM, .def = MOVE_TASKS, .words = move_words, .unit = "",
	  .meaning = "tasks: each leaves its home node, pages that are elsewhere go home; pages: "
		     "each stays on its node, all its pages leave it" },
	{ .name = "which", .type = NP_OPT_ENUM, .def = NEAREST, .words = which_words, .unit = "",
	  .meaning = "of the other nodes, by the distance from the task to its pages" },
	NP_OPTION_PENALTY,
	NP_OPTION_RATE,
	NP_OPTION_FILES,
	/* clang-format on */
	{ 0 },
};

struct remote {
	struct np_placer p;
	bool farthest;
};

/* For the CPUs of task i, whose memory is on that node, or for the memory of what runs there. */
static int other_node(const struct remote *r, size_t i, int than, bool memory)
{
	const struct np_placer *p = &r->p;
	int best = NP_NODE_NONE, to_best = 0;

	for (int node = 0; node < (int)p->m->n_nodes; node++) {
		int distance = memory ? np_distance(p->m, than, node) :
					np_distance(p->m, node, than);

		if (node == than ||
		    !(memory ? np_may_hold(p->m, &p->tasks[i], node) : np_has_room(p, node, i)))
			continue;
		if (best == NP_NODE_NONE ||
		    (r->farthest ? distance > to_best : distance < to_best)) {
			best = node;
			to_best = distance;
		}
	}
	return best;
}

static void task_leaves(struct remote *r, size_t i)
{
	struct np_decision *d = &r->p.decision[i];
	const struct np_node *nodes = r->p.m->node;
	int to;

	if (d->home == NP_NODE_NONE) {
		np_reason(d, "left alone: has no pages to be far from");
		return;
	}
	to = other_node(r, i, d->home, false);
	if (to == NP_NODE_NONE) {
		np_reason(d, "left alone: no other node than its home %d has free CPUs for it",
			  nodes[d->home].id);
		return;
	}
	np_place_on(&r->p, i, to);
	if (np_may_hold(r->p.m, &r->p.tasks[i], d->home))
		d->pages_to = d->home;
	np_reason(d, "runs away from its home node %d, on the %s other", nodes[d->home].id,
		  r->farthest ? "farthest" : "nearest");
}

static void pages_leave(struct remote *r, size_t i)
{
	struct np_decision *d = &r->p.decision[i];
	const struct np_node *nodes = r->p.m->node;
	int to;

	if (d->from == NP_NODE_NONE) {
		np_reason(d, "left alone: runs on several nodes");
		return;
	}
	to = other_node(r, i, d->from, true);
	if (to == NP_NODE_NONE) {
		np_reason(d, "left alone: no other node than %d may hold its pages",
			  nodes[d->from].id);
		return;
	}
	/* Where all CPUs of its node are isolated, it stays there unbound. */
	if (np_may_run(r->p.m, &r->p.tasks[i], d->from))
		np_place_on(&r->p, i, d->from);
	d->pages_to = to;
	np_reason(d, "its pages leave node %d, where it runs, for the %s other", nodes[d->from].id,
		  r->farthest ? "farthest" : "nearest");
}

static int plan(const struct np_machine *m, const struct np_task *tasks, size_t n,
		const struct np_options *o, struct np_plan *out)
{
	const struct np_policy *self = &np_policy_remote;
	struct remote r = { .farthest = np_options_get(self, o, "which") == FARTHEST };
	int err = np_placer_init(&r.p, m, tasks, n, out);

	if (err)
		return err;
	for (size_t k = 0; k < n; k++) {
		if (np_options_get(self, o, "move") == MOVE_TASKS)
			task_leaves(&r, r.p.order[k]);
		else
			pages_leave(&r, r.p.order[k]);
	}
	np_placer_free(&r.p);
	return 0;
}

const struct np_policy np_policy_remote = {
	.name = "remote",
	.summary = "every task runs on another node than its memory is on",
	.origin = "control: Heard and Shafiee; Prabhanjan et al.",
	.needs = "nothing",
	.option = options,
	.plan = plan,
};
