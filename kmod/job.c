// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/mmzone.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "batch.h"
#include "job.h"
#include "migrate.h"
#include "pause.h"
#include "target.h"
#include "throttle.h"
#include "trace.h"

/* Beside 0 and -errno: there are no more pages. */
#define END 1

/* Between two pauses: longest sleep before a check of whether the wait may end early. */
#define POLL_US 5000

/* Guards the list, and the jobs' state, counts and times. */
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(jobs);
static unsigned int unfinished, finished;
static u64 last_id;

static struct workqueue_struct *workers;

static void job_release(struct kref *ref)
{
	struct numaplace_job *job = container_of(ref, struct numaplace_job, ref);

	if (job->mm)
		mmdrop(job->mm);
	put_pid(job->pid);
	kfree(job);
}

static void job_put(struct numaplace_job *job)
{
	kref_put(&job->ref, job_release);
}

static bool is_cancelled(const struct numaplace_job *job)
{
	return READ_ONCE(job->cancelled);
}

/* Adds a batch to the job's progress. */
static void note_progress(struct numaplace_job *job, const struct numaplace_batch *b, u64 begun)
{
	spin_lock(&lock);
	numaplace_stats_sum(&job->counts, &b->counts);
	job->ns = ktime_get_ns() - begun;
	spin_unlock(&lock);
	numaplace_stats_add_counts(&b->counts);
	trace_batch(job, b);
}

/* Ends a wait early: the job was cancelled, or the address space has no user left. */
static bool need_not_wait(const struct numaplace_job *job)
{
	return is_cancelled(job) || !atomic_read(&job->mm->mm_users);
}

/*
 * Keeps to duty, the part of the time that a process may be stopped for. Runs before
 * the target's limits are checked, so that the check is not older than a batch.
 */
static void keep_duty(const struct numaplace_job *job)
{
	u64 now;

	while (!need_not_wait(job) && (now = ktime_get_ns()) < job->next_pause) {
		u64 us = min_t(u64, div_u64(job->next_pause - now, NSEC_PER_USEC) + 1, POLL_US);

		usleep_range_state(us, us, TASK_IDLE);
	}
}

/* Keeps to rate_mib: sleeps until the bytes of a batch are due, or the job is cancelled. */
static void keep_rate(struct numaplace_job *job, u64 bytes)
{
	u64 now = ktime_get_ns();

	if (!job->request.rate_mib)
		return;
	job->due = numaplace_throttle_due(job->due, now, bytes, job->request.rate_mib);
	if (job->due > now)
		wait_event_idle_timeout(job->wait, is_cancelled(job),
					nsecs_to_jiffies(job->due - now) + 1);
}

/* Deadline of a pause: 1/16 of the budget is left for the threads to resume one by one. */
static u64 pause_deadline(const struct numaplace_job *job, const struct numaplace_pause *pause)
{
	u64 budget = (u64)job->request.max_stall_us * NSEC_PER_USEC;

	return pause ? pause->begun + budget - budget / 16 : U64_MAX;
}

static bool should_pause(const struct numaplace_job *job, const struct numaplace_batch *b)
{
	switch (job->request.pause) {
	case NUMAPLACE_PAUSE_ALWAYS:
		return b->pending;
	case NUMAPLACE_PAUSE_AUTO:
		return b->pending >= NUMAPLACE_BATCH_MIN;
	default:
		return false;
	}
}

static struct numaplace_pause *begin_pause(const struct numaplace_job *job,
					   struct task_struct *task)
{
	u32 us = job->request.max_stall_us;
	bool always = job->request.pause == NUMAPLACE_PAUSE_ALWAYS;

	return numaplace_pause_begin(task, us, numaplace_throttle_wait_us(us, always, job->missed));
}

static void note_pause(struct numaplace_job *job, u64 us, bool missed)
{
	u64 run_ns = numaplace_throttle_duty_ns(us * NSEC_PER_USEC, job->request.duty);

	job->missed = missed ? job->missed + 1 : 0;
	job->next_pause = ktime_get_ns() + run_ns;
	spin_lock(&lock);
	job->longest_pause_us = max(job->longest_pause_us, us);
	job->paused_us += us;
	spin_unlock(&lock);
}

