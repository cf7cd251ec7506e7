// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "kin.h"
#include "placement.h"
#include "restore.h"
#include "stats.h"

#define SWEEP_MS	60

static struct tracepoint *fork_event, *exit_event;

static void sweep(struct work_struct *work);
static DECLARE_DELAYED_WORK(sweep_work, sweep);

static void sweep(struct work_struct *work)
{
	if (numaplace_restore_sweep())
		numaplace_kin_sweep_later();
}

/**
 * numaplace_kin_sweep_later() - have numaplace_restore_sweep() called in a while
 */
void numaplace_kin_sweep_later(void)
{
	schedule_delayed_work(&sweep_work, msecs_to_jiffies(SWEEP_MS));
}

/* Of a parent that is restored by now a child may still have its former CPUs. */
static bool is_placed(const struct numaplace_placement *parent, const struct cpumask *cpus)
{
	if (!parent->has_cpus || !cpumask_equal(cpus, parent->set_cpus))
		return false;
	return !parent->left || !cpumask_equal(cpus, parent->saved_cpus);
}

/* A child of a placed task is born placed: note what it would have had. */
static bool inherit(struct numaplace_placement *child, const struct numaplace_placement *parent)
{
	lockdep_assert_held(&numaplace_placement_lock);
	if (is_placed(parent, &child->task->cpus_mask)) {
		cpumask_copy(child->saved_cpus, parent->saved_cpus);
		cpumask_copy(child->set_cpus, parent->set_cpus);
		child->has_cpus = true;
	}
	/* Its policy is a copy of its parent's, which is the caller here. */
	if (parent->has_mem && current->mempolicy == parent->set_mem) {
		child->saved_mem = parent->saved_mem;
		child->set_mem = child->task->mempolicy;
		mpol_get(child->saved_mem);
		mpol_get(child->set_mem);
		child->has_mem = true;
	}
	child->call = parent->call;
	child->inherit = parent->inherit;
	child->leaving = parent->leaving || parent->left || !parent->inherit;
	return child->has_cpus || child->has_mem;
}

/* Runs in the parent, before the child runs. Must not sleep. */
static void on_fork(void *unused, struct task_struct *parent, struct task_struct *child)
{
	struct numaplace_placement *p, *born;

	if (likely(!numaplace_placement_any()))
		return;
	spin_lock(&numaplace_placement_lock);
	p = numaplace_placement_find(parent);
	if (!p)
		goto unlock;
	born = numaplace_placement_new(child, GFP_ATOMIC | __GFP_NOWARN);
	if (!born) {
		numaplace_stats_add(NUMAPLACE_STAT_inherit_failed, 1);
		goto unlock;
	}
	if (!inherit(born, p)) {
		numaplace_placement_end(born);
		schedule_delayed_work(&sweep_work, 0);
		goto unlock;
	}
	numaplace_placement_add(born);
	if (born->leaving)
		schedule_delayed_work(&sweep_work, 0);
	else
		numaplace_stats_add(NUMAPLACE_STAT_inherited, 1);
unlock:
	spin_unlock(&numaplace_placement_lock);
}

static void end(struct task_struct *task)
{
	struct numaplace_placement *p;

	if (likely(!numaplace_placement_any()))
		return;
	spin_lock(&numaplace_placement_lock);
	p = numaplace_placement_find(task);
	if (p) {
		numaplace_placement_end(p);
		schedule_delayed_work(&sweep_work, 0);
	}
	spin_unlock(&numaplace_placement_lock);
}

#ifdef HAVE_EXIT_GROUP_DEAD
static void on_exit(void *unused, struct task_struct *task, bool group_dead)
{
	end(task);
}
#else
static void on_exit(void *unused, struct task_struct *task)
{
	end(task);
}
#endif

static void look_for_event(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "sched_process_fork"))
		fork_event = tp;
	else if (!strcmp(tp->name, "sched_process_exit"))
		exit_event = tp;
}

/**
 * numaplace_kin_init() - begin to follow forks and exits
 *
 * Return: 0, or -ENOENT on a kernel without these tracepoints.
 */
int numaplace_kin_init(void)
{
	int err;

	for_each_kernel_tracepoint(look_for_event, NULL);
	if (!fork_event || !exit_event)
		return -ENOENT;
	err = tracepoint_probe_register(exit_event, on_exit, NULL);
	if (err)
		return err;
	err = tracepoint_probe_register(fork_event, on_fork, NULL);
	if (err) {
		tracepoint_probe_unregister(exit_event, on_exit, NULL);
		tracepoint_synchronize_unregister();
	}
	return err;
}

/* Also waits for forks that are under way. */
static void restore_everything(void)
{
	while (numaplace_placement_any()) {
		numaplace_restore_all();
		msleep(SWEEP_MS);
		numaplace_restore_sweep();
	}
}

/**
 * numaplace_kin_exit() - restore every task and stop following them
 *
 * Forks are followed until all are restored, so that no child is missed, and
 * exits until no record is left.
 */
void numaplace_kin_exit(void)
{
	restore_everything();
	tracepoint_probe_unregister(fork_event, on_fork, NULL);
	tracepoint_synchronize_unregister();
	restore_everything();
	tracepoint_probe_unregister(exit_event, on_exit, NULL);
	tracepoint_synchronize_unregister();
	cancel_delayed_work_sync(&sweep_work);
	numaplace_restore_sweep();
}
