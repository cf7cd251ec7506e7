// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "call.h"
#include "cpuset.h"
#include "mempolicy.h"
#include "place.h"
#include "place_cpus.h"
#include "policy_work.h"
#include "restore.h"
#include "stats.h"
#include "target.h"
#include "task_table.h"
#include "trace.h"

/* Rounds of the search for threads that start while others are placed. */
#define MAX_ROUNDS 16

/* Poll interval for a thread whose fork is in progress. */
#define FORK_US 50

/* A restored task has no CPUs that were set here; a child whose fork is in progress may. */
static void reset_restored(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	if (!p->has_cpus || (p->state != NUMAPLACE_RESTORING && p->state != NUMAPLACE_RESTORED))
		return;
	numaplace_placement_push_former(p);
	p->has_cpus = false;
}

/* Notes the write, unless a later one has acted on the same. Returns whether it did. */
static bool take(struct numaplace_half *half, u64 call)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	if (half->op > call)
		return false;
	half->op = call;
	half->placing = true;
	half->behind = false;
	return true;
}

/*
 * The record of a task: @fresh, unless there is one; then @fresh is released. NULL
 * if the task is about to end, where the exit hook releases a record that there is,
 * or if later writes have acted on all that this one is about.
 */
static struct numaplace_placement *record_of(struct numaplace_placement *fresh, u64 call,
					     const struct numaplace_place_request *request)
{
	struct task_struct *task = fresh->task;
	struct numaplace_placement *p;
	bool added = false, cpus, mem;

	spin_lock(&numaplace_task_table_lock);
	p = numaplace_task_table_find(task);
	if (!p) {
		numaplace_task_table_add(fresh);
		p = fresh;
		added = true;
	}
	smp_mb(); /* The exit hook reads the table after the flag is set. */
	if (READ_ONCE(task->flags) & PF_EXITING) {
		if (added)
			numaplace_task_table_remove(fresh);
		p = NULL;
	} else {
		cpus = !cpumask_empty(request->cpus) && take(&p->cpus, call);
		mem = request->mem && take(&p->mem, call);
		/* @fresh is released below, with the members that @p had. */
		if (!added)
			swap(p->spare, fresh->spare);
		if (mem) {
			if (!added)
				swap(p->want_mem, fresh->want_mem);
			p->want = NUMAPLACE_INSTALL;
			p->error = 0;
		}
		if (cpus || mem) {
			reset_restored(p);
			if (max(p->cpus.op, p->mem.op) == call)
				p->inherit = request->inherit;
			p->state = NUMAPLACE_PLACED;
			p->kept = false;
		} else {
			p = NULL;
		}
	}
	spin_unlock(&numaplace_task_table_lock);
	if (p != fresh)
		numaplace_placement_put(fresh);
	return p;
}

static struct numaplace_placement *record_of_task(struct task_struct *task)
{
	struct numaplace_placement *p;

	lockdep_assert_held(&numaplace_task_table_mutex);
	spin_lock(&numaplace_task_table_lock);
	p = numaplace_task_table_find(task);
	spin_unlock(&numaplace_task_table_lock);
	return p;
}

/* Begins to place a thread. finish() finds whether its memory policy was installed. */
static int place_thread(struct numaplace_placement *fresh, u64 call,
			const struct numaplace_place_request *request)
{
	struct numaplace_placement *p;
	int err = 0;

	lockdep_assert_held(&numaplace_task_table_mutex);
	p = record_of_task(fresh->task);
	/* What this write is not about is restored nevertheless. */
	if (p && READ_ONCE(p->state) == NUMAPLACE_TO_RESTORE)
		numaplace_restore_begin(p);
	p = record_of(fresh, call, request);
	if (!p)
		return -ESRCH;
	if (!cpumask_empty(request->cpus) && p->cpus.op == call)
		err = numaplace_place_cpus(p, request->cpus);
	if (!err && request->mem && p->mem.op == call)
		return numaplace_policy_work_start(p, true);
	/* Only to drop the earlier CPUs, which a child whose fork is in progress may have. */
	if (!err && !READ_ONCE(p->settled) && !numaplace_policy_work_settle(p))
		return numaplace_policy_work_start(p, false);
	return err;
}

/* Whether a write or a later one has acted on a half. */
static bool has(const struct numaplace_half *half, u64 call)
{
	return half->op >= call && !half->behind;
}

static bool is_placed(struct task_struct *task, u64 call,
		      const struct numaplace_place_request *request)
{
	struct numaplace_placement *p;
	bool placed;

	spin_lock(&numaplace_task_table_lock);
	p = numaplace_task_table_find(task);
	placed = p && (cpumask_empty(request->cpus) || has(&p->cpus, call)) &&
		 (!request->mem || has(&p->mem, call));
	spin_unlock(&numaplace_task_table_lock);
	return placed;
}

static int check(struct numaplace_placement *fresh, const struct numaplace_place_request *request)
{
	struct numaplace_placement *p = record_of_task(fresh->task);
	int err = 0;

	if (!cpumask_empty(request->cpus))
		err = numaplace_place_cpus_check(p ? p : fresh, request->cpus);
	if (!err && request->mem)
		err = numaplace_mempolicy_check(fresh->task, fresh->want_mem);
	return err;
}

