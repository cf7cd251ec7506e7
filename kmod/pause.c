// SPDX-License-Identifier: GPL-2.0-only
/*
 * While a process runs, every page that is unmapped costs an interrupt to the
 * CPUs it runs on; while it does not, none. So its threads are made to wait,
 * each on its way back to user mode. A thread may hold a lock there still (of
 * its virtual CPU, in KVM, or while it executes a program): whoever waits for
 * that lock waits for the pause, which ends by itself. Nothing here takes one.
 *
 * Threads that sleep are left to sleep: waking them would end their system
 * calls with EINTR, and they touch no page. One that wakes up meanwhile runs;
 * that costs time, not pages.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/delay.h>
#include <linux/slab.h>

#include "pause.h"
#include "stats.h"
#include "target.h"
#include "taskwork.h"

/* Most come at once, sooner than a sleep would end. */
#define SPIN_US		50
#define LOOK_US		20

/* How often a thread looks whether it has waited too long. */
#define LOOK_JIFFIES	2

struct numaplace_parked {
	struct numaplace_taskwork work;
	struct numaplace_pause *pause;
	bool started;
};

/* Killable, and not counted as load of the machine. Returns 0 if the pause is not over. */
static long wait_a_while(struct numaplace_pause *p)
{
	return ___wait_event(p->queue, ___wait_cond_timeout(READ_ONCE(p->over)),
			     (TASK_KILLABLE | TASK_NOLOAD), 0, LOOK_JIFFIES,
			     __ret = schedule_timeout(__ret));
}

/* Runs in the thread. Ends by itself when it takes too long or is killed. */
static void park(struct numaplace_taskwork *work)
{
	struct numaplace_parked *parked = container_of(work, struct numaplace_parked, work);
	struct numaplace_pause *p = parked->pause;
	long left = 0;

	if (current->flags & PF_EXITING)
		return;
	/* By the clock, as everything about a pause: ticks may come at another pace. */
	while (!left && ktime_get_ns() < p->limit)
		left = wait_a_while(p);
}

/* Whether a thread ever comes by user mode: a worker of the kernel in the process's name does not. */
static bool has_user_mode(const struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static void start_all(struct numaplace_pause *p)
{
	unsigned int i;

	for (i = 0; i < p->threads->n; i++) {
		struct task_struct *task = p->threads->task[i];

		p->parked[i].pause = p;
		if (task_is_running(task) && has_user_mode(task))
			p->parked[i].started = !numaplace_taskwork_start(&p->parked[i].work, task,
									 park, TWA_RESUME);
	}
}

/* How many that are to be parked are on a CPU still, which would be interrupted for their pages. */
static unsigned int count_running(const struct numaplace_pause *p)
{
	unsigned int i, n = 0;

	for (i = 0; i < p->threads->n; i++)
		n += p->parked[i].started && READ_ONCE(p->threads->task[i]->on_cpu);
	return n;
}

static bool any_started(const struct numaplace_pause *p)
{
	unsigned int i;

	for (i = 0; i < p->threads->n; i++)
		if (p->parked[i].started)
			return true;
	return false;
}

/**
 * numaplace_pause_begin() - stop the threads of a process that run
 * @p: the pause; numaplace_pause_end() must follow
 * @task: one of its threads
 * @max_us: for how long, about
 * @patience_us: how long to wait at most for the threads to stop
 *
 * Without memory the process is not paused. A thread that is long in a system
 * call may not be stopped, nor are threads that are born meanwhile.
 */
void numaplace_pause_begin(struct numaplace_pause *p, struct task_struct *task, u32 max_us,
			   u32 patience_us)
{
	u64 patience = (u64)patience_us * NSEC_PER_USEC, waited;

	memset(p, 0, sizeof(*p));
	init_waitqueue_head(&p->queue);
	p->threads = numaplace_target_threads(task, NULL);
	if (!p->threads)
		return;
	p->parked = kvcalloc(max(p->threads->n, 1U), sizeof(*p->parked), GFP_KERNEL);
	if (!p->parked) {
		numaplace_target_put_threads(p->threads);
		p->threads = NULL;
		return;
	}
	p->begun = ktime_get_ns();
	p->limit = p->begun + 2ULL * max_us * NSEC_PER_USEC;
	start_all(p);
	/* By the clock: a short sleep may take long. */
	while (count_running(p) && (waited = ktime_get_ns() - p->begun) < patience) {
		if (waited < SPIN_US * NSEC_PER_USEC)
			cpu_relax();
		else
			usleep_range(LOOK_US, 2 * LOOK_US);
	}
	p->unpaused = count_running(p);
	numaplace_stats_add(NUMAPLACE_STAT_unpaused, p->unpaused);
}

/**
 * numaplace_pause_end() - let the threads go on
 * @p: the pause
 *
 * Return: for how many microseconds they were stopped, 0 if none was.
 */
u64 numaplace_pause_end(struct numaplace_pause *p)
{
	u64 us = 0;
	unsigned int i;

	if (!p->threads)
		return 0;
	WRITE_ONCE(p->over, true);
	wake_up_all(&p->queue);
	if (any_started(p)) {
		us = div_u64(ktime_get_ns() - p->begun, NSEC_PER_USEC);
		numaplace_stats_add(NUMAPLACE_STAT_pauses, 1);
	}
	for (i = 0; i < p->threads->n; i++)
		if (p->parked[i].started)
			numaplace_taskwork_cancel(&p->parked[i].work);
	kvfree(p->parked);
	numaplace_target_put_threads(p->threads);
	return us;
}
