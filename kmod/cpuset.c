// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel exports no function to modules that returns a cpuset's CPUs. They are
 * read from the control group's file cpuset.cpus.effective, through a private
 * mount, which does not depend on the mounts of user space.
 */
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/path.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "cpuset.h"
#include "task_table.h"

#define FILE_NAME "/cpuset.cpus.effective"

/* How often a cpuset may change while CPUs are set before it is left to the next change. */
#define TRIES 8

static struct vfsmount *groups;

/* Too large for the stack; used under numaplace_task_table_mutex only. */
static struct cpumask limit, want;

/**
 * numaplace_cpuset_read_task() - the CPUs that a task may use now
 * @task: the task
 * @cpus: set to them
 */
void numaplace_cpuset_read_task(struct task_struct *task, struct cpumask *cpus)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	cpumask_copy(cpus, &task->cpus_mask);
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
}

/* The task's control group that has a cpuset, with a reference; NULL for the root's. */
static struct cgroup *group_of(struct task_struct *task)
{
	struct cgroup *group = NULL;

#ifdef CONFIG_CPUSETS
	struct cgroup_subsys_state *css;

	rcu_read_lock();
	css = task_css(task, cpuset_cgrp_id);
	if (css->parent && cgroup_tryget(css->cgroup))
		group = css->cgroup;
	rcu_read_unlock();
#endif
	return group;
}

/* The file as text, in a page, which it does not fill. */
static int read_file(const char *name, char *text)
{
	/* Not mnt_root: that is the root of the module loader's cgroup namespace. */
	struct path root = { .mnt = groups, .dentry = groups->mnt_sb->s_root };
	struct file *file = file_open_root(&root, name, O_RDONLY, 0);
	ssize_t n;
	loff_t pos = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	n = kernel_read(file, text, PAGE_SIZE - 1, &pos);
	fput(file);
	if (n <= 0)
		return n ? n : -EIO;
	/* Cut off, perhaps within a number, which then is that of another CPU. */
	if (n == PAGE_SIZE - 1)
		return -EFBIG;
	text[n] = '\0';
	return 0;
}

static int read_group(struct cgroup *group, struct cpumask *cpus)
{
	char *text = (char *)__get_free_page(GFP_KERNEL);
	int n, err = -ENOMEM;

	if (!text)
		return err;
	n = cgroup_path(group, text, PAGE_SIZE - sizeof(FILE_NAME));
	err = -ENAMETOOLONG;
	if (n < 0 || n >= PAGE_SIZE - sizeof(FILE_NAME))
		goto free;
	strcat(text, FILE_NAME);
	err = read_file(text, text);
	if (!err)
		err = cpulist_parse(strim(text), cpus);
free:
	free_page((unsigned long)text);
	return err;
}

/**
 * numaplace_cpuset_read() - the CPUs that a task's cpuset lets it use
 * @task: the task
 * @cpus: set to them
 *
 * Return: false where that cannot be known: there is no cgroup2, cpusets are in a
 * hierarchy of version 1, or the list is longer than a page.
 */
bool numaplace_cpuset_read(struct task_struct *task, struct cpumask *cpus)
{
	struct cgroup *group = group_of(task);
	bool known = true;

	if (!group)
		cpumask_copy(cpus, cpu_possible_mask);
	else
		known = groups && group->root == &cgrp_dfl_root && !read_group(group, cpus);
	if (group)
		cgroup_put(group);
	return known;
}

/**
 * numaplace_cpuset_set_cpus() - set the CPUs that a task may use, within its cpuset
 * @task: the task
 * @cpus: the CPUs
 *
 * Return: 0; -EINVAL if none of the CPUs is online and in the cpuset.
 */
int numaplace_cpuset_set_cpus(struct task_struct *task, const struct cpumask *cpus)
{
	unsigned int try;
	int err;

	lockdep_assert_held(&numaplace_task_table_mutex);
	if (!numaplace_cpuset_read(task, &limit))
		return set_cpus_allowed_ptr(task, cpus);
	for (try = 0; try < TRIES; try++) {
		if (!cpumask_and(&want, cpus, &limit))
			return -EINVAL;
		err = set_cpus_allowed_ptr(task, &want);
		/* The cpuset may have been changed, and its tasks, just before this one was set. */
		if (err || !numaplace_cpuset_read(task, &limit) || cpumask_subset(&want, &limit))
			return err;
	}
	return 0;
}

/**
 * numaplace_cpuset_init() - mount the control groups privately
 *
 * Without cgroup2 no cpuset is known.
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_cpuset_init(void)
{
	/* Never a module, so there is no reference to give back. */
	struct file_system_type *type = get_fs_type("cgroup2");
	int err;

	groups = type ? kern_mount(type) : NULL;
	if (!IS_ERR(groups))
		return 0;
	err = PTR_ERR(groups);
	groups = NULL;
	return err == -ENOMEM ? err : 0;
}

/**
 * numaplace_cpuset_exit() - undo numaplace_cpuset_init()
 */
void numaplace_cpuset_exit(void)
{
	if (groups)
		kern_unmount(groups);
}
