// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bsearch.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/nodemask.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/user_namespace.h>

#include "target.h"

static bool both_have(const struct file *file, int cap)
{
	return file_ns_capable(file, &init_user_ns, cap) && capable(cap);
}

/**
 * numaplace_target_may() - whether the caller may act on tasks through a file
 * @file: the open file
 *
 * Requires the capabilities that move_pages(2) needs for a target of another user or
 * one that is not dumpable: ptrace_may_access(), which examines the target, is not
 * exported to modules. Both the credentials that opened the file and the caller's must
 * have them, so that a privileged program that is passed a descriptor cannot be made
 * to write to it.
 */
bool numaplace_target_may(const struct file *file)
{
	return both_have(file, CAP_SYS_NICE) && both_have(file, CAP_SYS_PTRACE);
}

/* In place of a main thread that has ended, with its reference. */
static struct task_struct *thread_that_runs_on(struct task_struct *task)
{
	struct task_struct *t, *found = NULL;

	rcu_read_lock();
	for_each_thread(task, t) {
		if (READ_ONCE(t->flags) & (PF_IO_WORKER | PF_EXITING))
			continue;
		found = get_task_struct(t);
		break;
	}
	rcu_read_unlock();
	put_task_struct(task);
	return found;
}

/**
 * numaplace_target_get() - look up a task by number
 * @nr: process or thread number in the caller's pid namespace
 * @process: another thread stands for a main thread that has ended
 *
 * Return: the task, to be released with put_task_struct(); -ESRCH if there is
 * none or it has ended, -EINVAL for a kernel thread.
 */
struct task_struct *numaplace_target_get(pid_t nr, bool process)
{
	struct pid *pid = find_get_pid(nr);
	struct task_struct *task = get_pid_task(pid, PIDTYPE_PID);
	unsigned int flags;

	put_pid(pid);
	if (task && process && (READ_ONCE(task->flags) & PF_EXITING))
		task = thread_that_runs_on(task);
	if (!task)
		return ERR_PTR(-ESRCH);
	flags = READ_ONCE(task->flags);
	if (flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING)) {
		put_task_struct(task);
		return ERR_PTR(flags & PF_EXITING ? -ESRCH : -EINVAL);
	}
	return task;
}

/* Whether a task's cpuset lets it use a node. */
static bool allows_node(struct task_struct *task, int nid)
{
	bool allowed;

	task_lock(task);
	allowed = node_isset(nid, task->mems_allowed);
	task_unlock(task);
	return allowed;
}

/* No mm: the main thread has exited. Another: a vforked child has executed another program. */
static bool may_have(struct task_struct *task, const struct mm_struct *mm)
{
	bool may;

	task_lock(task);
	may = !task->mm || task->mm == mm;
	task_unlock(task);
	return may;
}

/**
 * numaplace_target_recheck() - check whether pages of a process may be moved, or still may
 * @pid: of the process
 * @mm: its memory when the move began
 * @nid: the node that they go to
 *
 * Return: 0; -ESRCH if it has ended or runs another program, -ENODEV if the node has no memory any
 * more, -EACCES if its cpuset or that of the caller, who allocates them, does not allow the node.
 */
int numaplace_target_recheck(struct pid *pid, const struct mm_struct *mm, int nid)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_PID);
	int err = 0;

	if (!task)
		return -ESRCH;
	if (!may_have(task, mm))
		err = -ESRCH;
	else if (!node_state(nid, N_MEMORY))
		err = -ENODEV;
	else if (!allows_node(task, nid) || !allows_node(current, nid))
		err = -EACCES;
	put_task_struct(task);
	return err;
}

static unsigned int collect_threads(struct task_struct *task, struct numaplace_threads *threads,
				    unsigned int capacity)
{
	struct task_struct *t;
	unsigned int n = 0;

	rcu_read_lock();
	for_each_thread(task, t) {
		/* io_uring and vhost workers have no user mode, but vhost's run task works. */
		if (READ_ONCE(t->flags) & (PF_IO_WORKER | PF_EXITING))
			continue;
		if (n < capacity)
			threads->task[n] = get_task_struct(t);
		n++;
	}
	rcu_read_unlock();
	return n;
}

static int by_address(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/**
 * numaplace_target_threads() - the threads of a process at this moment
 * @task: any of its threads
 * @earlier: list of an earlier call, which the new list takes over, or NULL
 *
 * Return: the threads, or NULL without memory. Threads that are ending are
 * left out, so there may be none.
 */
struct numaplace_threads *numaplace_target_threads(struct task_struct *task,
						   struct numaplace_threads *earlier)
{
	unsigned int capacity = get_nr_threads(task) + 4;
	struct numaplace_threads *threads;
	unsigned int n;

	for (;;) {
		threads = kvmalloc(struct_size(threads, task, capacity), GFP_KERNEL);
		if (!threads)
			return NULL;
		n = collect_threads(task, threads, capacity);
		threads->n = min(n, capacity);
		threads->earlier = NULL;
		if (n <= capacity)
			break;
		numaplace_target_put_threads(threads);
		capacity = n + n / 4;
	}
	sort(threads->task, n, sizeof(threads->task[0]), by_address, NULL);
	threads->earlier = earlier;
	return threads;
}

/**
 * numaplace_target_has_seen() - whether a task is in a list of threads, or in an earlier one
 * @threads: the list, or NULL
 * @task: the task
 */
bool numaplace_target_has_seen(const struct numaplace_threads *threads, struct task_struct *task)
{
	for (; threads; threads = threads->earlier)
		if (bsearch(&task, threads->task, threads->n, sizeof(task), by_address))
			return true;
	return false;
}

/**
 * numaplace_target_put_threads() - release a list of threads
 * @threads: from numaplace_target_threads(), with the earlier lists, or NULL
 */
void numaplace_target_put_threads(struct numaplace_threads *threads)
{
	struct numaplace_threads *earlier;
	unsigned int i;

	for (; threads; threads = earlier) {
		earlier = threads->earlier;
		for (i = 0; i < threads->n; i++)
			put_task_struct(threads->task[i]);
		kvfree(threads);
	}
}
