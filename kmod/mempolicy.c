// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel exports no function to modules that creates or frees a memory policy,
 * but tmpfs does both: an instance with mpol= creates a policy of its own, and frees
 * the one that it has when it is destroyed. So policies are created and freed
 * through a private tmpfs that is never attached to a mount point.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/llist.h>
#include <linux/delay.h>
#include <linux/mempolicy.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/shmem_fs.h>
#include <linux/workqueue.h>

#include "mempolicy.h"

/* Interval of retries where an allocation must succeed. */
#define RETRY_MS 10

static struct file_system_type *tmpfs;

static struct workqueue_struct *free_queue;

static void free_all(struct work_struct *work);
static DECLARE_WORK(free_work, free_all);
static LLIST_HEAD(to_free);

/* The contents of a released policy are not used any more: the list node overlays w. */
static struct llist_node *node_of(struct mempolicy *policy)
{
	BUILD_BUG_ON(sizeof(policy->w) < sizeof(struct llist_node));
	return (struct llist_node *)&policy->w;
}

static struct mempolicy *policy_of(struct llist_node *node)
{
	return (struct mempolicy *)((char *)node - offsetof(struct mempolicy, w));
}

/* Creates a tmpfs, swaps its policy with @policy and destroys it. Returns the former policy. */
static struct mempolicy *exchange(struct mempolicy *policy)
{
	char local[] = "local";
	struct fs_parameter mpol = {
		.key = "mpol", .type = fs_value_is_string, .string = local, .size = strlen(local)
	};
	struct mempolicy *former = NULL;
	struct fs_context *fc;
	int err;

	fc = fs_context_for_mount(tmpfs, SB_KERNMOUNT);
	if (IS_ERR(fc))
		return ERR_CAST(fc);
	err = policy ? 0 : vfs_parse_fs_param(fc, &mpol);
	if (!err)
		err = vfs_get_tree(fc);
	if (!err) {
		struct shmem_sb_info *info = fc->root->d_sb->s_fs_info;

		swap(info->mpol, policy);
		former = policy;
		up_write(&fc->root->d_sb->s_umount);
	}
	put_fs_context(fc);
	return err ? ERR_PTR(err) : former;
}

static void free_all(struct work_struct *work)
{
	struct llist_node *node, *next;

	llist_for_each_safe(node, next, llist_del_all(&to_free))
		while (IS_ERR(exchange(policy_of(node))))
			msleep(RETRY_MS);
}

/**
 * numaplace_mempolicy_init() - get ready to make and release policies
 *
 * Return: 0, -ENODEV without tmpfs, or -ENOMEM.
 */
int numaplace_mempolicy_init(void)
{
	/* Never a module, so there is no reference to give back. */
	tmpfs = get_fs_type("tmpfs");
	if (!tmpfs)
		return -ENODEV;
	free_queue = alloc_workqueue("numaplace-policies", WQ_UNBOUND, 1);
	return free_queue ? 0 : -ENOMEM;
}

/**
 * numaplace_mempolicy_exit() - wait until released policies are freed
 */
void numaplace_mempolicy_exit(void)
{
	/* Queued work is done first. */
	destroy_workqueue(free_queue);
}

/**
 * numaplace_mempolicy_copy() - make a memory policy like another
 * @policy: the other, or NULL
 *
 * The kernel changes the policy of a task in place when its cpuset changes, so
 * no two tasks may have the same.
 *
 * Return: the policy, with a reference; NULL for NULL, or an error pointer.
 */
struct mempolicy *numaplace_mempolicy_copy(const struct mempolicy *policy)
{
	struct mempolicy *copy;

	if (!policy)
		return NULL;
	copy = exchange(NULL);
	if (IS_ERR_OR_NULL(copy))
		return copy ? copy : ERR_PTR(-ENOMEM);
	copy->mode = policy->mode;
	copy->flags = policy->flags;
	copy->nodes = policy->nodes;
	copy->home_node = policy->home_node;
	copy->w = policy->w;
	return copy;
}

/**
 * numaplace_mempolicy_fit() - make a policy ready for a task
 * @policy: not in use yet, or NULL
 * @task: the task, locked with task_lock()
 *
 * Return: 0, or -EACCES if the policy names a node that the task may not use.
 */
int numaplace_mempolicy_fit(struct mempolicy *policy, const struct task_struct *task)
{
	nodemask_t nodes = numaplace_mempolicy_nodes(policy);

	if (!nodes_subset(nodes, task->mems_allowed))
		return -EACCES;
	/* The kernel remaps its nodes from these when the task's cpuset changes. */
	if (policy && !(policy->flags & (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES)))
		policy->w.cpuset_mems_allowed = task->mems_allowed;
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
	nodes = numaplace_mempolicy_nodes(policy);
	task_lock(task);
	allowed = nodes_subset(nodes, task->mems_allowed);
	task_unlock(task);
	return allowed ? 0 : -EACCES;
}

/**
 * numaplace_mempolicy_put() - drop a reference to a memory policy
 * @policy: the policy, or NULL
 *
 * Never sleeps: a worker frees the policy after the last reference.
 */
void numaplace_mempolicy_put(struct mempolicy *policy)
{
	if (!policy || atomic_add_unless(&policy->refcnt, -1, 1))
		return;
	if (llist_add(node_of(policy), &to_free))
		queue_work(free_queue, &free_work);
}

/**
 * numaplace_mempolicy_show() - print a memory policy as mode:nodes, as tmpfs takes it
 * @m: where to
 * @policy: the policy, or NULL
 * @nodes: its nodes
 */
void numaplace_mempolicy_show(struct seq_file *m, const struct mempolicy *policy, nodemask_t nodes)
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
