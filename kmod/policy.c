// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "mempolicy.h"
#include "policy.h"
#include "task_table.h"

/* The caller gets the task's reference to the policy that it had. */
static struct mempolicy *exchange(struct task_struct *task, struct mempolicy *policy)
{
	struct mempolicy *old = task->mempolicy;

	task->mempolicy = policy;
	/* The next interleaved page goes to the first node again. */
	task->il_prev = MAX_NUMNODES - 1;
	return old;
}

static struct mempolicy *install(struct numaplace_placement *p)
{
	struct mempolicy *old;

	p->error = numaplace_mempolicy_fit(p->want_mem, p->task);
	if (p->error) {
		numaplace_mempolicy_put(p->want_mem);
		p->want_mem = NULL;
		return NULL;
	}
	mpol_get(p->want_mem);
	old = exchange(p->task, p->want_mem);
	if (!p->has_mem || old != p->set_mem) {
		/* The first original, or the user's later choice. */
		numaplace_mempolicy_put(p->saved_mem);
		p->saved_mem = old;
		old = NULL;
	}
	numaplace_mempolicy_put(p->set_mem);
	p->set_mem = p->want_mem;
	p->set_nodes = numaplace_mempolicy_nodes(p->set_mem);
	p->want_mem = NULL;
	p->has_mem = true;
	return old;
}

static struct mempolicy *restore_policy(struct numaplace_placement *p)
{
	struct mempolicy *old = NULL;

	if (p->task->mempolicy == p->set_mem) {
		old = exchange(p->task, p->saved_mem);
	} else {
		p->kept = true;
		numaplace_mempolicy_put(p->saved_mem);
	}
	p->saved_mem = NULL;
	numaplace_mempolicy_put(p->set_mem);
	p->set_mem = NULL;
	p->has_mem = false;
	return old;
}

/**
 * numaplace_policy_apply() - install or restore a task's memory policy, as its record wants
 * @p: the record; the task is the caller, or does not use its policy
 *
 * Return: the task's former policy if it is to be released, or NULL.
 */
struct mempolicy *numaplace_policy_apply(struct numaplace_placement *p)
{
	struct mempolicy *old = NULL;

	lockdep_assert_held(&numaplace_task_table_lock);
	task_lock(p->task);
	if (p->state != NUMAPLACE_ENDED && p->want == NUMAPLACE_INSTALL)
		old = install(p);
	else if (p->state != NUMAPLACE_ENDED && p->want == NUMAPLACE_RESTORE)
		old = restore_policy(p);
	task_unlock(p->task);
	if (p->want != NUMAPLACE_UNSHARE)
		p->want = NUMAPLACE_KEEP;
	return old;
}
