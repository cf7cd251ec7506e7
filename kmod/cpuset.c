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

/* The task's cpuset, with a reference; NULL for the root's. */
static struct cgroup_subsys_state *cpuset_of(struct task_struct *task)
{
	struct cgroup_subsys_state *cpuset = NULL;

#ifdef CONFIG_CPUSETS
	rcu_read_lock();
	cpuset = task_css(task, cpuset_cgrp_id);
	if (!cpuset->parent || !css_tryget(cpuset))
		cpuset = NULL;
	rcu_read_unlock();
#endif
	return cpuset;
}

static struct file *open_file(struct cgroup *group, char *name)
{
	/* Not mnt_root: that is the root of the module loader's cgroup namespace. */
	struct path root = { .mnt = groups, .dentry = groups->mnt_sb->s_root };
	int n = cgroup_path(group, name, PAGE_SIZE - sizeof(FILE_NAME));

	if (n < 0 || n >= PAGE_SIZE - sizeof(FILE_NAME))
		return ERR_PTR(-ENAMETOOLONG);
	strcat(name, FILE_NAME);
	return file_open_root(&root, name, O_RDONLY, 0);
}

/* NULL without memory, or where the cpuset has no such file any more. */
static struct file *file_of(struct cgroup_subsys_state *cpuset, char *name)
{
	struct opened *one;

	list_for_each_entry(one, &opened, link)
		if (one->cpuset == cpuset)
			return one->file;
	one = kmalloc(sizeof(*one), GFP_KERNEL);
	if (!one)
		return NULL;
	one->file = open_file(cpuset->cgroup, name);
	if (IS_ERR(one->file)) {
		kfree(one);
		return NULL;
	}
	css_get(cpuset);
	one->cpuset = cpuset;
	list_add(&one->link, &opened);
	return one->file;
}

static bool read_cpuset(struct cgroup_subsys_state *cpuset, struct cpumask *cpus)
{
	char *text = (char *)__get_free_page(GFP_KERNEL);
	struct file *file = text ? file_of(cpuset, text) : NULL;
	ssize_t n = 0;
	loff_t pos = 0;
	bool known;

	if (file)
		n = kernel_read(file, text, PAGE_SIZE - 1, &pos);
	/* A full page is cut off, perhaps within a number, which then is that of another CPU. */
	known = n > 0 && n < PAGE_SIZE - 1;
	if (known) {
		text[n] = '\0';
		known = !cpulist_parse(strim(text), cpus);
	}
	free_page((unsigned long)text);
	return known;
}

/**
 * numaplace_cpuset_read() - the CPUs that a task's cpuset lets it use
 * @task: the task
 * @cpus: set to them
 *
 * The cpuset's file stays open until numaplace_cpuset_close().
 *
 * Return: false where that cannot be known: there is no cgroup2, cpusets are in a
 * hierarchy of version 1, or the list is longer than a page.
 */
bool numaplace_cpuset_read(struct task_struct *task, struct cpumask *cpus)
{
	struct cgroup_subsys_state *cpuset = cpuset_of(task);
	bool known;

	lockdep_assert_held(&numaplace_task_table_mutex);
	if (!cpuset) {
		cpumask_copy(cpus, cpu_possible_mask);
		return true;
	}
	known = groups && cpuset->cgroup->root == &cgrp_dfl_root && read_cpuset(cpuset, cpus);
	css_put(cpuset);
	return known;
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
