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
#include <linux/list.h>
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

/*
 * The file of a cpuset that was read. A task of user space closes its files when it returns
 * to user mode, so that one for each read would be too many. Under numaplace_task_table_mutex.
 */
struct opened {
	struct list_head link;
	struct cgroup_subsys_state *cpuset;
	struct file *file;
};

static LIST_HEAD(opened);

/* Too large for the stack; used under numaplace_task_table_mutex only. */
static struct cpumask limit, want, offline;
static char text[PAGE_SIZE];

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

/* The task's cpuset, with a reference; NULL where the kernel has no cpusets. */
static struct cgroup_subsys_state *cpuset_of(struct task_struct *task)
{
#ifdef CONFIG_CPUSETS
	return task_get_css(task, cpuset_cgrp_id);
#else
	return NULL;
#endif
}

static struct file *open_file(struct cgroup *group)
{
	/* Not mnt_root: that is the root of the module loader's cgroup namespace. */
	struct path root = { .mnt = groups, .dentry = groups->mnt_sb->s_root };
	int n = cgroup_path(group, text, sizeof(text) - sizeof(FILE_NAME));

	if (n < 0 || n >= sizeof(text) - sizeof(FILE_NAME))
		return ERR_PTR(-ENAMETOOLONG);
	memcpy(text + n, FILE_NAME, sizeof(FILE_NAME));
	return file_open_root(&root, text, O_RDONLY, 0);
}

static struct file *file_of(struct cgroup_subsys_state *cpuset)
{
	struct opened *one;
	struct file *file;

	list_for_each_entry(one, &opened, link)
		if (one->cpuset == cpuset)
			return one->file;
	one = kmalloc(sizeof(*one), GFP_KERNEL);
	if (!one)
		return ERR_PTR(-ENOMEM);
	file = open_file(cpuset->cgroup);
	if (IS_ERR(file)) {
		kfree(one);
		return file;
	}
	css_get(cpuset);
	one->cpuset = cpuset;
	one->file = file;
	list_add(&one->link, &opened);
	return file;
}

static int read_cpuset(struct cgroup_subsys_state *cpuset, struct cpumask *cpus)
{
	struct file *file = file_of(cpuset);
	loff_t pos = 0;
	ssize_t n;

	n = IS_ERR(file) ? PTR_ERR(file) : kernel_read(file, text, sizeof(text) - 1, &pos);
	if (n == -ENOMEM)
		return n;
	/* A full page is cut off, perhaps within a number, which then is that of another CPU. */
	if (n <= 0 || n >= sizeof(text) - 1)
		return -EINVAL;
	text[n] = '\0';
	return cpulist_parse(strim(text), cpus) ? -EINVAL : 0;
}

/**
 * numaplace_cpuset_read() - the CPUs that a task's cpuset lets it use
 * @task: the task
 * @cpus: set to them
 *
 * The cpuset's file stays open until numaplace_cpuset_close().
 *
 * Return: 0; -EINVAL where that cannot be known: the cpuset is not the root's and in a
 * hierarchy of version 1, or its list is longer than a page; or -ENOMEM.
 */
int numaplace_cpuset_read(struct task_struct *task, struct cpumask *cpus)
{
	struct cgroup_subsys_state *cpuset = cpuset_of(task);
	bool root = !cpuset || !cpuset->parent;
	int err = -EINVAL;

	lockdep_assert_held(&numaplace_task_table_mutex);
	if (cpuset && groups && cpuset->cgroup->root == &cgrp_dfl_root)
		err = read_cpuset(cpuset, cpus);
	if (cpuset)
		css_put(cpuset);
	if (!root || err == -ENOMEM)
		return err;
	/* In version 1, or where cpusets are disabled, there are no partitions. */
	if (err) {
		cpumask_copy(cpus, cpu_possible_mask);
		return 0;
	}
	/* The file has no CPUs of partitions, nor those that are offline. */
	cpumask_andnot(&offline, cpu_possible_mask, cpu_active_mask);
	cpumask_or(cpus, cpus, &offline);
	return 0;
}

/**
 * numaplace_cpuset_close() - close the files of the cpusets that were read
 */
void numaplace_cpuset_close(void)
{
	struct opened *one, *next;

	lockdep_assert_held(&numaplace_task_table_mutex);
	list_for_each_entry_safe(one, next, &opened, link) {
		fput(one->file);
		css_put(one->cpuset);
		kfree(one);
	}
	INIT_LIST_HEAD(&opened);
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
	if (numaplace_cpuset_read(task, &limit))
		return set_cpus_allowed_ptr(task, cpus);
	for (try = 0; try < TRIES; try++) {
		if (!cpumask_and(&want, cpus, &limit))
			return -EINVAL;
		err = set_cpus_allowed_ptr(task, &want);
		/* The cpuset may have been changed, and its tasks, just before this one was set. */
		if (err || numaplace_cpuset_read(task, &limit) || cpumask_subset(&want, &limit))
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
