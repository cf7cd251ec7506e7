// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "cpuset.h"
#include "place_cpus.h"
#include "task_table.h"
#include "trace.h"

/* Too large for the stack; used under numaplace_task_table_mutex only. */
static struct cpumask now_mask, want_mask;

/* Sets want to those of the requested CPUs that the task may use. */
static int choose_cpus(const struct numaplace_placement *p, const struct cpumask *cpus,
		       struct cpumask *want)
{
	int err;

	if (READ_ONCE(p->task->flags) & PF_NO_SETAFFINITY)
		return -EINVAL;
	/* Its bandwidth was granted for the CPUs that it has. */
	if (p->task->policy == SCHED_DEADLINE)
		return -EBUSY;
	err = numaplace_cpuset_read(p->task, want);
	if (err)
		return err;
	return cpumask_and(want, want, cpus) ? 0 : -EINVAL;
}

/*
 * Recorded before the change, so that the fork hook recognises a child that is forked
 * meanwhile. A child whose fork is in progress may still have CPUs that were set earlier.
 */
static void note_cpus(struct numaplace_placement *p, const struct cpumask *now,
		      const struct cpumask *cpus)
{
	spin_lock(&numaplace_task_table_lock);
	if (p->has_cpus && !cpumask_equal(p->set_cpus, cpus))
		numaplace_placement_push_former(p);
	/* An affinity that the user set since is the saved one from here on. */
	if (!p->has_cpus || !cpumask_equal(now, p->set_cpus))
		cpumask_copy(p->saved_cpus, now);
	cpumask_copy(p->set_cpus, cpus);
	p->has_cpus = true;
	p->settled = false;
	p->setting = true;
	spin_unlock(&numaplace_task_table_lock);
}

/**
 * numaplace_place_cpus_check() - whether CPUs can be set for a task
 * @p: its record, or one that is not in the table
 * @cpus: the CPUs
 *
 * Return: 0; -EINVAL for CPUs that it may not use, a cpuset that cannot be read or a task that
 * must not be moved; -EBUSY for a SCHED_DEADLINE task; -ENOMEM.
 */
int numaplace_place_cpus_check(const struct numaplace_placement *p, const struct cpumask *cpus)
{
	lockdep_assert_held(&numaplace_task_table_mutex);
	return choose_cpus(p, cpus, &want_mask);
}

/**
 * numaplace_place_cpus() - save the CPUs of a task and set others
 * @p: its record
 * @cpus: the CPUs; the task gets those that its cpuset allows
 *
 * Return: 0 or an error as of numaplace_place_cpus_check().
 */
int numaplace_place_cpus(struct numaplace_placement *p, const struct cpumask *cpus)
{
	struct cpumask *now = &now_mask, *want = &want_mask;
	int err;

	lockdep_assert_held(&numaplace_task_table_mutex);
	err = choose_cpus(p, cpus, want);
	if (err)
		return err;
	numaplace_cpuset_read_task(p->task, now);
	note_cpus(p, now, want);
	err = numaplace_cpuset_set_cpus(p->task, want);
	/* The effective mask: within the affinity that the task set itself, if any. */
	numaplace_cpuset_read_task(p->task, now);
	spin_lock(&numaplace_task_table_lock);
	cpumask_copy(p->set_cpus, now);
	p->setting = false;
	spin_unlock(&numaplace_task_table_lock);
	trace_place(p->task, now, err);
	return err;
}
