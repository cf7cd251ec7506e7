/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a function in another task, and can cancel it. */
#ifndef _NUMAPLACE_TASKWORK_H
#define _NUMAPLACE_TASKWORK_H

#include <linux/completion.h>
#include <linux/task_work.h>

/**
 * struct numaplace_taskwork - a function to run in a task on its way to user mode
 * @head: for the kernel
 * @task: the task that runs it
 * @run: the function
 * @done: completed after it ran
 */
struct numaplace_taskwork {
	struct callback_head head;
	struct task_struct *task;
	void (*run)(struct numaplace_taskwork *work);
	struct completion done;
};

int numaplace_taskwork_start(struct numaplace_taskwork *work, struct task_struct *task,
			     void (*run)(struct numaplace_taskwork *work),
			     enum task_work_notify_mode notify);
bool numaplace_taskwork_is_over(struct numaplace_taskwork *work);
void numaplace_taskwork_exit(void);

#endif
