// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/mempolicy.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "call.h"
#include "cpuset.h"
#include "mempolicy.h"
#include "policy_work.h"
#include "restore.h"
#include "stats.h"
#include "sweep.h"
#include "task_table.h"
#include "trace.h"

/* At removal: poll interval, and when to log the tasks that are waited for. */
#define POLL_MS	 20
#define REPORT_S 5

/* Too large for the stack; used under numaplace_task_table_mutex only. */
static struct cpumask now;

/*
 * CPUs that the user has set since are left alone. So are those of a task that came into a cpuset
 * that cannot be read: the saved ones may be outside of it.
 */
static void restore_cpus(struct numaplace_placement *p)
{
	bool kept;

	lockdep_assert_held(&numaplace_task_table_mutex);
	if (!p->has_cpus)
		return;
	numaplace_cpuset_read_task(p->task, &now);
	kept = !cpumask_equal(&now, p->set_cpus) || numaplace_cpuset_read(p->task, &now) == -EINVAL;
	/* With none of the saved CPUs allowed the kernel would grant all there are. */
	if (!kept && numaplace_cpuset_set_cpus(p->task, p->saved_cpus))
		numaplace_cpuset_set_cpus(p->task, cpu_possible_mask);
	/* A child that it is starting may have them: the fork hook compares with these. */
	spin_lock(&numaplace_task_table_lock);
	p->kept |= kept;
	p->settled = false;
	spin_unlock(&numaplace_task_table_lock);
	numaplace_policy_work_settle(p);
}

/*
 * The saved policy may be shared with records of forked tasks. Each task needs its own.
 * Returns whether it has one.
 */
static bool unshare_saved_mem(struct numaplace_placement *p)
{
	struct mempolicy *original, *copy = NULL;

	spin_lock(&numaplace_task_table_lock);
	original = p->saved_mem;
	mpol_get(original);
	spin_unlock(&numaplace_task_table_lock);
	/* One reference is the record's, one that of this function. */
	if (original && atomic_read(&original->refcnt) > 2)
		copy = numaplace_mempolicy_copy(original);
	if (!IS_ERR_OR_NULL(copy)) {
		spin_lock(&numaplace_task_table_lock);
		/* The task work may have run meanwhile and saved a later choice of the user. */
		if (p->has_mem && p->saved_mem == original)
			swap(p->saved_mem, copy);
		spin_unlock(&numaplace_task_table_lock);
		numaplace_mempolicy_put(copy);
	}
	numaplace_mempolicy_put(original);
	return !IS_ERR(copy);
}

static void set_state(struct numaplace_placement *p, enum numaplace_placement_state state)
{
	spin_lock(&numaplace_task_table_lock);
	if (p->state != NUMAPLACE_ENDED)
		p->state = state;
	numaplace_policy_work_todo(p);
	spin_unlock(&numaplace_task_table_lock);
}

/* Has the task restore its policy. */
static void begin_mem(struct numaplace_placement *p)
{
	bool own, has_mem;

	lockdep_assert_held(&numaplace_task_table_mutex);
	own = unshare_saved_mem(p);
	spin_lock(&numaplace_task_table_lock);
	has_mem = p->has_mem;
	if (p->want < NUMAPLACE_UNSHARE)
		p->restore_op = p->mem.op;
	if (has_mem)
		p->want = own ? NUMAPLACE_RESTORE : NUMAPLACE_UNSHARE;
	else
		p->want = NUMAPLACE_KEEP;
	p->mem.placing = false;
	numaplace_policy_work_todo(p);
	spin_unlock(&numaplace_task_table_lock);
	/* An error means that the task is exiting: the exit hook does the rest. */
	if (has_mem && own)
		numaplace_policy_work_start(p, true);
	else if (has_mem)
		numaplace_sweep_later();
}

/**
 * numaplace_restore_begin() - restore a task's CPUs and have it restore its policy
 * @p: its record
 */
