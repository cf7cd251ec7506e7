// SPDX-License-Identifier: GPL-2.0-only
/*
 * Only a task itself may change its memory policy, and only a task that is not
 * in the middle of a fork is sure to pass on to its children what it has now. On
 * the return to user mode both are true. So a task work is started in the task,
 * which applies the task's record. It is asynchronous: the record says what is
 * pending, and the next check of the record finds that it was done.
 */
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "mempolicy.h"
#include "policy.h"
#include "policy_work.h"
#include "sweep.h"
#include "task_table.h"

/* At removal: how often to log a task that nothing but its return can end the wait for. */
#define REPORT_S 5

DECLARE_WAIT_QUEUE_HEAD(numaplace_policy_work_queue);

/* Records whose task work is pending, and records that are due for the sweep. */
static LIST_HEAD(in_tasks);
static LIST_HEAD(todo);

/* Not where it is frozen: that may be in a sleep in the allocator. */
static bool is_stopped(struct task_struct *task)
{
	return READ_ONCE(task->__state) & (__TASK_STOPPED | __TASK_TRACED);
}

/*
 * Whether a task is not in the middle of a fork: one sleeps there only so that no
 * signal ends it, and workers of the kernel never fork. Not seen is a clone that
 * waits for a page of userfaultfd to write its pidfd to.
 */
static bool is_outside_fork(struct task_struct *task)
{
	return is_stopped(task) || READ_ONCE(task->flags) & (PF_IO_WORKER | PF_USER_WORKER) ||
	       READ_ONCE(task->__state) & TASK_INTERRUPTIBLE;
}

/* Applies a task's record. Returns the task's former policy if it is to be released. */
static struct mempolicy *apply_policy(struct numaplace_placement *p)
{
	struct mempolicy *old = numaplace_policy_apply(p);

	p->work_pending = false;
	list_move_tail(&p->todo, &todo);
	return old;
}

static void settle(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	numaplace_mempolicy_put(p->retired_mem);
	p->retired_mem = NULL;
	/* Other CPUs are about to be set: until then a fork may begin with the present ones. */
	if (p->setting)
		return;
	p->settled = true;
	numaplace_placement_drop_former(p);
}

/* The task work: runs in the task. The record stays at least until it returns. */
static void return_to_user(struct numaplace_taskwork *work)
{
	struct numaplace_placement *p = container_of(work, struct numaplace_placement, policy_work);
	struct mempolicy *old;

	spin_lock(&numaplace_task_table_lock);
	old = apply_policy(p);
	settle(p);
	spin_unlock(&numaplace_task_table_lock);
	numaplace_mempolicy_put(old);
	numaplace_sweep_now();
	wake_up_all(&numaplace_policy_work_queue);
}

/* From another task: the target may be about to use its former policy, unless still stopped. */
static void work_for_stopped(struct numaplace_placement *p)
{
	struct mempolicy *old, *older;

	spin_lock(&numaplace_task_table_lock);
	old = apply_policy(p);
	older = p->retired_mem;
	p->retired_mem = old;
	/* Seen outside of a fork, but not outside of the allocator. */
	if (old)
		p->settled = false;
	spin_unlock(&numaplace_task_table_lock);
	/* It was stopped after this was retired. */
	numaplace_mempolicy_put(older);
	if (!numaplace_policy_work_settle(p))
		numaplace_policy_work_start(p, true);
	wake_up_all(&numaplace_policy_work_queue);
}

/**
 * numaplace_policy_work_settle() - note if a task is seen outside of a fork
 * @p: its record, after its CPUs or policy were changed
 *
 * Return: whether it is settled, now or before.
 */
bool numaplace_policy_work_settle(struct numaplace_placement *p)
{
	bool out, stopped, settled;

	lockdep_assert_held(&numaplace_task_table_mutex);
	smp_mb(); /* between the change and the read of the state */
	out = p->task == current || is_outside_fork(p->task);
	stopped = p->task == current || is_stopped(p->task);
	spin_lock(&numaplace_task_table_lock);
	/* A sleeping task may still be in the allocator. */
	if (out && (stopped || !p->retired_mem))
		settle(p);
	settled = p->settled;
	spin_unlock(&numaplace_task_table_lock);
	return settled;
}

/* Cancels the task work. Returns whether it is neither to run nor running. */
static bool cancel(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_mutex);
	if (p->begun && numaplace_taskwork_is_over(&p->policy_work))
		p->begun = false;
	return !p->begun;
}

static int start(struct numaplace_placement *p, bool urgent)
{
	int err;

	p->begun = true;
	p->urgent = urgent;
	err = numaplace_taskwork_start(&p->policy_work, p->task, return_to_user,
				       urgent ? TWA_SIGNAL : TWA_RESUME);
	if (err)
		p->begun = false;
	return err;
}

