// SPDX-License-Identifier: GPL-2.0-only
/*
 * No function of the kernel that makes or releases a memory policy is there
 * for modules, and only a task itself may change its own. So a policy comes
 * from a process that has set it on itself; a task puts it in its own place
 * when it runs our function; and one that nobody wants any more is given to a
 * kernel thread that ends, since the kernel releases the policy of a task then.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mempolicy.h>
#include <linux/nodemask.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>

#include "mempolicy.h"
#include "taskwork.h"

/* How long a task may take to come by, before it is called busy. */
#define PATIENCE_MS	5000
#define LOOK_MS		10

struct swap {
	struct numaplace_taskwork work;
	struct mempolicy *expected;
	struct mempolicy *policy;
	struct mempolicy *old;
	bool swapped;
};

static void swap_policy(struct swap *s, struct task_struct *task)
{
	task_lock(task);
	if (task->mempolicy == s->expected) {
		s->old = task->mempolicy;
		task->mempolicy = s->policy;
		/* Where the next interleaved page goes: the first node again. */
		task->il_prev = MAX_NUMNODES - 1;
		s->swapped = true;
	}
	task_unlock(task);
}

static void swap_in_task(struct numaplace_taskwork *work)
{
	swap_policy(container_of(work, struct swap, work), current);
}

static void do_nothing(struct numaplace_taskwork *work)
{
}

static bool is_stopped(struct task_struct *task)
{
	return READ_ONCE(task->__state) & (__TASK_STOPPED | __TASK_TRACED | TASK_FROZEN);
}

/*
 * Waits for a task to run what was started in it. A stopped task may not for
 * hours: -EAGAIN says that it is stopped and will not run it any more.
 */
static int wait_for(struct swap *s, bool patient)
{
	unsigned int waited;

	for (waited = 0; patient || waited < PATIENCE_MS; waited += LOOK_MS) {
		if (wait_for_completion_timeout(&s->work.done, msecs_to_jiffies(LOOK_MS)))
			return 0;
		if (is_stopped(s->work.task))
			return numaplace_taskwork_cancel(&s->work) ? -EAGAIN : 0;
		if (!patient && fatal_signal_pending(current))
			return numaplace_taskwork_cancel(&s->work) ? -EINTR : 0;
	}
	return numaplace_taskwork_cancel(&s->work) ? -EBUSY : 0;
}

/*
 * The policy was changed from outside. The task may have been about to use the
 * old one, unless it is stopped now, ends, or has been to the edge of user mode.
 */
static void wait_until_unused(struct swap *s)
{
	smp_mb(); /* between the change of the policy and the look at the state */
	while (!is_stopped(s->work.task)) {
		if (numaplace_taskwork_start(&s->work, s->work.task, do_nothing, TWA_SIGNAL))
			return;
		if (wait_for(s, true) != -EAGAIN)
			return;
	}
}

/**
 * numaplace_mempolicy_swap() - replace the memory policy of a task
 * @task: the task; held
 * @expected: the policy that it must have, or nothing is done
 * @policy: the new policy; the caller's reference goes over to the task
 * @old: set to the policy that was replaced; the task's reference goes over to
 *	the caller
 * @patient: wait as long as it takes, whatever signals come
 *
 * Policies may be NULL, for the default.
 *
 * Return: 0; -ESTALE if the task has another policy; -ESRCH if it has ended;
 * -EBUSY if it did not come by in time; -EINTR if the caller was killed. Unless
 * 0 is returned no reference has changed hands.
 */
int numaplace_mempolicy_swap(struct task_struct *task, struct mempolicy *expected,
			     struct mempolicy *policy, struct mempolicy **old, bool patient)
{
	struct swap s = { .expected = expected, .policy = policy };
	int err;

	if (task == current) {
		swap_policy(&s, task);
	} else {
		err = numaplace_taskwork_start(&s.work, task, swap_in_task, TWA_SIGNAL);
		if (!err)
			err = wait_for(&s, patient);
		if (err == -EAGAIN) {
			swap_policy(&s, task);
			wait_until_unused(&s);
			err = 0;
		}
		if (err)
			return err;
	}
	if (!s.swapped)
		return -ESTALE;
	*old = s.old;
	return 0;
}

