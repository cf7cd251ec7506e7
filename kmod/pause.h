/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps the threads of a process from running while its pages move. */
#ifndef _NUMAPLACE_PAUSE_H
#define _NUMAPLACE_PAUSE_H

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
 * @threads: of the process, or NULL if it is not paused
 * @parked: one for each
 * @queue: where they wait
 * @over: set when they may resume
 * @limit: when they resume by themselves, by ktime_get_ns()
 * @begun: when the first may have stopped
 * @unpaused: threads that were to stop, and ran on nevertheless
 */
struct numaplace_pause {
	struct numaplace_threads *threads;
	struct numaplace_parked *parked;
	wait_queue_head_t queue;
	bool over;
	u64 limit, begun;
	unsigned int unpaused;
};

void numaplace_pause_begin(struct numaplace_pause *p, struct task_struct *task, u32 max_us,
			   u32 wait_us);
u64 numaplace_pause_end(struct numaplace_pause *p);

#endif
