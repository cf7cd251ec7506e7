// SPDX-License-Identifier: GPL-2.0-only
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "taskwork.h"

static void run_in_task(struct callback_head *head)
{
	struct numaplace_taskwork *work = container_of(head, struct numaplace_taskwork, head);

	work->run(work);
	complete(&work->done);
}

/**
 * numaplace_taskwork_start() - have a task run a function
 * @work: kept until it is done or cancelled
 * @task: held until then
 * @run: the function
 * @notify: TWA_SIGNAL also wakes a task that sleeps in a system call, which may
 *	then see EINTR; TWA_RESUME waits until it comes back by itself
 *
 * Return: 0, or -ESRCH if the task is too late in its exit.
 */
int numaplace_taskwork_start(struct numaplace_taskwork *work, struct task_struct *task,
			     void (*run)(struct numaplace_taskwork *work),
			     enum task_work_notify_mode notify)
{
	work->task = task;
	work->run = run;
	init_completion(&work->done);
	init_task_work(&work->head, run_in_task);
	return task_work_add(task, &work->head, notify);
}

/*
 * task_work_cancel() is not exported to modules. The list may be changed by
 * others only at its head and by cmpxchg; a task that takes the whole list to
 * run it passes through pi_lock first, so entries are stable under that lock.
 */
static bool unlink(struct task_struct *task, struct callback_head *head)
{
	struct callback_head **link = &task->task_works, *entry;
	unsigned long flags;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	entry = READ_ONCE(*link);
	while (entry) {
		if (entry != head) {
			link = &entry->next;
			entry = READ_ONCE(*link);
		} else if (try_cmpxchg(link, &entry, entry->next)) {
			break;
		}
	}
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
	return entry;
}

/**
 * numaplace_taskwork_is_over() - cancel a function unless the task is running it
 * @work: that was started
 *
 * Return: true if it has run or will not run; false if the task has dequeued it and
 * runs it after the task works before it.
 */
bool numaplace_taskwork_is_over(struct numaplace_taskwork *work)
{
	return unlink(work->task, &work->head) || completion_done(&work->done);
}

/**
 * numaplace_taskwork_exit() - wait until no task is in this module's functions
 *
 * A task that completed its work may still have to return through this module's code.
 */
void numaplace_taskwork_exit(void)
{
	synchronize_rcu_tasks();
}
