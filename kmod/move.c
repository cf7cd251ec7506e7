// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/mmzone.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "batch.h"
#include "migrate.h"
#include "move.h"
#include "target.h"
#include "throttle.h"
#include "trace.h"

/*
 * The process: its structure and that of its address space at the time of the request are held,
 * not its pages.
 */
struct process {
	struct pid *pid;
	struct mm_struct *mm;
};

static int check_request(struct numaplace_move_request *r)
{
	int err = numaplace_throttle_check_range(r->start, r->end);

	if (err)
		return err;
	if (!r->max_stall_us)
		r->max_stall_us = NUMAPLACE_STALL_US;
	if (r->max_stall_us < NUMAPLACE_MIN_STALL_US || r->max_stall_us > NUMAPLACE_MAX_STALL_US)
		return -EINVAL;
	return 0;
}

static int hold_process(const struct numaplace_move_request *r, struct process *process)
{
	struct task_struct *task = numaplace_target_get(r->pid, true);
	struct mm_struct *mm;

	if (IS_ERR(task))
		return PTR_ERR(task);
	mm = get_task_mm(task);
	if (mm) {
		mmgrab(mm);
		mmput(mm);
	}
	process->mm = mm;
	process->pid = get_task_pid(task, PIDTYPE_TGID);
	put_task_struct(task);
	return mm ? numaplace_target_recheck(process->pid, mm, r->to) : -ESRCH;
}

static void drop_process(struct process *process)
{
	if (process->mm)
		mmdrop(process->mm);
	put_pid(process->pid);
}

/* How many pages may still move. */
static u64 pages_to_limit(const struct numaplace_move_request *r,
			  const struct numaplace_move_result *result)
{
	u64 moved = result->counts.status[NUMAPLACE_PAGE_moved];

	if (!r->limit)
		return U64_MAX;
	return r->limit > moved ? r->limit - moved : 0;
}

/* Finds and moves a batch. Returns 0, NUMAPLACE_MIGRATE_END, or -errno. */
static int move_next(const struct numaplace_move_request *r, const struct process *process,
		     struct numaplace_batch *b, unsigned long *pos)
{
	unsigned long end = r->end ? r->end : ULONG_MAX & PAGE_MASK;
	int err = numaplace_target_recheck(process->pid, process->mm, r->to);

	if (err)
		return err;
	/* Held only for a batch: a process that ends is not kept for all of its pages. */
	if (!mmget_not_zero(process->mm))
		return -ESRCH;
	err = numaplace_migrate_next(b, *pos, end);
	if (!err) {
		if (r->dry)
			numaplace_migrate_count(b);
		else
			numaplace_migrate_batch(b, r->max_stall_us);
		*pos = b->start + ((unsigned long)b->n << PAGE_SHIFT);
	}
	mmput(process->mm);
	return err;
}

static void note_batch(const struct numaplace_move_request *r, const struct process *process,
		       const struct numaplace_batch *b, struct numaplace_move_result *result)
{
	numaplace_stats_sum(&result->counts, &b->counts);
	if (r->dry)
		return;
	result->unmapped_ns = max(result->unmapped_ns, b->unmapped_ns);
	numaplace_stats_add_counts(&b->counts);
	trace_batch(pid_nr(process->pid), b);
}

static int run(const struct numaplace_move_request *r, const struct process *process,
	       struct numaplace_move_result *result)
{
	struct numaplace_batch b = {
		.mm = process->mm,
		.from = r->from,
		.to = r->to,
		.shared = r->shared,
		.files = r->files,
		.split = r->split,
	};
	int err = numaplace_migrate_init(&b);

	while (!err) {
		b.remaining = pages_to_limit(r, result);
		if (!b.remaining || (r->end && result->next >= r->end))
			break; /* before a signal: nothing is left to go on with */
		err = signal_pending(current) ? -EINTR : move_next(r, process, &b, &result->next);
		if (!err)
			note_batch(r, process, &b, result);
		cond_resched();
	}
	numaplace_migrate_free(&b);
	return err == NUMAPLACE_MIGRATE_END ? 0 : err;
}

static void note_end(const struct process *process, const struct numaplace_move_result *result)
{
	trace_move_end(pid_nr(process->pid), result);
	numaplace_stats_add(result->error ? NUMAPLACE_STAT_moves_ended_early : NUMAPLACE_STAT_moves,
			    1);
}

/**
 * numaplace_move() - move pages of a process
 * @request: the move
 * @result: all zero; what became of it, also where it was ended early
 *
 * The caller's thread does it: with its priority, on its CPUs, charged to its cgroup. A signal ends
 * it after the pages that are unmapped just then.
 *
 * Return: 0. Nothing has begun: -EINVAL for numbers out of their bounds or a kernel thread; -ESRCH;
 * -ENODEV for a target node without memory; -EACCES for one outside of the
 * task's cpuset or the caller's; -ENOMEM.
 * Ended early, with @result: -EINTR; -ESRCH where the process has ended or executes another
 * program; -ENODEV; -EACCES; -ENOMEM.
 */
int numaplace_move(const struct numaplace_move_request *request,
		   struct numaplace_move_result *result)
{
	struct numaplace_move_request r = *request;
	struct process process = {};
	u64 begun = ktime_get_ns();
	int err = check_request(&r);

	if (!err)
		err = hold_process(&r, &process);
	if (!err) {
		result->begun = true;
		result->next = r.start;
		if (!r.dry)
			trace_move_begin(pid_nr(process.pid), &r);
		err = run(&r, &process, result);
		result->error = err;
		result->ns = ktime_get_ns() - begun;
		if (!r.dry)
			note_end(&process, result);
	}
	drop_process(&process);
	return err;
}
