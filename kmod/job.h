/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves as asynchronous jobs: queue, progress, throttling, cancel. */
#ifndef _NUMAPLACE_JOB_H
#define _NUMAPLACE_JOB_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/nodemask.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "stats.h"

struct mm_struct;
struct pid;
struct seq_file;

enum numaplace_job_state {
	NUMAPLACE_JOB_QUEUED,
	NUMAPLACE_JOB_RUNNING,
	NUMAPLACE_JOB_DONE,
	NUMAPLACE_JOB_CANCELLED,
	NUMAPLACE_JOB_FAILED,
};

/**
 * struct numaplace_job_request - one line written to migrate
 * @pid: the process whose pages move
 * @from: nodes that they are to leave
 * @to: node that they are to go to
 * @start: where to begin, with @end; both 0 for the whole process
 * @end: where to stop
 * @pause: whether the process is stopped while a batch moves
 * @max_stall_us: for how long, at most
 * @rate_mib: MiB a second at most, or 0
 * @duty: percent of the time that the process may be stopped for
 * @threads: kernel threads that move pages
 * @shared: also anonymous pages that other processes map
 * @split: break transparent huge pages up to move them
 * @limit: pages to be moved at most, or 0
 */
struct numaplace_job_request {
	pid_t pid;
	nodemask_t from;
	int to;
	u64 start, end;
	unsigned int pause;
	u32 max_stall_us;
	u32 rate_mib;
	u32 duty;
	u32 threads;
	bool shared;
	bool split;
	u64 limit;
};

/**
 * struct numaplace_job - one move
 * @link: in the list of jobs, oldest first
 * @ref: the list holds one, and so does the queued work
 * @id: never used twice
 * @request: the move
 * @pid: that process, referenced
 * @mm: its address space at the time of the request; the structure is referenced, not the pages.
 *	NULL once the job has ended: what is kept of it is no address space
 * @work: runs it
 * @cancelled: asked to stop
 * @wait: woken on a cancel
 * @state: an enum numaplace_job_state
 * @error: negative errno of a failed job
 * @counts: number of pages by status, so far
 * @ns: time that it took so far
 * @longest_pause_us: longest pause of the process
 * @paused_us: sum of all pauses
 * @missed: pauses in a row in which a thread ran on
 * @next_pause: no pause begins before this time, by ktime_get_ns()
 * @due: when more may be moved, likewise
 */
struct numaplace_job {
	struct list_head link;
	struct kref ref;
	u64 id;
	struct numaplace_job_request request;
	struct pid *pid;
	struct mm_struct *mm;
	struct work_struct work;
	bool cancelled;
	wait_queue_head_t wait;
	unsigned int state;
	int error;
	struct numaplace_counts counts;
	u64 ns;
	u64 longest_pause_us, paused_us;
	unsigned int missed;
	u64 next_pause, due;
};

int numaplace_job_init(void);
void numaplace_job_exit(void);
int numaplace_job_start(const struct numaplace_job_request *request, u64 *id);
int numaplace_job_cancel(u64 id);
void numaplace_job_show(struct seq_file *m);

#endif