static void set_work_pending(struct numaplace_placement *p, bool work_pending)
{
	spin_lock(&numaplace_task_table_lock);
	p->work_pending = work_pending;
	list_move_tail(&p->todo, work_pending ? &in_tasks : &todo);
	spin_unlock(&numaplace_task_table_lock);
}

/**
 * numaplace_policy_work_start() - start the task work of a task
 * @p: its record
 * @urgent: wake the task if it sleeps, which interrupts its system call
 *
 * Return: 0, also where it has run at once, or -ESRCH if the task is too late in its exit.
 */
int numaplace_policy_work_start(struct numaplace_placement *p, bool urgent)
{
	int err;

	lockdep_assert_held(&numaplace_task_table_mutex);
	/* The caller itself is about to return to user mode. Its pending task work is cancelled. */
	if (p->task == current) {
		cancel(p);
		set_work_pending(p, true);
		work_for_stopped(p);
		return 0;
	}
	if (READ_ONCE(p->work_pending)) {
		/* Started again only to wake a task that is not woken yet. */
		if ((urgent && !p->urgent && cancel(p)) && READ_ONCE(p->work_pending))
			err = start(p, true);
		else
			err = 0;
		if (!err && READ_ONCE(p->work_pending))
			return 0;
	}
	/* The task work has done its part and is returning. */
	if (p->begun)
		wait_for_completion(&p->policy_work.done);
	p->begun = false;
	set_work_pending(p, true);
	err = start(p, urgent);
	if (err)
		set_work_pending(p, false);
	else
		numaplace_policy_work_check(p);
	numaplace_sweep_later();
	return err;
}

/**
 * numaplace_policy_work_check() - check whether a task work is still needed
 * @p: the record of its task
 *
 * A stopped task may not return to user mode for hours, so the caller does its part.
 *
 * Return: true if it is.
 */
bool numaplace_policy_work_check(struct numaplace_placement *p)
{
	bool ended, needed;

	lockdep_assert_held(&numaplace_task_table_mutex);
	if (!READ_ONCE(p->work_pending))
		return false;
	ended = READ_ONCE(p->state) == NUMAPLACE_ENDED;
	needed = p->urgent && !ended;
	if (needed ? !is_stopped(p->task) : !ended && !is_outside_fork(p->task))
		return true;
	if (!cancel(p))
		return true;
	if (!READ_ONCE(p->work_pending))
		return false;
	if (needed) {
		work_for_stopped(p);
	} else {
		set_work_pending(p, false);
		numaplace_policy_work_settle(p);
		wake_up_all(&numaplace_policy_work_queue);
	}
	return READ_ONCE(p->work_pending);
}

/* A write that waits. */
struct waiter {
	u64 op;
	bool (*match)(const struct numaplace_placement *p, const void *data);
	const void *data;
};

static bool is_awaited(const struct numaplace_placement *p, const struct waiter *w)
{
	if (p->state == NUMAPLACE_ENDED || p->want == NUMAPLACE_KEEP)
		return false;
	if (p->mem.op == w->op)
		return true;
	/* It wants the same as a later restore. */
	return p->want >= NUMAPLACE_UNSHARE && p->restore_op <= w->op && p->mem.op > w->op &&
	       w->match && w->match(p, w->data);
}

static bool is_done(const struct numaplace_placement *p, const struct waiter *w)
{
	bool done;

	spin_lock(&numaplace_task_table_lock);
	done = !is_awaited(p, w);
	spin_unlock(&numaplace_task_table_lock);
	return done;
}

static struct numaplace_placement *first_in(struct list_head *list, const struct waiter *w)
{
	struct numaplace_placement *p;

	list_for_each_entry(p, list, todo)
		if (is_awaited(p, w))
			return p;
	return NULL;
}

static struct numaplace_placement *first_awaited(const struct waiter *w)
{
	struct numaplace_placement *found;

	spin_lock(&numaplace_task_table_lock);
	found = first_in(&in_tasks, w);
	/* What a child, or a task without memory, is to do is begun by the sweep. */
	if (!found)
		found = first_in(&todo, w);
	if (found)
		refcount_inc(&found->users);
	spin_unlock(&numaplace_task_table_lock);
	return found;
}

/**
 * numaplace_policy_work_wait() - wait until tasks have installed or restored their policy
 * @op: waits for the tasks on whose policy this write was the last to act
 * @deadline: until when, from numaplace_policy_work_deadline(), for all of them together
 * @match: restore: also for those that match, on which a later restore acted; NULL: none
 * @data: for @match
 *
 * The task works of those that are too late stay pending.
 *
 * Return: 0, -EBUSY, or -EINTR if the caller was killed.
 */
