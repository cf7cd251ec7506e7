// SPDX-License-Identifier: GPL-2.0-only
#include "daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/saved_affinity.h"
#include "../host/clock.h"
#include "../host/numa_balancing.h"
#include "../host/proc.h"
#include "../host/reclaimable.h"
#include "plan_input.h"

__attribute__((format(printf, 2, 3)))
static void say(const struct np_daemon *d, const char *format, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (d->log)
		d->log(line, d->log_arg);
}

static void complain(struct np_daemon *d, const char *what)
{
	if (!strcmp(d->complaint, what))
		return;
	snprintf(d->complaint, sizeof(d->complaint), "%s", what);
	say(d, "%s", what);
}

/* Takes the fields. */
static void tell(struct np_daemon *d, const char *event, json_t *fields)
{
	char err[NP_ERR_LEN];

	if (!np_event(&d->events, d->now, event, fields, err, sizeof(err)))
		say(d, "%s", err);
}

int np_daemon_open(struct np_daemon *d, char *err, size_t err_len)
{
	int e = np_machine_read(&d->machine, d->root, err, err_len);

	if (e)
		return e == -ENOMEM ? e : -EOPNOTSUPP;
	e = np_planning_check_nodes(&d->machine, err, err_len);
	if (!e)
		e = np_planning_model(&d->machine, &d->model, d->args.model, err, err_len);
	d->model_origin = d->machine.model_origin;
	if (!e)
		e = np_watch_open(&d->watch, &d->watch_rules, err, err_len);
	d->how.by = NP_BY_DAEMON;
	if (e)
		np_daemon_close(d);
	return e;
}

void np_daemon_close(struct np_daemon *d)
{
	np_watch_count_close(&d->counter);
	np_watch_close(&d->watch);
	np_daemon_placed_free(&d->adopted);
	np_machine_free(&d->machine);
	free(d->model);
	d->model = NULL;
}

size_t np_daemon_placed(const struct np_daemon *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->watch.n; i++)
		n += d->watch.task[i].placed && !d->watch.task[i].gone;
	return n;
}

static uint64_t count_pages(const struct np_planning *p, size_t i)
{
	uint64_t sum = 0;

	for (size_t node = 0; node < p->machine.n_nodes; node++)
		sum += p->tasks.task[i].pages[node];
	return sum;
}

static void count_locality(struct np_daemon *d, const struct np_planning *p)
{
	d->local_pages = d->all_pages = 0;
	for (size_t i = 0; i < p->tasks.n; i++) {
		const struct np_task *t = &p->tasks.task[i];

		d->all_pages += count_pages(p, i);
		if (t->node != NP_NODE_NONE)
			d->local_pages += t->pages[t->node];
	}
}

static bool same_nodes(const struct np_machine *a, const struct np_machine *b)
{
	if (a->n_nodes != b->n_nodes)
		return false;
	for (size_t i = 0; i < a->n_nodes; i++)
		if (a->node[i].id != b->node[i].id)
			return false;
	return true;
}

/* Nodes came or went: what is known by node was of others. Tasks are read again in the next look. */
static void meet_nodes(struct np_daemon *d)
{
	char err[NP_ERR_LEN];

	np_watch_count_drop(&d->counter);
	np_watch_drop_rows(&d->watch);
	free(d->model);
	if (np_planning_model(&d->machine, &d->model, d->args.model, err, sizeof(err)))
		complain(d, err);
	d->model_origin = d->machine.model_origin;
	d->waits = true;
	say(d, "this machine has %zu nodes now, other ones than before; tasks are read again",
	    d->machine.n_nodes);
}

/* Memory that is free changes all the time, and is read anew; CPUs and nodes may come and go. */
static int read_machine(struct np_daemon *d, bool *other, char *err, size_t err_len)
{
	struct np_machine now;
	int e = np_machine_read(&now, d->root, err, err_len);
	bool same;

	if (e)
		return e;
	same = same_nodes(&d->machine, &now);
	np_machine_free(&d->machine);
	d->machine = now;
	np_room_add_cache(&d->machine);
	if (!same)
		meet_nodes(d);
	else if (d->model_origin != NP_MODEL_NONE && d->model->n_nodes == d->machine.n_nodes) {
		d->machine.model = d->model;
		d->machine.model_origin = d->model_origin;
	}
	/* Last: a model is derived from all CPUs that a node has. */
	if (!d->args.override)
		np_pins_reserve(d->watch.pins, &d->machine);
	np_watch_traffic(&d->counter, &d->machine);
	*other = !same;
	return 0;
}

