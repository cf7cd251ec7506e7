/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps the threads of a process from running while its pages move. */
#ifndef _NUMAPLACE_PAUSE_H
#define _NUMAPLACE_PAUSE_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>

struct numaplace_threads;
struct task_struct;

enum numaplace_pause_mode {
	NUMAPLACE_PAUSE_AUTO,
	NUMAPLACE_PAUSE_ALWAYS,
	NUMAPLACE_PAUSE_NEVER,
};

/**
 * struct numaplace_pause - a pause of a process
 * @users: its owner, and each thread that was told to park and may not have come to it yet
 * @link: in the list of pauses that have ended and are still in use
 * @threads: of the process
 * @parked: one for each
 * @queue: where they wait
 * @over: set when they may resume
 * @limit: when they resume by themselves, by ktime_get_ns()
 * @begun: when the first may have stopped
 * @unpaused: threads that were to stop, and ran on nevertheless
 */
struct numaplace_pause {
	refcount_t users;
	struct list_head link;
	struct numaplace_threads *threads;
	struct numaplace_parked *parked;
	wait_queue_head_t queue;
	bool over;
	u64 limit, begun;
	unsigned int unpaused;
};

struct numaplace_pause *numaplace_pause_begin(struct task_struct *task, u32 max_us, u32 wait_us);
u64 numaplace_pause_end(struct numaplace_pause *p);
void numaplace_pause_exit(void);

#endif
