/* SPDX-License-Identifier: GPL-2.0-only */
/* Task works that install or restore a memory policy and show a task outside of a fork. */
#ifndef _NUMAPLACE_POLICY_WORK_H
#define _NUMAPLACE_POLICY_WORK_H

#include <linux/jiffies.h>
#include <linux/types.h>
#include <linux/wait.h>

struct numaplace_placement;

/* Woken when a task work has run, or a record is gone. */
extern struct wait_queue_head numaplace_policy_work_queue;

int numaplace_policy_work_start(struct numaplace_placement *p, bool urgent);
bool numaplace_policy_work_check(struct numaplace_placement *p);
/* Until when a write that begins now waits for tasks: then it fails with -EBUSY. */
static inline unsigned long numaplace_policy_work_deadline(void)
{
	return jiffies + msecs_to_jiffies(5000);
}

int numaplace_policy_work_wait(u64 op, unsigned long deadline,
			       bool (*match)(const struct numaplace_placement *p, const void *data),
			       const void *data);
bool numaplace_policy_work_settle(struct numaplace_placement *p);
void numaplace_policy_work_todo(struct numaplace_placement *p);
void numaplace_policy_work_done(struct numaplace_placement *p);
void numaplace_policy_work_drop(struct numaplace_placement *p);
void numaplace_policy_work_abandon(struct numaplace_placement *p);
bool numaplace_policy_work_each(void (*act)(struct numaplace_placement *p));
bool numaplace_policy_work_any(void);
void numaplace_policy_work_report(void);

#endif