/* The kernel's NUMA balancing works against this one: logged at the start, and when it changes. */
static void watch_balancing(struct np_daemon *d)
{
	int before = d->balancing;
	const char *text;

	d->balancing = np_balancing_read();
	text = np_balancing_text(d->balancing);
	if (d->balancing == before)
		return;
	if (text)
		say(d, "%s", text);
	else if (before > 0)
		say(d, "NUMA balancing is off now");
}

/* False after saying why there is no plan. */
static bool make_plan(struct np_daemon *d, struct np_planning *p)
{
	char err[NP_ERR_LEN];
	bool other = false;
	int e = read_machine(d, &other, err, sizeof(err));

	watch_balancing(d);
	if (other)
		return false;
	if (!e) {
		*p = (struct np_planning) {
			.platform = np_machine_platform(d->root), .machine = d->machine,
			.policy = d->args.policy, .options = d->args.options,
			.override = d->args.override, .balancing = d->balancing,
		};
		e = np_gather(p, &d->watch, d->now, &d->assumed, err, sizeof(err));
	}
	if (e) {
		d->counts.planning_failed++;
		complain(d, err);
		return false;
	}
	d->counts.plans++;
	count_locality(d, p);
	return true;
}

/* The decision becomes "leave alone", here and in what follows from it. */
static void leave_alone(struct np_planning *p, size_t i)
{
	struct np_decision *decision = &p->plan.decision[i];
	size_t nodes = p->machine.n_nodes;

	decision->to = decision->pages_to = decision->spread = decision->nodes = NP_NODE_NONE;
	decision->mem = NP_MEM_LEAVE;
	decision->pages_to_move = 0;
	memcpy(p->plan.pages_after + i * nodes, p->tasks.task[i].pages,
	       nodes * sizeof(*p->plan.pages_after));
}

/* Why a decision is not carried out (yet), where that is new. */
static void tell_verdict(struct np_daemon *d, const struct np_planning *p, size_t i,
			 struct np_watched *t, enum np_verdict v)
{
	json_t *fields;

	if (v == t->told || v == NP_VERDICT_ACT || !d->events.file)
		return;
	t->told = v;
	fields = np_event_decision(p, i, NULL);
	json_object_set_new(fields, "verdict", json_string(np_verdict_name[v]));
	tell(d, "waits", fields);
}

/* Returns how many decisions are left that ask for something and may be acted on. */
static size_t judge(struct np_daemon *d, struct np_planning *p, unsigned long long *verdicts)
{
	size_t n = 0;

	memset(verdicts, 0, NP_VERDICTS * sizeof(*verdicts));

	d->waits = false;
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct np_decision *decision = &p->plan.decision[i];
		struct np_watched *t = np_watch_find(&d->watch, p->tasks.task[i].pid);
		struct np_aim aim = np_aim_of(&p->plan, p->machine.n_nodes, i);
		enum np_verdict v;

		if (!np_decision_acts(p, i)) {
			t->told = NP_VERDICT_ACT;
			np_steady_rest(&t->steady);
			continue;
		}
		v = np_steady_judge(&t->steady, &d->steady_rules, decision, &aim,
				    count_pages(p, i), d->now);
		verdicts[v]++;
		tell_verdict(d, p, i, t, v);
		d->waits |= v == NP_VERDICT_NOT_STEADY || v == NP_VERDICT_LEFT;
		if (v == NP_VERDICT_ACT)
			n++;
		else
			leave_alone(p, i);
	}
	return n;
}