void numaplace_restore_begin(struct numaplace_placement *p)
{
	bool again;

	lockdep_assert_held(&numaplace_task_table_mutex);
	spin_lock(&numaplace_task_table_lock);
	if (p->state == NUMAPLACE_ENDED) {
		spin_unlock(&numaplace_task_table_lock);
		return;
	}
	again = p->state == NUMAPLACE_RESTORING;
	if (!again)
		p->kept = false;
	p->state = NUMAPLACE_RESTORING;
	p->cpus.placing = false;
	spin_unlock(&numaplace_task_table_lock);
	/* Begun before: its CPUs are restored, only its memory policy is pending. */
	if (!again)
		restore_cpus(p);
	begin_mem(p);
}

/* The record of a task that was restored is kept until it is seen outside of a fork. */
static void release_restored(struct numaplace_placement *p)
{
	if (!numaplace_policy_work_settle(p))
		numaplace_policy_work_start(p, false);
	if (READ_ONCE(p->settled))
		numaplace_policy_work_drop(p);
}

static void finish(struct numaplace_placement *p)
{
	bool kept = READ_ONCE(p->kept);

	trace_restore(p->task, kept, 0);
	numaplace_stats_add(kept ? NUMAPLACE_STAT_kept_by_user : NUMAPLACE_STAT_restored, 1);
	set_state(p, NUMAPLACE_RESTORED);
	release_restored(p);
}

/* Does the next step for a record, which may release it. */
static void advance(struct numaplace_placement *p)
{
	bool due;

	lockdep_assert_held(&numaplace_task_table_mutex);
	due = numaplace_policy_work_check(p);
	switch (READ_ONCE(p->state)) {
	case NUMAPLACE_PLACED:
		if (!due && READ_ONCE(p->want) == NUMAPLACE_UNSHARE)
			begin_mem(p);
		else if (!due)
			numaplace_policy_work_done(p);
		break;
	case NUMAPLACE_TO_RESTORE:
		numaplace_restore_begin(p);
		fallthrough;
	case NUMAPLACE_RESTORING:
		if (READ_ONCE(p->want) == NUMAPLACE_UNSHARE)
			begin_mem(p);
		if (!READ_ONCE(p->has_mem))
			finish(p);
		break;
	case NUMAPLACE_RESTORED:
		release_restored(p);
		break;
	case NUMAPLACE_ENDED:
		numaplace_policy_work_drop(p);
		break;
	}
}

struct search {
	bool (*match)(const struct numaplace_placement *p, const void *data);
	const void *data;
	u64 op, last; /* what writes after @last have set is left alone */
	struct list_head picked;
};

/*
 * From here on children of the task are forked to be restored, also where the task itself
 * is restored later. It stays picked until the mutex is released.
 */
static void pick(struct numaplace_placement *p, void *data)
{
	struct search *search = data;

	if (p->state == NUMAPLACE_RESTORED || !search->match(p, search->data))
		return;
	if (p->cpus.op <= search->last) {
		if (p->state == NUMAPLACE_PLACED)
			p->state = NUMAPLACE_TO_RESTORE;
		p->cpus.op = search->op;
	}
	p->mem.op = search->op;
	numaplace_call_overtake(p->task);
	numaplace_policy_work_todo(p);
	list_add_tail(&p->pick, &search->picked);
}

/* Begins to restore the tasks that match. Returns how many. */
static int begin_all(struct search *search)
{
	struct numaplace_placement *p, *next;
	int n = 0;

	lockdep_assert_held(&numaplace_task_table_mutex);
	INIT_LIST_HEAD(&search->picked);
	search->op = numaplace_call_next();
	numaplace_task_table_each(pick, search);
	list_for_each_entry_safe(p, next, &search->picked, pick) {
		list_del_init(&p->pick);
		if (p->cpus.op == search->op)
			numaplace_restore_begin(p);
		else
			begin_mem(p);
		if (!READ_ONCE(p->has_mem))
			advance(p);
		n++;
		cond_resched();
	}
	numaplace_cpuset_close();
	return n;
}

/*
 * Restores the tasks that match. Returns how many; or -EBUSY or -EINTR: tasks that did not return
 * to user mode are still under control, and are restored as soon as they do.
 */
