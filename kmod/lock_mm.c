// SPDX-License-Identifier: GPL-2.0-only
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/wait.h>

#include "lock_mm.h"

/* For how long the lock is only tried, and at which interval. */
#define TRY_NS 500000
#define TRY_US 50

/**
 * struct queuer - a thread that waits in the lock's queue for another
 * @mm: the address space
 * @err: of mmap_read_lock_killable()
 * @over: whether @err is set
 * @wait: where the other waits for @over
 * @gone: the thread runs no more text of the module, and does not use this structure
 */
struct queuer {
	struct mm_struct *mm;
	int err;
	bool over;
	wait_queue_head_t wait;
	struct completion gone;
};

static int wait_in_queue(void *data)
{
	struct queuer *q = data;

	allow_kernel_signal(SIGKILL);
	q->err = mmap_read_lock_killable(q->mm);
	if (!q->err)
		rwsem_release(&q->mm->mmap_lock.dep_map, _RET_IP_);
	WRITE_ONCE(q->over, true);
	wake_up(&q->wait);
	kthread_complete_and_exit(&q->gone, 0);
}

static bool is_to_end(const bool *cancelled, u64 deadline)
{
	return READ_ONCE(*cancelled) || ktime_get_ns() >= deadline;
}

/* As numaplace_lock_mm(), which has tried it; -ENOMEM without a thread. */
static int lock_in_turn(struct mm_struct *mm, const bool *cancelled, u64 deadline)
{
	struct queuer q = { .mm = mm };
	struct task_struct *task;

	init_waitqueue_head(&q.wait);
	init_completion(&q.gone);
	task = kthread_create(wait_in_queue, &q, "numaplace-lock");
	if (IS_ERR(task))
		return -ENOMEM;
	get_task_struct(task);
	wake_up_process(task);
	/* A signal before allow_kernel_signal() is lost: it is sent again. */
	while (!wait_event_idle_timeout(q.wait, READ_ONCE(q.over), 1))
		if (is_to_end(cancelled, deadline))
			send_sig(SIGKILL, task, 1);
	wait_for_completion(&q.gone);
	put_task_struct(task);
	if (!q.err)
		rwsem_acquire_read(&mm->mmap_lock.dep_map, 0, 1, _RET_IP_);
	return q.err;
}

/**
 * numaplace_lock_mm() - take the lock of an address space for reading
 * @mm: the address space
 * @cancelled: when set, the wait ends
 * @deadline: when to give up, by ktime_get_ns(), or U64_MAX
 *
 * The target may hold the lock for as long as it likes, as in a page fault that a program of the
 * user's serves, so that the wait has to end with the job. A try fails as long as anybody waits:
 * beside threads that map and unmap it never succeeds. A thread of the module's then queues, which
 * a signal ends: the kernel's workers get none.
 *
 * Return: whether it was taken; not if the job was cancelled.
 */
bool numaplace_lock_mm(struct mm_struct *mm, const bool *cancelled, u64 deadline)
{
	u64 tried_until = ktime_get_ns() + TRY_NS;

	while (!mmap_read_trylock(mm)) {
		if (is_to_end(cancelled, deadline))
			return false;
		if (ktime_get_ns() >= tried_until) {
			int err = lock_in_turn(mm, cancelled, deadline);

			if (err != -ENOMEM)
				return !err;
		}
		usleep_range_state(TRY_US, 2 * TRY_US, TASK_IDLE);
	}
	return true;
}