/* What is going to move is looked at once more: what is known of it may be some intervals old. */
static bool read_again(struct np_daemon *d, const struct np_planning *p)
{
	bool changed = false;

	for (size_t i = 0; i < p->plan.n; i++) {
		struct np_watched *t = np_watch_find(&d->watch, p->tasks.task[i].pid);

		if (t->read_at == d->now || !np_decision_acts(p, i))
			continue;
		if (!np_watch_read(&d->watch, &d->machine, t, d->now))
			t->gone = true;
		changed = true;
	}
	return changed;
}

static void say_moved(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	const struct np_planning *p = a->p;
	const struct np_decision *decision = &p->plan.decision[i];
	const struct np_step *step = &a->step[i];
	char from[12], to[NP_NODES_TEXT];

	say(d, "process %d (%s), node %s -> %s, %llu of %llu pages moved in %.3f s: %s",
	    p->tasks.task[i].pid, p->tasks.task[i].comm,
	    np_node_text(&p->machine, decision->from, from, sizeof(from)),
	    np_place_text(p, decision, to, sizeof(to)),
	    (unsigned long long)step->moved.moved, (unsigned long long)decision->pages_to_move,
	    (double)step->moved.ns / 1e9, decision->reason);
}

static void say_ping_pong(struct np_daemon *d, const struct np_planning *p, size_t i,
			  const struct np_steady *s)
{
	char a[12], b[12];

	say(d, "process %d (%s) went %s -> %s -> %s within %u intervals: left on node %s for %u "
	    "intervals", p->tasks.task[i].pid, p->tasks.task[i].comm,
	    np_node_text(&p->machine, s->last[0].to, a, sizeof(a)),
	    np_node_text(&p->machine, s->last[0].from, b, sizeof(b)), a,
	    s->last[0].at - s->last[1].at, a, s->left_until - d->now - 1);
}

static void note_done(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	const struct np_planning *p = a->p;
	const struct np_decision *decision = &p->plan.decision[i];
	struct np_watched *t = np_watch_find(&d->watch, p->tasks.task[i].pid);
	uint64_t moved = a->step[i].moved.moved, planned = decision->pages_to_move;

	t->placed = true;
	t->read_rss = 0;	/* where it is now is to be read */
	t->counted = (struct np_task) { 0 };	/* and counted */
	d->counts.moved_tasks++;
	d->counts.moved_bytes += a->step[i].moved.bytes;
	d->counts.move_seconds += (double)a->step[i].moved.ns / 1e9;
	say_moved(d, a, i);
	t->told = NP_VERDICT_ACT;
	if (d->events.file)
		tell(d, "moved", np_event_decision(p, i, a));
	if (!np_steady_moved(&t->steady, &d->steady_rules, decision,
			     planned > moved ? planned - moved : 0, d->now))
		return;
	d->counts.ping_pongs++;
	say_ping_pong(d, p, i, &t->steady);
	tell(d, "ping_pong", json_pack("{s:i, s:I}", "pid", (int)t->pid, "left_for_intervals",
				       (json_int_t)(t->steady.left_until - d->now - 1)));
}

/* One that fails is left alone for a while, so that it cannot keep the others from moving. */
static void note_failed(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	struct np_watched *t = np_watch_find(&d->watch, a->p->tasks.task[i].pid);

	np_steady_failed(&t->steady, &d->steady_rules, d->now);
	d->counts.failed++;
	say(d, "process %d (%s) is left alone for %u intervals: %s", t->pid, t->comm,
	    t->steady.left_until - d->now - 1, a->step[i].err);
	if (d->events.file)
		tell(d, "failed", np_event_decision(a->p, i, a));
}

/* Those that it has placed, and those that p is going to place. */
static bool list_placed(const struct np_daemon *d, const struct np_planning *p,
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
		if (d->watch.task[i].placed || d->watch.task[i].heir)
			e = np_daemon_placed_add(list, d->watch.task[i].pid,
						 d->watch.task[i].start);
	for (size_t i = 0; !e && i < p->plan.n; i++) {
		const struct np_watched *t = np_watch_find(&d->watch, p->tasks.task[i].pid);

		if (t->placed || !np_decision_acts(p, i))
			continue;
		e = np_daemon_placed_add(list, t->pid, t->start);
		more = true;
	}
	return !e && more;
}

