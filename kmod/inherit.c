// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>
#include <trace/events/task.h>

#include "inherit.h"
#include "mempolicy.h"
#include "policy_work.h"
#include "restore.h"
#include "stats.h"
#include "sweep.h"
#include "task_table.h"

static struct tracepoint *fork_event, *exit_event;

/*
 * A child has the CPUs that its parent had when the fork began. If the parent was
 * placed again since, or was restored, those are CPUs that were set earlier.
 */
static bool has_set_cpus(const struct numaplace_placement *parent, const struct cpumask *cpus)
{
	bool restored = parent->state >= NUMAPLACE_RESTORING;

	if (parent->has_cpus && !restored && cpumask_equal(cpus, parent->set_cpus))
		return true;
	if (parent->has_cpus && cpumask_equal(cpus, parent->saved_cpus))
		return false;
	return (parent->has_cpus && cpumask_equal(cpus, parent->set_cpus)) ||
	       (parent->setting && cpumask_subset(cpus, parent->set_cpus)) ||
	       numaplace_placement_had_cpus(parent, cpus);
}

/* A child's policy is a copy of its parent's, which is the caller here. */
static bool has_set_mem(const struct numaplace_placement *parent)
{
	return parent->has_mem && current->mempolicy == parent->set_mem;
}

/* A child of a placed task is forked placed: save the CPUs and policy of an unplaced fork. */
static void inherit(struct numaplace_placement *child, const struct numaplace_placement *parent,
		    bool cpus, bool mem)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	if (cpus) {
		cpumask_copy(child->saved_cpus, parent->saved_cpus);
		cpumask_copy(child->set_cpus, &child->task->cpus_mask);
		child->has_cpus = true;
	}
	if (mem) {
		child->saved_mem = parent->saved_mem;
		child->set_mem = child->task->mempolicy;
		child->set_nodes = parent->set_nodes;
		mpol_get(child->saved_mem);
		mpol_get(child->set_mem);
		child->has_mem = true;
	}
	child->inherit = parent->inherit;
	child->cpus.op = parent->cpus.op;
	child->mem.op = parent->mem.op;
	/* With CPUs of an earlier write, or without the policy of the last. */
	child->cpus.behind = cpus && !cpumask_equal(child->set_cpus, parent->set_cpus);
	child->mem.behind = parent->want == NUMAPLACE_INSTALL;
	if (mem && parent->want >= NUMAPLACE_UNSHARE) {
		child->want = NUMAPLACE_UNSHARE;
		child->restore_op = parent->restore_op;
	}
	if (parent->state != NUMAPLACE_PLACED || !parent->inherit)
		child->state = NUMAPLACE_TO_RESTORE;
}

static void add_child(const struct numaplace_placement *parent, struct task_struct *child,
		      bool cpus, bool mem)
{
	struct numaplace_placement *record;

	record = numaplace_placement_new(child, GFP_ATOMIC | __GFP_NOWARN);
	if (!record) {
		numaplace_stats_add(NUMAPLACE_STAT_inherit_failed, 1);
		return;
	}
	inherit(record, parent, cpus, mem);
	numaplace_task_table_add(record);
	if (record->state == NUMAPLACE_PLACED)
		numaplace_stats_add(NUMAPLACE_STAT_inherited, 1);
	if (record->state == NUMAPLACE_PLACED && record->want == NUMAPLACE_KEEP)
		return;
	numaplace_policy_work_todo(record);
	numaplace_sweep_now();
}

/*
 * Fork hook. Runs in the parent, before the child runs. Must not sleep. io_uring workers
 * inherit the CPUs, and no task work may be started in them: it would make the request in
 * progress fail. They are never placed, and keep the memory policy that they are forked with.
 */
