// SPDX-License-Identifier: GPL-2.0-only
/* Carries out the rest of a plan, after the tasks that it places have been noted. */
#include "daemon.h"

#include <errno.h>

static void say_moved(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	const struct np_request *p = a->p;
	const struct np_decision *decision = &p->plan.decision[i];
	const struct np_step *step = &a->step[i];
	char from[12], to[NP_NODES_TEXT];

	np_daemon_say(d, "process %d (%s), node %s -> %s, %llu of %llu pages moved in %.3f s: %s",
		      p->tasks.task[i].pid, p->tasks.task[i].comm,
		      np_node_text(&p->machine, decision->from, from, sizeof(from)),
		      np_place_text(p, decision, to, sizeof(to)),
		      (unsigned long long)step->moved.moved,
		      (unsigned long long)decision->pages_to_move, (double)step->moved.ns / 1e9,
		      decision->reason);
}

static void say_ping_pong(struct np_daemon *d, const struct np_request *p, size_t i,
			  const struct np_hysteresis *s)
{
	char a[12], b[12];

	np_daemon_say(d,
		      "process %d (%s) went %s -> %s -> %s within %u intervals: left on node %s "
		      "for %u intervals",
		      p->tasks.task[i].pid, p->tasks.task[i].comm,
		      np_node_text(&p->machine, s->last[0].to, a, sizeof(a)),
		      np_node_text(&p->machine, s->last[0].from, b, sizeof(b)), a,
		      s->last[0].at - s->last[1].at, a, s->left_until - d->now - 1);
}

static void note_done(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	const struct np_request *p = a->p;
	const struct np_decision *decision = &p->plan.decision[i];
	struct np_watched_task *t = np_task_watch_find(&d->watch, p->tasks.task[i].pid);
	uint64_t moved = a->step[i].moved.moved, planned = decision->pages_to_move;

	t->placed = true;
	t->read_rss = 0;		     /* read its pages again */
	t->sampled = (struct np_task) { 0 }; /* and sample it again */
	d->counts.moved_tasks++;
	d->counts.moved_bytes += a->step[i].moved.bytes;
	d->counts.move_seconds += (double)a->step[i].moved.ns / 1e9;
	say_moved(d, a, i);
	t->told = NP_HYSTERESIS_ACT;
	if (d->events.path)
		np_daemon_tell(d, "moved", np_event_decision(p, i, a));
	if (!np_hysteresis_moved(&t->hysteresis, &d->hysteresis_rules, decision,
				 planned > moved ? planned - moved : 0, d->now))
		return;
	d->counts.ping_pongs++;
	say_ping_pong(d, p, i, &t->hysteresis);
	np_daemon_tell(d, "ping_pong",
		       json_pack("{s:i, s:I}", "pid", (int)t->pid, "left_for_intervals",
				 (json_int_t)(t->hysteresis.left_until - d->now - 1)));
}

/* A task whose move fails is left alone for its back-off, so that the others can move. */
static void note_failed(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	struct np_watched_task *t = np_task_watch_find(&d->watch, a->p->tasks.task[i].pid);

	np_hysteresis_failed(&t->hysteresis, &d->hysteresis_rules, d->now);
	d->counts.failed++;
	np_daemon_complain(d, "process %d (%s) is left alone for %u intervals: %s", t->pid, t->comm,
			   t->hysteresis.left_until - d->now - 1, a->step[i].err.text);
	if (d->events.path)
		np_daemon_tell(d, "failed", np_event_decision(a->p, i, a));
}

/* Its trial was worse than none: not made again while the tasks are the same. */
static void note_taken_back(struct np_daemon *d, const struct np_applied *a, size_t i,
			    const char *why)
{
	const struct np_request *p = a->p;
	struct np_watched_task *t = np_task_watch_find(&d->watch, p->tasks.task[i].pid);
	struct np_aim aim = np_aim_of(&p->plan, p->machine.n_nodes, i);
	char from[12], to[NP_NODES_TEXT];

	np_hysteresis_taken_back(&t->hysteresis, &aim,
				 np_hysteresis_among(p->tasks.task, p->tasks.start, p->tasks.n));
	t->read_rss = 0; /* read its pages again */
	t->told = NP_HYSTERESIS_TAKEN_BACK;
	np_daemon_say(d, "process %d (%s), node %s -> %s, taken back: %s", t->pid, t->comm,
		      np_node_text(&p->machine, p->plan.decision[i].from, from, sizeof(from)),
		      np_place_text(p, &p->plan.decision[i], to, sizeof(to)), why);
	if (d->events.path)
		np_daemon_tell(d, "taken_back", np_event_decision(p, i, a));
}

/* Tasks that the daemon has placed, and tasks that p places. */
static bool list_placed(const struct np_daemon *d, const struct np_request *p,
			struct np_daemon_placed *list)
{
	bool more = false;
	int e = 0;

	*list = (struct np_daemon_placed) { 0 };
	for (size_t i = 0; !e && i < d->adopted.n; i++)
		if (np_daemon_placed_runs(&d->adopted.task[i]))
			e = np_daemon_placed_add(list, d->adopted.task[i].pid,
						 d->adopted.task[i].start);
	for (size_t i = 0; !e && i < d->watch.n; i++)
		if (d->watch.task[i].placed || d->watch.task[i].descendant)
			e = np_daemon_placed_add(list, d->watch.task[i].pid,
						 d->watch.task[i].start);
	for (size_t i = 0; !e && i < p->plan.n; i++) {
		const struct np_watched_task *t = np_task_watch_find(&d->watch,
								     p->tasks.task[i].pid);

		if (t->placed || !np_decision_acts(p, i))
			continue;
		e = np_daemon_placed_add(list, t->pid, t->start);
		more = true;
	}
	return !e && more;
}

/* On disk before anything is done: the next daemon adopts it if this one crashes. */
static bool remember(struct np_daemon *d, const struct np_request *p)
{
	struct np_daemon_placed list;
	struct np_err err;
	int e = 0;

	if (!d->remembers)
		return true;
	if (list_placed(d, p, &list))
		e = np_daemon_placed_write(&list, &err);
	if (e)
		np_daemon_complain(d, "%s", err.text);
	np_daemon_placed_free(&list);
	return !e;
}

void np_daemon_carry_out(struct np_daemon *d, const struct np_request *p)
{
	struct np_applied a;
	struct np_err err;
	bool explained = false;
	int e;

	if (!remember(d, p))
		return;
	e = np_apply(&a, p, &d->how, &err);
	for (size_t i = 0; a.step && i < p->plan.n; i++) {
		if (a.step[i].state == NP_STEP_DONE) {
			note_done(d, &a, i);
		} else if (a.step[i].state == NP_STEP_FAILED) {
			note_failed(d, &a, i);
			explained = true;
		} else if (a.step[i].state == NP_STEP_UNDONE && a.effect.taken_back) {
			note_taken_back(d, &a, i, err.text);
			explained = true;
		}
		d->counts.vanished += a.step[i].state == NP_STEP_SKIPPED;
	}
	if (a.effect.tasks)
		d->counts.trials[a.effect.taken_back]++;
	if (e && e != -EINTR && !explained)
		np_daemon_complain(d, "%s", err.text);
	else if (!e && a.note.text[0] && !d->quiet)
		np_daemon_complain(d, "%s", a.note.text);
	if (e && a.not_undone.text[0])
		np_daemon_complain(d, "%s", a.not_undone.text);
	np_applied_free(&a);
}