static struct numaplace_placement *make_record(struct task_struct *task,
					       const struct mempolicy *policy)
{
	struct numaplace_placement *fresh = numaplace_placement_new(task, GFP_KERNEL);
	struct mempolicy *want;

	if (!fresh)
		return NULL;
	want = numaplace_mempolicy_copy(policy);
	if (IS_ERR(want) || numaplace_placement_reserve(fresh)) {
		if (!IS_ERR(want))
			numaplace_mempolicy_put(want);
		numaplace_placement_put(fresh);
		return NULL;
	}
	fresh->want_mem = want;
	return fresh;
}

/*
 * Allocates all memory before any thread is changed: a failure leaves earlier
 * placements as they are. Adds records of threads not placed yet to a list.
 */
static int make_records(const struct numaplace_threads *threads, u64 call,
			const struct numaplace_place_request *request,
			const struct mempolicy *policy, struct list_head *records)
{
	struct numaplace_placement *fresh;
	unsigned int i;

	for (i = 0; i < threads->n; i++) {
		if (numaplace_target_has_seen(threads->earlier, threads->task[i]) ||
		    is_placed(threads->task[i], call, request))
			continue;
		fresh = make_record(threads->task[i], policy);
		if (!fresh)
			return -ENOMEM;
		list_add_tail(&fresh->pick, records);
		cond_resched();
	}
	return 0;
}

static void put_records(struct list_head *records)
{
	struct numaplace_placement *fresh, *next;

	list_for_each_entry_safe(fresh, next, records, pick) {
		list_del_init(&fresh->pick);
		numaplace_placement_put(fresh);
	}
}

/* Begins to place all, or none where one of them is refused. */
static int begin(struct list_head *records, u64 call, const struct numaplace_place_request *request)
{
	struct numaplace_placement *fresh, *next;
	int err = 0;

	lockdep_assert_held(&numaplace_task_table_mutex);
	list_for_each_entry(fresh, records, pick) {
		err = check(fresh, request);
		if (err)
			return err;
	}
	list_for_each_entry_safe(fresh, next, records, pick) {
		list_del_init(&fresh->pick);
		err = place_thread(fresh, call, request);
		if (err && err != -ESRCH)
			return err;
	}
	return 0;
}

/* Whether the write has the outcome for a half to collect; a later one may have acted on it. */
static bool is_placing(const struct numaplace_half *half, u64 call)
{
	return half->op == call && half->placing;
}

/* Collects the outcome for a thread, and withdraws a policy that is not installed yet. */
static int finish(struct numaplace_placement *p, u64 call, const struct mempolicy *policy, int err)
{
	struct mempolicy *withdrawn = NULL;
	bool mem;

	spin_lock(&numaplace_task_table_lock);
	if (is_placing(&p->cpus, call))
		p->cpus.placing = false;
	mem = is_placing(&p->mem, call);
	if (mem && p->want == NUMAPLACE_INSTALL) {
		p->want = NUMAPLACE_KEEP;
		swap(withdrawn, p->want_mem);
		/* It was too late in its exit to run the task work. */
		err = err ? err : -ESRCH;
	} else {
		err = mem ? p->error : 0;
	}
	if (mem)
		p->mem.placing = false;
	spin_unlock(&numaplace_task_table_lock);
	numaplace_mempolicy_put(withdrawn);
	if (mem) {
		trace_policy(p->task, policy, err);
		if (!err)
			numaplace_stats_add(NUMAPLACE_STAT_policies, 1);
	}
	if (!err)
		numaplace_stats_add(NUMAPLACE_STAT_placed, 1);
	return err;
}

/* Returns how many threads are placed now, or the first error of theirs. */
static int finish_all(const struct numaplace_threads *threads, u64 call,
		      const struct mempolicy *policy, int waited)
{
	struct numaplace_placement *p;
	int n = 0, err, failed = 0;
	unsigned int i;

	lockdep_assert_held(&numaplace_task_table_mutex);
	for (i = 0; i < threads->n; i++) {
		spin_lock(&numaplace_task_table_lock);
		p = numaplace_task_table_find(threads->task[i]);
		if (p && !is_placing(&p->cpus, call) && !is_placing(&p->mem, call))
			p = NULL;
		/* Without it the exit hook and the sweep may release the record. */
		if (p)
			refcount_inc(&p->users);
		spin_unlock(&numaplace_task_table_lock);
		if (p) {
			err = finish(p, call, policy, waited);
			numaplace_placement_put(p);
		} else {
			/* A later write has acted on it, unless it ends. */
			err = READ_ONCE(threads->task[i]->flags) & PF_EXITING ? -ESRCH : 0;
		}
		if (!err)
			n++;
		else if (err != -ESRCH && !failed)
			failed = err;
	}
	return failed ? failed : n;
}

/*
 * Waits for threads whose fork is in progress: the fork hook has to see them first. The number of
 * such a thread may be on its way to memory that a program of the user's serves, or does not.
 */