/**
 * numaplace_mempolicy_get() - the memory policy of a task
 * @task: the task
 *
 * Return: the policy with a reference, or NULL for the default.
 */
struct mempolicy *numaplace_mempolicy_get(struct task_struct *task)
{
	struct mempolicy *policy;

	task_lock(task);
	policy = task->mempolicy;
	mpol_get(policy);
	task_unlock(task);
	return policy;
}

/* The kernel leaves the nodes of a policy that has none as the memory was. */
static nodemask_t nodes_of(const struct mempolicy *policy)
{
	return policy->mode == MPOL_LOCAL ? NODE_MASK_NONE : policy->nodes;
}

/**
 * numaplace_mempolicy_check() - whether a task's cpuset allows a memory policy
 * @task: the task
 * @policy: the policy, or NULL
 *
 * Return: 0, or -EACCES if the policy names a node that the task may not use.
 */
int numaplace_mempolicy_check(struct task_struct *task, struct mempolicy *policy)
{
	nodemask_t nodes;
	bool allowed;

	if (!policy)
		return 0;
	nodes = nodes_of(policy);
	task_lock(task);
	allowed = nodes_subset(nodes, task->mems_allowed);
	task_unlock(task);
	return allowed ? 0 : -EACCES;
}

static int never_run(void *unused)
{
	return 0;
}

struct burial {
	struct work_struct work;
	struct mempolicy *policy;
};

static void bury(struct work_struct *work)
{
	struct burial *b = container_of(work, struct burial, work);
	struct task_struct *heir;

	while (IS_ERR(heir = kthread_create(never_run, NULL, "numaplace-policy")))
		msleep(LOOK_MS);
	task_lock(heir);
	swap(heir->mempolicy, b->policy);
	task_unlock(heir);
	/* Stopped before it was ever woken, it ends without a step of ours. */
	kthread_stop(heir);
	WARN_ON_ONCE(b->policy);
}

/**
 * numaplace_mempolicy_put() - give up a reference to a memory policy
 * @policy: the policy, or NULL
 *
 * May sleep.
 */
void numaplace_mempolicy_put(struct mempolicy *policy)
{
	struct burial b = { .policy = policy };

	if (!policy || atomic_add_unless(&policy->refcnt, -1, 1))
		return;
	/* By a worker, since who has been killed cannot make a thread. */
	INIT_WORK_ONSTACK(&b.work, bury);
	queue_work(system_unbound_wq, &b.work);
	flush_work(&b.work);
	destroy_work_on_stack(&b.work);
}

/**
 * numaplace_mempolicy_show() - print a memory policy as mode:nodes, as tmpfs takes it
 * @m: where to
 * @policy: the policy, or NULL
 */
void numaplace_mempolicy_show(struct seq_file *m, struct mempolicy *policy)
{
	static const char *const modes[] = {
		[MPOL_DEFAULT] = "default",
		[MPOL_PREFERRED] = "preferred",
		[MPOL_BIND] = "bind",
		[MPOL_INTERLEAVE] = "interleave",
		[MPOL_LOCAL] = "local",
		[MPOL_PREFERRED_MANY] = "preferred-many",
		[MPOL_WEIGHTED_INTERLEAVE] = "weighted-interleave",
	};
	unsigned int mode = policy ? policy->mode : MPOL_DEFAULT;
	nodemask_t nodes = policy ? nodes_of(policy) : NODE_MASK_NONE;

	if (mode < ARRAY_SIZE(modes) && modes[mode])
		seq_puts(m, modes[mode]);
	else
		seq_printf(m, "mode%u", mode);
	if (policy && policy->flags & MPOL_F_STATIC_NODES)
		seq_puts(m, "=static");
	else if (policy && policy->flags & MPOL_F_RELATIVE_NODES)
		seq_puts(m, "=relative");
	if (!nodes_empty(nodes))
		seq_printf(m, ":%*pbl", nodemask_pr_args(&nodes));
}