int numaplace_policy_work_wait(u64 op, unsigned long deadline,
			       bool (*match)(const struct numaplace_placement *p, const void *data),
			       const void *data)
{
	const struct waiter w = { .op = op, .match = match, .data = data };
	struct numaplace_placement *p;
	long left, got = 1;

	while (got > 0 && (p = first_awaited(&w))) {
		left = max_t(long, deadline - jiffies, 0);
		got = wait_event_killable_timeout(numaplace_policy_work_queue, is_done(p, &w),
						  left);
		numaplace_placement_put(p);
	}
	return got > 0 ? 0 : got ? -EINTR : -EBUSY;
}

/**
 * numaplace_policy_work_todo() - add a record to the sweep's list
 * @p: the record
 */
void numaplace_policy_work_todo(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	list_move_tail(&p->todo, p->work_pending ? &in_tasks : &todo);
}

/**
 * numaplace_policy_work_done() - take the record of a placed task off the sweep's list
 * @p: the record
 */
void numaplace_policy_work_done(struct numaplace_placement *p)
{
	spin_lock(&numaplace_task_table_lock);
	if (p->state == NUMAPLACE_PLACED && !p->work_pending)
		list_del_init(&p->todo);
	spin_unlock(&numaplace_task_table_lock);
}

/**
 * numaplace_policy_work_drop() - release a record
 * @p: the record; its task work is not needed any more. If the task is still in it,
 *	the record is left to the next sweep
 */
void numaplace_policy_work_drop(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_mutex);
	if (!cancel(p))
		return;
	spin_lock(&numaplace_task_table_lock);
	numaplace_task_table_remove(p);
	p->work_pending = false;
	list_del_init(&p->todo);
	spin_unlock(&numaplace_task_table_lock);
	numaplace_placement_put(p);
	wake_up_all(&numaplace_policy_work_queue);
}

/* Calls a function for each record of a list, which may move or release it. */
static void each_of(struct list_head *list, void (*act)(struct numaplace_placement *p))
{
	struct numaplace_placement *p;
	struct list_head *at;
	unsigned int n = 0;

	spin_lock(&numaplace_task_table_lock);
	list_for_each(at, list)
		n++;
	while (n-- && !list_empty(list)) {
		p = list_first_entry(list, struct numaplace_placement, todo);
		list_move_tail(&p->todo, list);
		spin_unlock(&numaplace_task_table_lock);
		act(p);
		cond_resched();
		spin_lock(&numaplace_task_table_lock);
	}
	spin_unlock(&numaplace_task_table_lock);
}

/**
 * numaplace_policy_work_each() - call a function for each pending record
 * @act: the function
 *
 * Return: whether a record is still pending.
 */
bool numaplace_policy_work_each(void (*act)(struct numaplace_placement *p))
{
	lockdep_assert_held(&numaplace_task_table_mutex);
	each_of(&in_tasks, act);
	each_of(&todo, act);
	return numaplace_policy_work_any();
}

/**
 * numaplace_policy_work_any() - whether a record is pending
 */
bool numaplace_policy_work_any(void)
{
	bool any;

	spin_lock(&numaplace_task_table_lock);
	any = !list_empty(&in_tasks) || !list_empty(&todo);
	spin_unlock(&numaplace_task_table_lock);
	return any;
}

static void report(const struct numaplace_placement *p)
{
	pr_notice("rmmod waits for task %d (%s) to return to user mode\n", task_pid_nr(p->task),
		  p->task->comm);
}

/**
 * numaplace_policy_work_abandon() - release a record whose task work has not run
 * @p: the record
 */
void numaplace_policy_work_abandon(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_mutex);
	/*
	 * A task that has dequeued the task work runs it after those before it: the record must
	 * stay until then, and the module.
	 */
	while (!cancel(p) && !wait_for_completion_timeout(&p->policy_work.done, REPORT_S * HZ))
		report(p);
	p->begun = false;
	if (READ_ONCE(p->state) != NUMAPLACE_ENDED) {
		pr_warn("task %d (%s) did not return to user mode: %s\n", task_pid_nr(p->task),
			p->task->comm,
			p->has_mem ? "it keeps the memory policy that was set" :
			READ_ONCE(p->state) == NUMAPLACE_TO_RESTORE ?
				     "it keeps the CPUs that were set" :
				     "a child that it may be forking keeps its CPUs");
		/* The allocator may still be using it: leaked rather than freed in use. */
		p->retired_mem = NULL;
	}
	numaplace_policy_work_drop(p);
}

/**
 * numaplace_policy_work_report() - log the tasks that are waited for
 */
void numaplace_policy_work_report(void)
{
	struct numaplace_placement *p;
	unsigned int n = 0;

	spin_lock(&numaplace_task_table_lock);
	list_for_each_entry(p, &in_tasks, todo)
		if (n++ < 8)
			report(p);
	spin_unlock(&numaplace_task_table_lock);
	if (n > 8)
		pr_notice("rmmod waits for %u tasks in all\n", n);
}