/* Pages that a batch may examine, and may move: as many as the budget has time for. */
struct batch_size {
	unsigned int scan, move;
};

/* Moves a batch that was found, the target paused where that pays. */
static void move_batch(struct numaplace_job *job, struct task_struct *task,
		       struct numaplace_batch *b, struct batch_size *size)
{
	struct numaplace_pause *pause = NULL;
	unsigned int wanted = b->pending;
	u64 t0, ns;

	if (should_pause(job, b))
		pause = begin_pause(job, task);
	t0 = pause ? pause->begun : ktime_get_ns();
	numaplace_migrate_batch(b, pause_deadline(job, pause));
	b->unpaused = pause ? pause->unpaused : 0;
	b->pause_us = numaplace_pause_end(pause);
	ns = ktime_get_ns() - t0;
	if (b->pause_us)
		note_pause(job, b->pause_us, b->unpaused);
	/* A thread of the process may hold a busy page: retried when the threads run again. */
	numaplace_migrate_finish(b);
	/* A batch with nothing to move stops no thread: the next scan may be longer. */
	size->scan = wanted ? size->move : min(2 * size->scan, NUMAPLACE_BATCH_MAX);
	if (b->counts.status[NUMAPLACE_PAGE_moved]) {
		size->move = numaplace_throttle_pages(b->n, ns, job->request.max_stall_us);
		size->scan = size->move;
	}
}

/*
 * Finds the next batch. If a long scan finds more pages than may be moved at a time, a short one
 * replaces it.
 */
static bool find_batch(const struct numaplace_job *job, struct numaplace_batch *b,
		       unsigned long *pos, const struct batch_size *size)
{
	unsigned long end = job->request.end ? job->request.end : ULONG_MAX & PAGE_MASK;
	unsigned long begin = *pos;
	bool found;

	found = numaplace_migrate_next(b, pos, end,
				       numaplace_throttle_limit(size->scan, job->request.rate_mib));
	if (!found || b->pending <= size->move || size->scan <= size->move)
		return found;
	*pos = begin;
	return numaplace_migrate_next(b, pos, end,
				      numaplace_throttle_limit(size->move, job->request.rate_mib));
}

/* How many pages the job may still move. */
static u64 pages_to_limit(const struct numaplace_job *job)
{
	u64 moved = job->counts.status[NUMAPLACE_PAGE_moved];

	if (!job->request.limit)
		return U64_MAX;
	return job->request.limit > moved ? job->request.limit - moved : 0;
}

/* Finds and moves a batch. Returns 0, END, or -errno. */
static int move_next(struct numaplace_job *job, struct numaplace_batch *b, unsigned long *pos,
		     struct batch_size *size)
{
	struct task_struct *task = numaplace_target_recheck(job->pid, job->mm, job->request.to);
	int err = -ESRCH;

	if (IS_ERR(task))
		return PTR_ERR(task);
	b->remaining = pages_to_limit(job);
	/* Held only for a batch: a process that ends is not kept for a whole job. */
	if (mmget_not_zero(job->mm)) {
		err = find_batch(job, b, pos, size) ? 0 : END;
		if (!err) {
			move_batch(job, task, b, size);
			*pos = b->start + ((unsigned long)b->n << PAGE_SHIFT);
		}
		mmput(job->mm);
	}
	put_task_struct(task);
	return err;
}

static int run(struct numaplace_job *job)
{
	struct numaplace_batch b = {
		.mm = job->mm,
		.from = job->request.from,
		.to = job->request.to,
		.shared = job->request.shared,
		.split = job->request.split,
		.cancelled = &job->cancelled,
	};
	struct batch_size size = { .scan = NUMAPLACE_BATCH_FIRST, .move = NUMAPLACE_BATCH_FIRST };
	unsigned long pos = job->request.start;
	u64 begun = ktime_get_ns();
	int err = numaplace_migrate_init(&b, job->request.threads);

	while (!err && !is_cancelled(job) && pages_to_limit(job)) {
		keep_duty(job);
		err = move_next(job, &b, &pos, &size);
		if (err)
			break;
		note_progress(job, &b, begun);
		keep_rate(job, b.counts.bytes);
		cond_resched();
	}
	numaplace_migrate_free(&b);
	return err == END ? 0 : err;
}