/* On disk before anything is done: the next daemon adopts it if this one crashes. */
static bool remember(struct np_daemon *d, const struct np_planning *p)
{
	struct np_daemon_placed list;
	char err[NP_ERR_LEN];
	int e = 0;

	if (!d->remembers)
		return true;
	if (list_placed(d, p, &list))
		e = np_daemon_placed_write(&list, err, sizeof(err));
	if (e)
		complain(d, err);
	np_daemon_placed_free(&list);
	return !e;
}

/* What became of the kernel's weights, or that they are not the plan's. */
static void say_weights(struct np_daemon *d, const struct np_applied *a)
{
	char text[NP_WEIGHTS_LEN] = "";

	if (a->weights[0])
		snprintf(text, sizeof(text), "%s", a->weights);
	else if (!a->note[0])
		np_weights_note(a->p, text, sizeof(text));
	if (!text[0] || !strcmp(text, d->said_weights))
		return;
	snprintf(d->said_weights, sizeof(d->said_weights), "%s", text);
	say(d, "%s", text);
}

static void carry_out(struct np_daemon *d, const struct np_planning *p)
{
	struct np_applied a;
	char err[NP_ERR_LEN];
	bool explained = false;
	int e;

	if (!remember(d, p))
		return;
	e = np_apply(&a, p, &d->how, err, sizeof(err));
	for (size_t i = 0; a.step && i < p->plan.n; i++) {
		if (a.step[i].state == NP_STEP_DONE) {
			note_done(d, &a, i);
		} else if (a.step[i].state == NP_STEP_FAILED) {
			note_failed(d, &a, i);
			explained = true;
		}
		d->counts.vanished += a.step[i].state == NP_STEP_SKIPPED;
	}
	if (e && e != -EINTR && !explained)
		complain(d, err);
	else if (!e && a.note[0])
		complain(d, a.note);
	if (e && a.not_undone[0])
		complain(d, a.not_undone);
	if (!e)
		say_weights(d, &a);
	np_applied_free(&a);
}

static void plan_and_act(struct np_daemon *d)
{
	unsigned long long verdicts[NP_VERDICTS];
	struct np_planning p;
	size_t acting;

	if (!make_plan(d, &p))
		return;
	acting = judge(d, &p, verdicts);
	if (acting && read_again(d, &p)) {
		np_gather_free(&p);
		if (!make_plan(d, &p))
			return;
		acting = judge(d, &p, verdicts);
	}
	for (size_t v = 0; v < NP_VERDICTS; v++)
		d->counts.verdicts[v] += verdicts[v];
	if (acting)
		carry_out(d, &p);
	np_gather_free(&p);
}

static void count_and_plan(struct np_daemon *d, bool changed)
{
	char err[NP_ERR_LEN], line[NP_ERR_LEN + 64];

	if (np_watch_count(&d->counter, &d->watch, &d->machine, d->now, &changed, err, sizeof(err))) {
		snprintf(line, sizeof(line), "%s%s", d->counter.refused ?
			 "nothing is counted, policies go by what they are told: " : "", err);
		complain(d, line);
	}
	if (changed && d->watch.counting)
		plan_and_act(d);
}

static void mark_adopted(struct np_daemon *d)
{
	for (size_t i = 0; i < d->adopted.n; i++) {
		struct np_watched *t = np_watch_find(&d->watch, d->adopted.task[i].pid);

		if (t && t->start == d->adopted.task[i].start)
			t->placed = true;
	}
}

void np_daemon_step(struct np_daemon *d)
{
	double began = np_clock_of_work(), used;
	bool changed = d->waits;
	char err[NP_ERR_LEN];
	int e;

	if (!d->now++)
		watch_balancing(d);
	e = np_watch_look(&d->watch, &d->machine, d->now, &changed, err, sizeof(err));
	if (e)
		complain(d, err);
	if (d->now == 1)
		mark_adopted(d);
	if (!e)
		count_and_plan(d, changed);
	d->counts.intervals++;
	used = np_clock_of_work() - began;
	d->counts.cpu_seconds = np_clock_worked(d->counts.cpu_seconds + used);
	d->counts.last_interval_cpu_seconds = used;
}