static int wait_for_forks(const struct numaplace_threads *threads, unsigned long deadline)
{
	unsigned int i;

	for (i = 0; i < threads->n; i++) {
		while (READ_ONCE(threads->task[i]->__state) & TASK_NEW) {
			if (fatal_signal_pending(current))
				return -EINTR;
			if (time_after(jiffies, deadline))
				return -EBUSY;
			usleep_range_state(FORK_US, 2 * FORK_US, TASK_IDLE);
		}
	}
	return 0;
}

/* Places those threads that are not placed yet. Returns how many, or -errno. */
static int place_threads(const struct numaplace_threads *threads, struct numaplace_call *call,
			 const struct numaplace_place_request *request,
			 const struct mempolicy *policy)
{
	unsigned long deadline = numaplace_policy_work_deadline();
	int err, waited = 0, n;
	LIST_HEAD(records);
	bool goes_on;

	err = wait_for_forks(threads, deadline);
	if (!err)
		err = make_records(threads, call->nr, request, policy, &records);
	if (!err)
		err = mutex_lock_killable(&numaplace_task_table_mutex);
	if (err) {
		put_records(&records);
		return err;
	}
	goes_on = numaplace_call_begin(call);
	if (goes_on)
		err = begin(&records, call->nr, request);
	numaplace_cpuset_close();
	mutex_unlock(&numaplace_task_table_mutex);
	put_records(&records);
	if (!goes_on)
		return 0;
	if (!err && request->mem)
		waited = numaplace_policy_work_wait(call->nr, deadline, NULL, NULL);
	mutex_lock(&numaplace_task_table_mutex);
	n = finish_all(threads, call->nr, policy, err ? err : waited);
	mutex_unlock(&numaplace_task_table_mutex);
	return err ? err : n;
}

/* Threads seen in an earlier round are done, also where a later write has restored them. */
static bool all_placed(struct task_struct *task, u64 call,
		       const struct numaplace_place_request *request,
		       const struct numaplace_threads *seen)
{
	struct task_struct *t;
	bool all = true;

	rcu_read_lock();
	for_each_thread(task, t)
		all &= READ_ONCE(t->flags) & (PF_IO_WORKER | PF_EXITING) ||
		       numaplace_target_has_seen(seen, t) || is_placed(t, call, request);
	rcu_read_unlock();
	return all;
}

static int place_process(struct numaplace_call *call, const struct numaplace_place_request *request,
			 const struct mempolicy *policy)
{
	struct numaplace_threads *seen = NULL, *threads;
	int n = 0, total = 0, round;

	for (round = 0; round < MAX_ROUNDS && !all_placed(call->task, call->nr, request, seen);
	     round++) {
		threads = numaplace_target_threads(call->task, seen);
		if (!threads) {
			n = -ENOMEM;
			break;
		}
		seen = threads;
		n = place_threads(threads, call, request, policy);
		if (n <= 0)
			break;
		total += n;
	}
	numaplace_target_put_threads(seen);
	return n < 0 ? n : total;
}

static int place_one(struct numaplace_call *call, const struct numaplace_place_request *request,
		     const struct mempolicy *policy)
{
	struct numaplace_threads *one = kmalloc(struct_size(one, task, 1), GFP_KERNEL);
	int n;

	if (!one)
		return -ENOMEM;
	one->earlier = NULL;
	one->n = 1;
	one->task[0] = call->task;
	n = place_threads(one, call, request, policy);
	kfree(one);
	return n;
}

/**
 * numaplace_place() - set the CPUs and the memory policy of a process or a thread
 * @request: the task, its CPUs and its policy
 *
 * The former CPUs and policy are saved for numaplace_restore(). A refused request has
 * no effect. If a thread does not return to user mode in time, or a new one cannot be
 * placed, those that were placed for this request are restored.
 *
 * Return: 0; -EINVAL for neither CPUs nor policy, for CPUs that the task may not use,
 * or for a task that must not be moved; -ESRCH, -EBUSY, -EACCES, -ENOMEM, -EINTR.
 */
int numaplace_place(const struct numaplace_place_request *request)
{
	struct numaplace_call call = { .link = LIST_HEAD_INIT(call.link), .nr = U64_MAX };
	struct mempolicy *policy = NULL;
	int n;

	if (cpumask_empty(request->cpus) && !request->mem)
		return -EINVAL;
	call.task = numaplace_target_get(request->pid, request->threads != NUMAPLACE_THREADS_ONE);
	if (IS_ERR(call.task))
		return PTR_ERR(call.task);
	if (request->mem)
		policy = numaplace_mempolicy_get(current);
	if (request->threads == NUMAPLACE_THREADS_ONE)
		n = place_one(&call, request, policy);
	else
		n = place_process(&call, request, policy);
	numaplace_call_end(&call);
	if (n < 0)
		numaplace_restore_failed(call.nr);
	numaplace_mempolicy_put(policy);
	put_task_struct(call.task);
	return n > 0 ? 0 : n ? n : -ESRCH;
}