/* The oldest of the finished jobs, if there are too many. Takes it out of the list. */
static struct numaplace_job *too_many(void)
{
	struct numaplace_job *job;

	lockdep_assert_held(&lock);
	if (finished <= NUMAPLACE_KEPT_JOBS)
		return NULL;
	list_for_each_entry(job, &jobs, link) {
		if (job->state < NUMAPLACE_JOB_DONE)
			continue;
		list_del(&job->link);
		finished--;
		return job;
	}
	return NULL;
}

static void finish(struct numaplace_job *job, int err)
{
	static const enum numaplace_stat stat[] = {
		[NUMAPLACE_JOB_DONE] = NUMAPLACE_STAT_jobs_done,
		[NUMAPLACE_JOB_CANCELLED] = NUMAPLACE_STAT_jobs_cancelled,
		[NUMAPLACE_JOB_FAILED] = NUMAPLACE_STAT_jobs_failed,
	};
	unsigned int state = err ? NUMAPLACE_JOB_FAILED : NUMAPLACE_JOB_DONE;
	struct numaplace_job *old;

	if (!err && is_cancelled(job))
		state = NUMAPLACE_JOB_CANCELLED;
	numaplace_stats_add(stat[state], 1);
	/* Before the state changes: an observer of the end has this event before its next job. */
	trace_job_end(job, err);
	spin_lock(&lock);
	job->error = err;
	job->state = state;
	unfinished--;
	finished++;
	old = too_many();
	spin_unlock(&lock);
	if (old)
		job_put(old);
}

static void work(struct work_struct *work)
{
	struct numaplace_job *job = container_of(work, struct numaplace_job, work);
	int err;

	spin_lock(&lock);
	job->state = NUMAPLACE_JOB_RUNNING;
	spin_unlock(&lock);
	trace_job_begin(job);
	err = is_cancelled(job) ? 0 : run(job);
	mmdrop(job->mm);
	job->mm = NULL;
	finish(job, err);
	job_put(job);
}

static int check_request(struct numaplace_job_request *r)
{
	int err = numaplace_throttle_check_range(r->start, r->end);

	if (err)
		return err;
	if (!r->max_stall_us)
		r->max_stall_us = NUMAPLACE_STALL_US;
	if (r->max_stall_us < NUMAPLACE_MIN_STALL_US || r->max_stall_us > NUMAPLACE_MAX_STALL_US)
		return -EINVAL;
	if (r->rate_mib > NUMAPLACE_MAX_RATE_MIB)
		return -EINVAL;
	if (!r->threads || r->threads > NUMAPLACE_MAX_THREADS || !r->duty || r->duty > 100)
		return -EINVAL;
	return node_state(r->to, N_MEMORY) ? 0 : -ENODEV;
}

static struct numaplace_job *job_new(const struct numaplace_job_request *request,
				     struct task_struct *task)
{
	struct numaplace_job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	struct mm_struct *mm = get_task_mm(task);

	if (!mm || !job) {
		if (mm)
			mmput(mm);
		kfree(job);
		return ERR_PTR(mm ? -ENOMEM : -ESRCH);
	}
	mmgrab(mm);
	mmput(mm);
	job->mm = mm;
	job->pid = get_task_pid(task, PIDTYPE_TGID);
	job->request = *request;
	kref_init(&job->ref);
	init_waitqueue_head(&job->wait);
	INIT_WORK(&job->work, work);
	return job;
}

static int enqueue(struct numaplace_job *job, u64 *id)
{
	spin_lock(&lock);
	if (unfinished >= NUMAPLACE_MAX_JOBS) {
		spin_unlock(&lock);
		return -EBUSY;
	}
	job->id = *id = ++last_id;
	kref_get(&job->ref);
	list_add_tail(&job->link, &jobs);
	unfinished++;
	spin_unlock(&lock);
	numaplace_stats_add(NUMAPLACE_STAT_jobs, 1);
	/* Copies are made near where they go to. */
	queue_work_node(job->request.to, workers, &job->work);
	return 0;
}

