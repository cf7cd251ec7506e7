/* SPDX-License-Identifier: GPL-2.0-only */
/* The order of the writes that act on tasks. */
#ifndef _NUMAPLACE_CALL_H
#define _NUMAPLACE_CALL_H

#include <linux/list.h>
#include <linux/types.h>

struct task_struct;

/**
 * struct numaplace_call - a write that places threads
 * @link: in the list of those that have begun; under numaplace_task_table_lock, as @overtaken
 * @task: the process or the thread
 * @nr: its number; U64_MAX, which no record has, until it begins
 * @overtaken: a later write has restored a thread of the process
 */
struct numaplace_call {
	struct list_head link;
	struct task_struct *task;
	u64 nr;
	bool overtaken;
};

u64 numaplace_call_next(void);
bool numaplace_call_begin(struct numaplace_call *call);
void numaplace_call_end(struct numaplace_call *call);
void numaplace_call_overtake(struct task_struct *task);

#endif
