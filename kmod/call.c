// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched/signal.h>

#include "call.h"
#include "task_table.h"

static LIST_HEAD(begun);

/**
 * numaplace_call_next() - a number for a write that begins to act on tasks
 */
u64 numaplace_call_next(void)
{
	static u64 last;

	lockdep_assert_held(&numaplace_task_table_mutex);
	return ++last;
}

/**
 * numaplace_call_begin() - begin to place threads, or go on with those that have started since
 * @call: the write
 *
 * Return: whether to place them.
 */
bool numaplace_call_begin(struct numaplace_call *call)
{
	bool overtaken;

	spin_lock(&numaplace_task_table_lock);
	if (list_empty(&call->link)) {
		call->nr = numaplace_call_next();
		list_add(&call->link, &begun);
	}
	overtaken = call->overtaken;
	spin_unlock(&numaplace_task_table_lock);
	return !overtaken;
}

/**
 * numaplace_call_end() - undo numaplace_call_begin()
 * @call: the write, which may not have begun
 */
void numaplace_call_end(struct numaplace_call *call)
{
	spin_lock(&numaplace_task_table_lock);
	list_del_init(&call->link);
	spin_unlock(&numaplace_task_table_lock);
}

/**
 * numaplace_call_overtake() - end the search of earlier writes for threads of a process
 * @task: a thread of it, which is restored
 *
 * A thread that has started meanwhile may have been restored too, and have no record any more.
 */
void numaplace_call_overtake(struct task_struct *task)
{
	struct numaplace_call *call;

	lockdep_assert_held(&numaplace_task_table_lock);
	list_for_each_entry(call, &begun, link)
		call->overtaken |= same_thread_group(call->task, task);
}