/**
 * numaplace_job_start() - begin to move pages
 * @request: the move
 * @id: set to the number of the job
 *
 * Return: 0; -EINVAL for numbers out of their bounds or a kernel thread; -ESRCH;
 * -ENODEV for a target node without memory; -EACCES for one outside of the
 * task's cpuset; -EBUSY with too many jobs; -ENOMEM.
 */
int numaplace_job_start(const struct numaplace_job_request *request, u64 *id)
{
	struct numaplace_job_request r = *request;
	struct numaplace_job *job;
	struct task_struct *task;
	int err = check_request(&r);

	if (err)
		return err;
	task = numaplace_target_get(r.pid, true);
	if (IS_ERR(task))
		return PTR_ERR(task);
	if (!numaplace_target_allows_node(task, r.to)) {
		put_task_struct(task);
		return -EACCES;
	}
	job = job_new(&r, task);
	put_task_struct(task);
	if (IS_ERR(job))
		return PTR_ERR(job);
	err = enqueue(job, id);
	if (err)
		job_put(job);
	return err;
}

static void cancel(struct numaplace_job *job)
{
	lockdep_assert_held(&lock);
	WRITE_ONCE(job->cancelled, true);
	wake_up(&job->wait);
}

/**
 * numaplace_job_cancel() - have a job stop after the batch that it moves
 * @id: its number
 *
 * Return: 0, also for a job that has finished; -ENOENT if there is none.
 */
int numaplace_job_cancel(u64 id)
{
	struct numaplace_job *job;
	int err = -ENOENT;

	spin_lock(&lock);
	list_for_each_entry(job, &jobs, link) {
		if (job->id == id) {
			cancel(job);
			err = 0;
			break;
		}
	}
	spin_unlock(&lock);
	return err;
}

static void show_one(struct seq_file *m, const struct numaplace_job *job)
{
	static const char *const states[] = {
		[NUMAPLACE_JOB_QUEUED] = "queued", [NUMAPLACE_JOB_RUNNING] = "running",
		[NUMAPLACE_JOB_DONE] = "done",	   [NUMAPLACE_JOB_CANCELLED] = "cancelled",
		[NUMAPLACE_JOB_FAILED] = "failed",
	};
	const struct numaplace_job_request *r = &job->request;

	seq_printf(m, "job=%llu pid=%d state=%s error=%d", job->id, pid_vnr(job->pid),
		   states[job->state], -job->error);
	if (nodes_equal(r->from, node_possible_map))
		seq_puts(m, " from=any");
	else
		seq_printf(m, " from=%*pbl", nodemask_pr_args(&r->from));
	seq_printf(m, " to=%d", r->to);
	numaplace_stats_show_counts(m, &job->counts);
	seq_printf(m, " ns=%llu longest_pause_us=%llu paused_us=%llu\n", job->ns,
		   job->longest_pause_us, job->paused_us);
}

/**
 * numaplace_job_show() - print the jobs, oldest first
 * @m: where to
 */
void numaplace_job_show(struct seq_file *m)
{
	struct numaplace_job *job;

	spin_lock(&lock);
	list_for_each_entry(job, &jobs, link)
		show_one(m, job);
	spin_unlock(&lock);
}

/**
 * numaplace_job_init() - get ready to run jobs
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_job_init(void)
{
	workers = alloc_workqueue("numaplace", WQ_UNBOUND, NUMAPLACE_MAX_JOBS);
	return workers ? 0 : -ENOMEM;
}

/**
 * numaplace_job_exit() - cancel all jobs, wait for them and forget them
 */
void numaplace_job_exit(void)
{
	struct numaplace_job *job, *next;

	spin_lock(&lock);
	list_for_each_entry(job, &jobs, link)
		cancel(job);
	spin_unlock(&lock);
	destroy_workqueue(workers);
	numaplace_pause_exit();
	list_for_each_entry_safe(job, next, &jobs, link) {
		list_del(&job->link);
		job_put(job);
	}
}
