// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "cpuset.h"
#include "kin.h"
#include "mempolicy.h"
#include "place.h"
#include "placement.h"
#include "restore.h"
#include "stats.h"
#include "target.h"
#include "trace.h"

/* Threads that start while others are placed are looked for this often. */
#define MAX_ROUNDS 16

static u64 last_call;

/* Too large for the stack; used under numaplace_placement_mutex only. */
static struct cpumask now_mask, want_mask;

/**
 * numaplace_place_read_cpus() - the CPUs that a task may use now
 * @task: the task
 * @cpus: set to them
 */
void numaplace_place_read_cpus(struct task_struct *task, struct cpumask *cpus)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	cpumask_copy(cpus, &task->cpus_mask);
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
}

/*
 * Sets want to the CPUs that the task can be given of those asked for. Where its
 * cpuset is not known, what it has or had must do: that has been within it.
 */
static int choose_cpus(const struct numaplace_placement *p, const struct cpumask *now,
		       const struct cpumask *cpus, struct cpumask *want)
{
	if (p->task->flags & PF_NO_SETAFFINITY)
		return -EINVAL;
	/* Its bandwidth was granted for the CPUs that it has. */
	if (p->task->policy == SCHED_DEADLINE)
		return -EBUSY;
	if (numaplace_cpuset_read(p->task, want))
		return cpumask_and(want, want, cpus) ? 0 : -EINVAL;
	cpumask_copy(want, cpus);
	if (cpumask_subset(cpus, now) || (p->has_cpus && cpumask_subset(cpus, p->saved_cpus)))
		return 0;
	return -EINVAL;
}

/* Noted before it is done, so that a child that is born meanwhile is known. */
static void note_cpus(struct numaplace_placement *p, const struct cpumask *now,
		      const struct cpumask *cpus)
{
	spin_lock(&numaplace_placement_lock);
	/* What the user chose after us is the original from here on. */
	if (!p->has_cpus || !cpumask_equal(now, p->set_cpus))
		cpumask_copy(p->saved_cpus, now);
	cpumask_copy(p->set_cpus, cpus);
	p->has_cpus = true;
	spin_unlock(&numaplace_placement_lock);
}

static int place_cpus(struct numaplace_placement *p, const struct cpumask *cpus)
{
	struct cpumask *now = &now_mask, *want = &want_mask;
	int err;

	lockdep_assert_held(&numaplace_placement_mutex);
	numaplace_place_read_cpus(p->task, now);
	err = choose_cpus(p, now, cpus, want);
	if (err)
		return err;
	note_cpus(p, now, want);
	err = numaplace_cpuset_set_cpus(p->task, want);
	/* What it really got: within what it asked for itself, where it did. */
	numaplace_place_read_cpus(p->task, now);
	spin_lock(&numaplace_placement_lock);
	cpumask_copy(p->set_cpus, now);
	spin_unlock(&numaplace_placement_lock);
	trace_place(p->task, now, err);
	return err;
}

static int place_mem(struct numaplace_placement *p, struct mempolicy *policy)
{
	struct mempolicy *now, *old;
	int err;

	do {
		now = numaplace_mempolicy_get(p->task);
		mpol_get(policy);
		err = numaplace_mempolicy_swap(p->task, now, policy, &old, false);
		if (err)
			numaplace_mempolicy_put(policy);
		numaplace_mempolicy_put(now);
	} while (err == -ESTALE);
	trace_policy(p->task, policy, err);
	if (err)
		return err;

	mpol_get(policy);
	spin_lock(&numaplace_placement_lock);
	if (p->has_mem && old == p->set_mem) {
		swap(p->set_mem, policy);
	} else {
		/* The first original, or the user's choice after ours. */
		swap(p->saved_mem, old);
		swap(p->set_mem, policy);
		p->has_mem = true;
	}
	spin_unlock(&numaplace_placement_lock);
	numaplace_mempolicy_put(old);
	numaplace_mempolicy_put(policy);
	numaplace_stats_add(NUMAPLACE_STAT_policies, 1);
	return 0;
}

/* The record of a task: @fresh, unless there is one. NULL if it is about to end. */
static struct numaplace_placement *record_of(struct numaplace_placement *fresh, u64 call,
					     bool inherit)
{
	struct task_struct *task = fresh->task;
	struct numaplace_placement *p;

	spin_lock(&numaplace_placement_lock);
	p = numaplace_placement_find(task);
	if (!p) {
		p = fresh;
		fresh = NULL;
		numaplace_placement_add(p);
	}
	if (p->left)
		p->has_cpus = false;
	p->call = call;
	p->inherit = inherit;
	p->leaving = p->left = false;
	/* The exit hook may have looked for the record before it was there. */
	if (task->flags & PF_EXITING) {
		numaplace_placement_remove(p);
		swap(fresh, p);
	}
	spin_unlock(&numaplace_placement_lock);
	if (fresh)
		numaplace_placement_free(fresh);
	return p;
}

static int place_thread(struct numaplace_placement *fresh, u64 call,
			const struct numaplace_place_request *request, struct mempolicy *policy)
{
	struct numaplace_placement *p = record_of(fresh, call, request->inherit);
	int err = 0;

	lockdep_assert_held(&numaplace_placement_mutex);
	if (!p)
		return -ESRCH;
	if (!cpumask_empty(request->cpus))
		err = place_cpus(p, request->cpus);
	if (!err && request->mem)
		err = place_mem(p, policy);
	if (!err)
		numaplace_stats_add(NUMAPLACE_STAT_placed, 1);
	return err;
}