static int restore_matching(bool (*match)(const struct numaplace_placement *p, const void *data),
			    const void *data, u64 last)
{
	struct search search = { .match = match, .data = data, .last = last };
	unsigned long deadline;
	int n, err;

	mutex_lock(&numaplace_task_table_mutex);
	n = begin_all(&search);
	mutex_unlock(&numaplace_task_table_mutex);
	if (!n)
		return 0;
	deadline = numaplace_policy_work_deadline();
	err = numaplace_policy_work_wait(search.op, deadline, match, data);
	if (numaplace_restore_sweep())
		numaplace_sweep_later();
	/* Children that were forked meanwhile. */
	if (!err)
		err = numaplace_policy_work_wait(search.op, deadline, match, data);
	return err ? err : n;
}

static bool was_placed_by(const struct numaplace_placement *p, const void *data)
{
	u64 call = *(const u64 *)data;

	return p->mem.op == call || (p->cpus.op == call && p->mem.op < call);
}

/**
 * numaplace_restore_failed() - restore the tasks that a write has placed, which failed
 * @call: its number. CPUs that a later write has set are left alone, and so are tasks
 *	on whose memory policy a later write has acted
 */
void numaplace_restore_failed(u64 call)
{
	restore_matching(was_placed_by, &call, call);
}

static bool is_asked_for(const struct numaplace_placement *p, const void *data)
{
	const struct numaplace_restore_request *request = data;
	struct pid_namespace *ns = task_active_pid_ns(current);

	if (request->all)
		return true;
	if (request->pid && task_tgid_nr_ns(p->task, ns) == request->pid)
		return true;
	return request->tid && task_pid_nr_ns(p->task, ns) == request->tid;
}

/**
 * numaplace_restore() - restore the CPUs and memory policies of tasks
 * @request: which tasks
 *
 * Return: 0; -EINVAL unless exactly one of the keys is given; -ESRCH if no such
 * task is under control; -EBUSY or -EINTR if one did not return to user
 * mode in time, which then stays under control.
 */
int numaplace_restore(const struct numaplace_restore_request *request)
{
	int n;

	if (!!request->pid + !!request->tid + request->all != 1)
		return -EINVAL;
	n = restore_matching(is_asked_for, request, U64_MAX);
	if (n < 0)
		return n;
	return n || request->all ? 0 : -ESRCH;
}

/**
 * numaplace_restore_sweep() - do what is pending for records
 *
 * Restores children that were forked placed but are not to be, and releases the
 * records of tasks that have ended or were restored.
 *
 * Return: true if there is more to do later.
 */
bool numaplace_restore_sweep(void)
{
	bool more;

	mutex_lock(&numaplace_task_table_mutex);
	more = numaplace_policy_work_each(advance);
	numaplace_cpuset_close();
	mutex_unlock(&numaplace_task_table_mutex);
	return more;
}

static bool is_any(const struct numaplace_placement *p, const void *unused)
{
	return true;
}

static void begin_everything(void)
{
	struct search all = { .match = is_any, .last = U64_MAX };

	mutex_lock(&numaplace_task_table_mutex);
	begin_all(&all);
	mutex_unlock(&numaplace_task_table_mutex);
}

static bool is_any_record(void)
{
	return numaplace_task_table_any() || numaplace_policy_work_any();
}

static void abandon_everything(void)
{
	mutex_lock(&numaplace_task_table_mutex);
	while (numaplace_policy_work_each(numaplace_policy_work_abandon))
		;
	mutex_unlock(&numaplace_task_table_mutex);
}

/**
 * numaplace_restore_everything() - restore every task
 *
 * Waits until the tasks return to user mode or the caller is killed. In the latter
 * case the rest keep what was set. On return there is no record.
 */
void numaplace_restore_everything(void)
{
	unsigned long report = jiffies + REPORT_S * HZ;

	begin_everything();
	while (is_any_record()) {
		numaplace_restore_sweep();
		if (wait_event_killable_timeout(numaplace_policy_work_queue, !is_any_record(),
						msecs_to_jiffies(POLL_MS)) < 0)
			abandon_everything();
		if (time_after(jiffies, report)) {
			numaplace_policy_work_report();
			report = jiffies + 12 * REPORT_S * HZ;
		}
	}
}