static void on_fork(struct task_struct *child)
{
	struct numaplace_placement *p;
	bool cpus, mem;

	if (likely(!numaplace_task_table_has(current)) || child->flags & PF_IO_WORKER)
		return;
	spin_lock(&numaplace_task_table_lock);
	p = numaplace_task_table_find(current);
	if (p) {
		cpus = has_set_cpus(p, &child->cpus_mask);
		mem = has_set_mem(p);
		if (cpus || mem)
			add_child(p, child, cpus, mem);
	}
	spin_unlock(&numaplace_task_table_lock);
}

/* task_newtask, not sched_process_fork: the latter is not raised for workers of vhost. */
#ifdef HAVE_NEWTASK_U64
static void on_newtask(void *unused, struct task_struct *child, u64 clone_flags)
{
	on_fork(child);
}
#else
static void on_newtask(void *unused, struct task_struct *child, unsigned long clone_flags)
{
	on_fork(child);
}
#endif

/* The task has its own reference to its policy, which the kernel drops: this is not the last. */
static void forget_mem(struct numaplace_placement *p)
{
	if (!p->has_mem || !p->set_mem || current->mempolicy != p->set_mem)
		return;
	numaplace_mempolicy_put(p->set_mem);
	p->set_mem = NULL;
}

/* Exit hook. Runs in the task. The sweep does the rest, possibly after the task is gone. */
static void on_end(struct task_struct *task)
{
	struct numaplace_placement *p;

	if (likely(!numaplace_task_table_has(task)))
		return;
	spin_lock(&numaplace_task_table_lock);
	p = numaplace_task_table_find(task);
	if (p) {
		numaplace_task_table_remove(p);
		p->state = NUMAPLACE_ENDED;
		forget_mem(p);
		numaplace_policy_work_todo(p);
	}
	spin_unlock(&numaplace_task_table_lock);
	if (p)
		numaplace_sweep_now();
}

#ifdef HAVE_EXIT_GROUP_DEAD
static void on_exit(void *unused, struct task_struct *task, bool group_dead)
{
	on_end(task);
}
#else
static void on_exit(void *unused, struct task_struct *task)
{
	on_end(task);
}
#endif

static void find_event(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "task_newtask"))
		fork_event = tp;
	else if (!strcmp(tp->name, "sched_process_exit"))
		exit_event = tp;
}

/**
 * numaplace_inherit_init() - register the fork and exit hooks
 *
 * Return: 0, -ENOENT on a kernel without these tracepoints, or -ENOMEM.
 */
int numaplace_inherit_init(void)
{
	int err;

	for_each_kernel_tracepoint(find_event, NULL);
	if (!fork_event || !exit_event)
		return -ENOENT;
	/* Registered as void *: a prototype of another kernel must not compile. */
	check_trace_callback_type_task_newtask(on_newtask);
	check_trace_callback_type_sched_process_exit(on_exit);
	err = numaplace_sweep_init(numaplace_restore_sweep);
	if (err)
		return err;
	err = tracepoint_probe_register(exit_event, on_exit, NULL);
	if (err)
		goto err_exit;
	err = tracepoint_probe_register(fork_event, on_newtask, NULL);
	if (err)
		goto err_fork;
	return 0;

err_fork:
	tracepoint_probe_unregister(exit_event, on_exit, NULL);
	tracepoint_synchronize_unregister();
err_exit:
	numaplace_sweep_exit();
	return err;
}

/**
 * numaplace_inherit_exit() - restore every task and unregister the hooks
 *
 * The fork hook stays until all tasks are restored, so that no child is missed, and
 * the exit hook until no record is left.
 */
void numaplace_inherit_exit(void)
{
	numaplace_restore_everything();
	tracepoint_probe_unregister(fork_event, on_newtask, NULL);
	tracepoint_synchronize_unregister();
	numaplace_restore_everything();
	tracepoint_probe_unregister(exit_event, on_exit, NULL);
	tracepoint_synchronize_unregister();
	numaplace_restore_everything();
	numaplace_sweep_exit();
}