static bool is_placed(struct task_struct *task, u64 call)
{
	struct numaplace_placement *p;
	bool placed;

	spin_lock(&numaplace_placement_lock);
	p = numaplace_placement_find(task);
	placed = p && p->call == call;
	spin_unlock(&numaplace_placement_lock);
	return placed;
}

static int check(struct numaplace_placement *fresh, const struct numaplace_place_request *request,
		 struct mempolicy *policy)
{
	struct numaplace_placement *p;
	int err = 0;

	spin_lock(&numaplace_placement_lock);
	p = numaplace_placement_find(fresh->task);
	spin_unlock(&numaplace_placement_lock);
	if (!cpumask_empty(request->cpus)) {
		numaplace_place_read_cpus(fresh->task, &now_mask);
		err = choose_cpus(p ? p : fresh, &now_mask, request->cpus, &want_mask);
	}
	if (!err && request->mem)
		err = numaplace_mempolicy_check(fresh->task, policy);
	return err;
}

/*
 * What can be refused, and all that takes memory, before any thread is touched:
 * threads that were placed before shall keep that. Adds their records to a list.
 */
static int prepare(struct task_struct *const *tasks, unsigned int n, u64 call,
		   const struct numaplace_place_request *request, struct mempolicy *policy,
		   struct list_head *records)
{
	struct numaplace_placement *fresh;
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		if (is_placed(tasks[i], call))
			continue;
		fresh = numaplace_placement_new(tasks[i], GFP_KERNEL);
		if (!fresh)
			return -ENOMEM;
		list_add_tail(&fresh->link, records);
		err = check(fresh, request, policy);
	}
	return err;
}

/* Places those threads that are not placed yet. Returns how many, or -errno. */
static int place_threads(struct task_struct *const *tasks, unsigned int n, u64 call,
			 const struct numaplace_place_request *request, struct mempolicy *policy)
{
	struct numaplace_placement *fresh, *next;
	int err, placed = 0;
	LIST_HEAD(records);

	err = prepare(tasks, n, call, request, policy, &records);
	list_for_each_entry_safe(fresh, next, &records, link) {
		list_del_init(&fresh->link);
		if (err) {
			numaplace_placement_free(fresh);
			continue;
		}
		err = place_thread(fresh, call, request, policy);
		if (err == -ESRCH)
			err = 0;
		else
			placed++;
	}
	return err ? err : placed;
}

static bool all_placed(struct task_struct *task, u64 call)
{
	struct task_struct *t;
	bool all = true;

	rcu_read_lock();
	for_each_thread(task, t)
		all &= t->flags & (PF_IO_WORKER | PF_EXITING) || is_placed(t, call);
	rcu_read_unlock();
	return all;
}

static int place_process(struct task_struct *task, u64 call,
			 const struct numaplace_place_request *request, struct mempolicy *policy)
{
	struct numaplace_threads *threads;
	int n = 0, total = 0, round;

	for (round = 0; round < MAX_ROUNDS && !all_placed(task, call); round++) {
		threads = numaplace_target_threads(task);
		if (!threads)
			return -ENOMEM;
		n = place_threads(threads->task, threads->n, call, request, policy);
		numaplace_target_put_threads(threads);
		if (n <= 0)
			break;
		total += n;
	}
	return n < 0 ? n : total;
}

static bool was_placed_by(const struct numaplace_placement *p, const void *call)
{
	return p->call == *(const u64 *)call;
}

/**
 * numaplace_place() - give a process or a thread other CPUs and memory
 * @request: what is asked for
 *
 * What a task had before is kept for numaplace_restore(). What is refused has no
 * effect. If a thread does not come by, or a new one cannot be placed, those that
 * were placed for this request are restored.
 *
 * Return: 0; -EINVAL if nothing is asked for, or CPUs that the task may not use,
 * or for a task that must not be moved; -ESRCH, -EBUSY, -EACCES, -ENOMEM, -EINTR.
 */
int numaplace_place(const struct numaplace_place_request *request)
{
	struct mempolicy *policy = NULL;
	struct task_struct *task;
	int err, n;
	u64 call;

	if (cpumask_empty(request->cpus) && !request->mem)
		return -EINVAL;
	task = numaplace_target_get(request->pid);
	if (IS_ERR(task))
		return PTR_ERR(task);
	err = mutex_lock_killable(&numaplace_placement_mutex);
	if (err)
		goto put_task;
	call = ++last_call;
	if (request->mem)
		policy = numaplace_mempolicy_get(current);
	if (request->threads == NUMAPLACE_THREADS_ONE)
		n = place_threads(&task, 1, call, request, policy);
	else
		n = place_process(task, call, request, policy);
	err = n > 0 ? 0 : n ? n : -ESRCH;
	if (err && numaplace_restore_matching(was_placed_by, &call, false) < 0)
		numaplace_kin_sweep_later();
	numaplace_mempolicy_put(policy);
	mutex_unlock(&numaplace_placement_mutex);
put_task:
	put_task_struct(task);
	return err;
}
