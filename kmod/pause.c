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
 *
 * A thread that has dequeued the task work runs it after those before it, which may
 * sleep for as long as the thread's peer likes, as in the release of a socket. A pause
 * that ends does not wait for it: the last of them releases the pause.
 */
#include <linux/atomic.h>
#include <linux/hrtimer.h>
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

/* At removal: how often to log the threads that are waited for. */
#define REPORT_S 5

/* Pauses that are not released yet, and of these the ones that have ended. */
static atomic_t unreleased = ATOMIC_INIT(0);
static LIST_HEAD(left);
static DEFINE_SPINLOCK(left_lock);
static DECLARE_WAIT_QUEUE_HEAD(left_queue);

struct numaplace_parked {
	struct numaplace_taskwork work;
	struct numaplace_pause *pause;
	bool started;
};

/*
 * Runs in the thread. Ends by itself when it takes too long or is killed. Killable, and not
 * counted as load of the machine. By ktime, as all times of a pause.
 */
static void park(struct numaplace_taskwork *work)
{
	struct numaplace_parked *parked = container_of(work, struct numaplace_parked, work);
	struct numaplace_pause *p = parked->pause;
	ktime_t limit = ns_to_ktime(p->limit);
	bool late = false;

	if (current->flags & PF_EXITING)
		return;
	(void)___wait_event(p->queue, READ_ONCE(p->over) || late, (TASK_KILLABLE | TASK_NOLOAD), 0,
			    0, late = !schedule_hrtimeout(&limit, HRTIMER_MODE_ABS));
}

static void pause_put(struct numaplace_pause *p)
{
	if (!refcount_dec_and_test(&p->users))
		return;
	spin_lock(&left_lock);
	list_del(&p->link);
	spin_unlock(&left_lock);
	kvfree(p->parked);
	numaplace_target_put_threads(p->threads);
	kfree(p);
	/* Last: from here on, where nothing sleeps, the module may be on its way out. */
	if (atomic_dec_and_test(&unreleased))
		wake_up_all(&left_queue);
}

static void release(struct numaplace_taskwork *work)
{
	pause_put(container_of(work, struct numaplace_parked, work)->pause);
}

/* Whether a thread ever returns to user mode: kernel workers of the process do not. */
static bool has_user_mode(const struct task_struct *task)
{
	return !(READ_ONCE(task->flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static void start_all(struct numaplace_pause *p)
{
	unsigned int i;

	for (i = 0; i < p->threads->n; i++) {
		struct task_struct *task = p->threads->task[i];
		struct numaplace_parked *parked = &p->parked[i];

		parked->pause = p;
		parked->work.release = release;
		if (!task_is_running(task) || !has_user_mode(task))
			continue;
		refcount_inc(&p->users);
		parked->started = !numaplace_taskwork_start(&parked->work, task, park, TWA_RESUME);
		/* Not the last: the owner has one. */
		if (!parked->started)
			refcount_dec(&p->users);
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

/* NULL without memory. */
static struct numaplace_pause *pause_new(struct task_struct *task)
{
	struct numaplace_pause *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	refcount_set(&p->users, 1);
	INIT_LIST_HEAD(&p->link);
	init_waitqueue_head(&p->queue);
	p->threads = numaplace_target_threads(task, NULL);
	if (!p->threads)
		goto free_pause;
	p->parked = kvcalloc(max(p->threads->n, 1U), sizeof(*p->parked), GFP_KERNEL);
	if (!p->parked)
		goto put_threads;
	atomic_inc(&unreleased);
	return p;

put_threads:
	numaplace_target_put_threads(p->threads);
free_pause:
	kfree(p);
	return NULL;
}

/**
 * numaplace_pause_begin() - stop the threads of a process that run
 * @task: one of its threads
 * @max_us: for how long, about
 * @wait_us: how long to wait at most for the threads to stop
 *
 * A thread in a long system call may not be stopped, nor are threads that are forked
 * meanwhile.
 *
 * Return: the pause, which numaplace_pause_end() ends; or NULL where there is no memory
 * for it: the process is not paused.
 */
struct numaplace_pause *numaplace_pause_begin(struct task_struct *task, u32 max_us, u32 wait_us)
{
	struct numaplace_pause *p = pause_new(task);
	u64 wait = (u64)wait_us * NSEC_PER_USEC, waited;

	if (!p)
		return NULL;
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
	return p;
}

/**
 * numaplace_pause_end() - resume the threads
 * @p: the pause, or NULL
 *
 * Return: for how many microseconds they were stopped, 0 if none was.
 */
u64 numaplace_pause_end(struct numaplace_pause *p)
{
	u64 us = 0;
	unsigned int i;

	if (!p)
		return 0;
	WRITE_ONCE(p->over, true);
	wake_up_all(&p->queue);
	if (any_started(p)) {
		us = div_u64(ktime_get_ns() - p->begun, NSEC_PER_USEC);
		numaplace_stats_add(NUMAPLACE_STAT_pauses, 1);
	}
	spin_lock(&left_lock);
	list_add(&p->link, &left);
	spin_unlock(&left_lock);
	for (i = 0; i < p->threads->n; i++)
		if (p->parked[i].started && numaplace_taskwork_cancel(&p->parked[i].work)) {
			/* Not the last: the owner's is dropped below. */
			p->parked[i].started = false;
			refcount_dec(&p->users);
		}
	pause_put(p);
	return us;
}

static void report_left(void)
{
	struct numaplace_pause *p;
	unsigned int i;

	spin_lock(&left_lock);
	list_for_each_entry(p, &left, link) {
		for (i = 0; i < p->threads->n; i++)
			if (p->parked[i].started && !completion_done(&p->parked[i].work.done))
				pr_notice("rmmod waits for task %d (%s) to return to user mode\n",
					  task_pid_nr(p->threads->task[i]),
					  p->threads->task[i]->comm);
	}
	spin_unlock(&left_lock);
}

/**
 * numaplace_pause_exit() - wait for threads that have not come to their task work yet
 *
 * There is no job any more. The code has to stay for them, so that nothing ends the wait.
 */
void numaplace_pause_exit(void)
{
	while (!wait_event_idle_timeout(left_queue, !atomic_read(&unreleased), REPORT_S * HZ))
		report_left();
}
