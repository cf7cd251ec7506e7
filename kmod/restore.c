// SPDX-License-Identifier: GPL-2.0-only
#include <linux/jiffies.h>
#include <linux/mempolicy.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>

#include "cpuset.h"
#include "kin.h"
#include "mempolicy.h"
#include "place.h"
#include "placement.h"
#include "restore.h"
#include "stats.h"
#include "trace.h"

/* Too large for the stack; used under numaplace_placement_mutex only. */
static struct cpumask now;

/* Counts the calls of numaplace_restore_matching(), so that each tries a task once. */
static u64 last_try;

/*
 * A fork that was under way while its parent was restored may give the child
 * the CPUs that the parent had until then. The fork hook has to know, so a
 * record is kept for as long as a fork may take.
 */
#define LINGER_MS	50

static void leave(struct numaplace_placement *p)
{
	spin_lock(&numaplace_placement_lock);
	p->leaving = false;
	p->left = true;
	p->left_at = jiffies;
	spin_unlock(&numaplace_placement_lock);
	numaplace_kin_sweep_later();
}

static void forget(struct numaplace_placement *p)
{
	spin_lock(&numaplace_placement_lock);
	numaplace_placement_remove(p);
	spin_unlock(&numaplace_placement_lock);
	numaplace_placement_free(p);
}

/* Returns whether the user has chosen other CPUs since. Those are left alone. */
static bool restore_cpus(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_placement_mutex);
	if (!p->has_cpus)
		return false;
	numaplace_place_read_cpus(p->task, &now);
	if (!cpumask_equal(&now, p->set_cpus))
		return true;
	/* With none of the original CPUs left to it the kernel would give it all there are. */
	if (numaplace_cpuset_set_cpus(p->task, p->saved_cpus))
		numaplace_cpuset_set_cpus(p->task, cpu_possible_mask);
	return false;
}

static int restore_mem(struct numaplace_placement *p, bool patient, bool *kept)
{
	struct mempolicy *old;
	int err;

	if (!p->has_mem)
		return 0;
	err = numaplace_mempolicy_swap(p->task, p->set_mem, p->saved_mem, &old, patient);
	if (err == -ESTALE || err == -ESRCH) {
		*kept |= err == -ESTALE;
		return 0;
	}
	if (err)
		return err;
	spin_lock(&numaplace_placement_lock);
	p->saved_mem = NULL;
	p->has_mem = false;
	spin_unlock(&numaplace_placement_lock);
	numaplace_mempolicy_put(old);
	return 0;
}

static int restore_one(struct numaplace_placement *p, bool patient)
{
	bool kept;
	int err;

	lockdep_assert_held(&numaplace_placement_mutex);
	/* From here on its children are restored too, as soon as they are born. */
	spin_lock(&numaplace_placement_lock);
	p->leaving = true;
	spin_unlock(&numaplace_placement_lock);
	kept = restore_cpus(p);
	err = restore_mem(p, patient, &kept);
	trace_restore(p->task, kept, err);
	if (err)
		return err;
	numaplace_stats_add(kept ? NUMAPLACE_STAT_kept_by_user : NUMAPLACE_STAT_restored, 1);
	leave(p);
	return 0;
}

struct search {
	bool (*match)(const struct numaplace_placement *p, const void *data);
	const void *data;
	u64 try;
};

static bool is_next(const struct numaplace_placement *p, const void *data)
{
	const struct search *search = data;

	return !p->left && p->tried != search->try && search->match(p, search->data);
}

/**
 * numaplace_restore_matching() - restore the tasks that a caller looks for
 * @match: says whether a record is of one
 * @data: for @match
 * @patient: wait for a task as long as it takes
 *
 * Return: how many were restored, or the first error; then those that could
 * not be restored are still under control and the others are restored.
 */
int numaplace_restore_matching(bool (*match)(const struct numaplace_placement *p,
					     const void *data),
			       const void *data, bool patient)
{
	struct search search = { .match = match, .data = data, .try = ++last_try };
	struct numaplace_placement *p;
	int n = 0, err, failed = 0;

	lockdep_assert_held(&numaplace_placement_mutex);
	for (;;) {
		spin_lock(&numaplace_placement_lock);
		p = numaplace_placement_first(is_next, &search);
		if (p)
			p->tried = search.try;
		spin_unlock(&numaplace_placement_lock);
		if (!p)
			break;
		err = restore_one(p, patient);
		if (!err)
			n++;
		else if (!failed)
			failed = err;
	}
	return failed ? failed : n;
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
 * numaplace_restore() - give tasks back what they had
 * @request: which tasks
 *
 * Return: 0; -EINVAL unless exactly one of the keys is given; -ESRCH if no such
 * task is under control; -EBUSY or -EINTR if one did not come by, which then
 * stays under control.
 */
int numaplace_restore(const struct numaplace_restore_request *request)
{
	int n;

	if (!!request->pid + !!request->tid + request->all != 1)
		return -EINVAL;
	if (mutex_lock_killable(&numaplace_placement_mutex))
		return -EINTR;
	n = numaplace_restore_matching(is_asked_for, request, false);
	mutex_unlock(&numaplace_placement_mutex);
	if (n < 0) {
		numaplace_kin_sweep_later();
		return n;
	}
	return n || request->all ? 0 : -ESRCH;
}

static bool is_leaving(const struct numaplace_placement *p, const void *data)
{
	return p->leaving;
}

static bool is_done_with(const struct numaplace_placement *p, const void *unused)
{
	return p->left && time_after(jiffies, p->left_at + msecs_to_jiffies(LINGER_MS));
}

static bool has_left(const struct numaplace_placement *p, const void *unused)
{
	return p->left;
}

/* A record of which nothing is left to do but to release it. */
static struct numaplace_placement *first_done(bool *more)
{
	struct numaplace_placement *p;

	spin_lock(&numaplace_placement_lock);
	p = numaplace_placement_first_ended();
	if (!p)
		p = numaplace_placement_first(is_done_with, NULL);
	*more = numaplace_placement_first(has_left, NULL);
	spin_unlock(&numaplace_placement_lock);
	return p;
}

/**
 * numaplace_restore_sweep() - finish what was begun by others
 *
 * Restores children that were born placed but are not to be, and releases the
 * records of tasks that have ended or were restored a while ago.
 *
 * Return: true if there is more to do later.
 */
bool numaplace_restore_sweep(void)
{
	struct numaplace_placement *p;
	bool more, failed;

	mutex_lock(&numaplace_placement_mutex);
	failed = numaplace_restore_matching(is_leaving, NULL, false) < 0;
	while ((p = first_done(&more)))
		forget(p);
	mutex_unlock(&numaplace_placement_mutex);
	return more || failed;
}

/**
 * numaplace_restore_all() - give every task back what it had, whatever it takes
 */
void numaplace_restore_all(void)
{
	const struct numaplace_restore_request all = { .all = true };

	mutex_lock(&numaplace_placement_mutex);
	numaplace_restore_matching(is_asked_for, &all, true);
	mutex_unlock(&numaplace_placement_mutex);
}