static bool descends_from_placed(const struct np_daemon *d, const struct np_watched *t)
{
	for (int depth = 0; depth < 64; depth++) {
		t = np_watch_find(&d->watch, t->ppid);
		if (!t)
			return false;
		if (t->placed)
			return true;
	}
	return false;
}

/* A pid that was reused since is not on the list: the start time differs. */
static bool is_ours(const struct np_daemon *d, const struct np_watched *t)
{
	const struct np_placed_task task = { t->pid, t->start };

	return (t->placed || t->heir || descends_from_placed(d, t)) && np_daemon_placed_runs(&task);
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* NULL without memory. */
static pid_t *pids_to_restore(const struct np_daemon *d, size_t *n)
{
	pid_t *pids = calloc(d->watch.n + d->adopted.n + 1, sizeof(*pids));

	*n = 0;
	for (size_t i = 0; pids && i < d->watch.n; i++)
		if (is_ours(d, &d->watch.task[i]))
			pids[(*n)++] = d->watch.task[i].pid;
	for (size_t i = 0; pids && i < d->adopted.n; i++)
		if (np_daemon_placed_runs(&d->adopted.task[i]))
			pids[(*n)++] = d->adopted.task[i].pid;
	if (pids)
		qsort(pids, *n, sizeof(*pids), by_pid);
	return pids;
}

size_t np_daemon_restore(struct np_daemon *d)
{
	struct np_whose whose = { .by = d->how.by };
	struct np_weights_back back;
	size_t restored = 0, kept;
	char err[NP_ERR_LEN];
	pid_t *pids;
	int e;

	d->watch.last_pid = 0;
	if (np_watch_list(&d->watch, err, sizeof(err)))
		say(d, "%s", err);
	whose.pids = pids = pids_to_restore(d, &whose.n);
	e = d->how.control->restore(&whose, &restored, &kept, err, sizeof(err));
	if (e && e != -ENOENT && e != -ESRCH)
		say(d, "%s", err);
	if (np_weights_give_back(&whose, &back, err, sizeof(err)))
		say(d, "%s", err);
	else if (back.text[0])
		say(d, "%s", back.text);
	free(pids);
	return restored;
}

/* Those that it has placed or adopted, not what these have started. NULL without memory. */
static pid_t *pids_of_placed(const struct np_daemon *d, size_t *n)
{
	pid_t *pids = calloc(d->watch.n + d->adopted.n + 1, sizeof(*pids));

	*n = 0;
	for (size_t i = 0; pids && i < d->watch.n; i++) {
		const struct np_placed_task t = { d->watch.task[i].pid, d->watch.task[i].start };

		if (d->watch.task[i].placed && np_daemon_placed_runs(&t))
			pids[(*n)++] = t.pid;
	}
	for (size_t i = 0; pids && i < d->adopted.n; i++)
		if (np_daemon_placed_runs(&d->adopted.task[i]))
			pids[(*n)++] = d->adopted.task[i].pid;
	return pids;
}

int np_daemon_pages_back(const struct np_daemon *d, const struct np_mover *mover,
			 const volatile sig_atomic_t *stop, struct np_pages_back *back, char *err,
			 size_t err_len)
{
	size_t n;
	pid_t *pids = pids_of_placed(d, &n);
	int e;

	if (!pids)
		return np_fail(err, err_len, -ENOMEM, "out of memory");
	e = np_saved_pages_restore(&d->machine, pids, n, mover, stop, back, err, err_len);
	free(pids);
	return e == -ENOENT ? 0 : e;
}

void np_daemon_forget(struct np_daemon *d)
{
	const struct np_daemon_placed none = { 0 };
	char err[NP_ERR_LEN];

	if (d->remembers && np_daemon_placed_write(&none, err, sizeof(err)))
		say(d, "%s", err);
}

void np_daemon_leave(struct np_daemon *d)
{
	char err[NP_ERR_LEN];

	if (np_state_leave(d->how.by, err, sizeof(err)))
		say(d, "%s", err);
	if (np_weights_leave("", d->how.by, err, sizeof(err)))
		say(d, "%s", err);
	np_daemon_forget(d);
}
