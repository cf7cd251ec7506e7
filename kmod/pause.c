// SPDX-License-Identifier: GPL-2.0-only
/*
 * While a process runs, every page that is unmapped costs a TLB shootdown IPI to
 * the CPUs it runs on; while it does not, none. So its threads are parked, each on
 * its way back to user mode. A parked thread may still hold a lock (of its vCPU in
 * KVM, or of execve): a task that waits for that lock waits for the pause, whose
 * length is limited. The code here takes no such lock.
 *
 * Sleeping threads are not woken: that would end their system calls with EINTR,
 * and they touch no page. A thread that wakes up during the pause runs; that costs
 * time, not pages.
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

/* Busy waiting first: most threads stop sooner than a sleep would end. */
#define SPIN_US 50
#define POLL_US 20

/* Interval at which a parked thread checks whether the limit has passed. */
#define POLL_JIFFIES 2

struct numaplace_parked {
	struct numaplace_taskwork work;
	struct numaplace_pause *pause;
	bool started;
};

/* Killable, and not counted as load of the machine. Returns 0 if the pause is not over. */
static long poll_over(struct numaplace_pause *p)
{
	return ___wait_event(p->queue, ___wait_cond_timeout(READ_ONCE(p->over)),
			     (TASK_KILLABLE | TASK_NOLOAD), 0, POLL_JIFFIES,
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
	/* By ktime, as all times of a pause: jiffies may advance at another rate. */
	while (!left && ktime_get_ns() < p->limit)
		left = poll_over(p);
}

/* Whether a thread ever returns to user mode: kernel workers of the process do not. */
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

/* Threads to be parked that are still on a CPU, which would get the shootdown IPIs. */
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
 * @wait_us: how long to wait at most for the threads to stop
 *
 * If there is no memory for it the process is not paused. A thread in a long system
 * call may not be stopped, nor are threads that are forked meanwhile.
 */
void numaplace_pause_begin(struct numaplace_pause *p, struct task_struct *task, u32 max_us,
			   u32 wait_us)
{
	u64 wait = (u64)wait_us * NSEC_PER_USEC, waited;

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
	while (count_running(p) && (waited = ktime_get_ns() - p->begun) < wait) {
		if (waited < SPIN_US * NSEC_PER_USEC)
			cpu_relax();
		else
			usleep_range(POLL_US, 2 * POLL_US);
	}
	p->unpaused = count_running(p);
	numaplace_stats_add(NUMAPLACE_STAT_unpaused, p->unpaused);
}

/**
 * numaplace_pause_end() - resume the threads
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
