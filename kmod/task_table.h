/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of tasks under control: CPUs and memory policies, set and saved. */
#ifndef _NUMAPLACE_TASK_TABLE_H
#define _NUMAPLACE_TASK_TABLE_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "taskwork.h"

struct mempolicy;
struct seq_file;
struct task_struct;

/*
 * Held while tasks are placed or restored, but never while waiting for a task to run its
 * task work: only while a task that has run it is still returning from it.
 * A record is taken out of the table only under it, or by the exit hook.
 */
extern struct mutex numaplace_task_table_mutex;

/*
 * Guards the table and the contents of its records. Taken by the fork and exit hooks, and by the
 * task work. Inside of the mutex; task_lock() is inside of it.
 */
extern spinlock_t numaplace_task_table_lock;

/**
 * enum numaplace_placement_state - how far a task is, but for its memory policy
 * @NUMAPLACE_PLACED: under control
 * @NUMAPLACE_TO_RESTORE: to be restored as soon as possible, not begun yet
 * @NUMAPLACE_RESTORING: begun: its CPUs first, its policy by the task itself
 * @NUMAPLACE_RESTORED: restored; kept for a child whose fork may be in progress
 * @NUMAPLACE_ENDED: the task has ended
 */
enum numaplace_placement_state {
	NUMAPLACE_PLACED,
	NUMAPLACE_TO_RESTORE,
	NUMAPLACE_RESTORING,
	NUMAPLACE_RESTORED,
	NUMAPLACE_ENDED,
};

/**
 * enum numaplace_want - what a task is to do with its memory policy on its way to user mode
 * @NUMAPLACE_KEEP: nothing
 * @NUMAPLACE_INSTALL: install @want_mem
 * @NUMAPLACE_UNSHARE: nothing yet: @saved_mem may be another task's too, and is to be copied
 * @NUMAPLACE_RESTORE: restore @saved_mem
 */
enum numaplace_want {
	NUMAPLACE_KEEP,
	NUMAPLACE_INSTALL,
	NUMAPLACE_UNSHARE,
	NUMAPLACE_RESTORE,
};

/**
 * struct numaplace_half - the last write that acted on a task's CPUs, or on its memory policy
 * @op: its number
 * @placing: it placed the task and has not collected the outcome yet
 * @behind: the task was forked with less than the write has set on its parent
 */
struct numaplace_half {
	u64 op;
	bool placing, behind;
};

/**
 * struct numaplace_placement - a task under control
 *
 * A write acts on the CPUs, on the memory policy, or on both, and leaves the other half as it is,
 * also what an earlier write wants of the policy and waits for. restore acts on both. The policy:
 *
 *	        place mem=               task work
 *	KEEP ---------------> INSTALL ---------------> KEEP
 *	  |                    |   ^                    ^
 *	  | restore    restore |   | place mem=         | task work
 *	  |                    v   |                    |
 *	  +-----------------> RESTORE ------------------+
 *
 * restore makes KEEP of INSTALL where no policy was set before, and so does a write that gives up.
 * RESTORE begins as UNSHARE where a task is forked, and where there is no memory for a copy of the
 * saved policy: the sweep goes on with it.
 * The rest of the record:
 *
 *	                 restore              CPUs back           policy back
 *	fork --> PLACED -------> TO_RESTORE ----------> RESTORING -----------> RESTORED
 *	           ^                 ^                      |                     |
 *	           |                 | fork, not inherited  | place               | place
 *	           +-----------------|----------------------+---------------------+
 *
 * A record that is RESTORED is released when the task is seen outside of a fork.
 * A task that is placed while it is TO_RESTORE is made RESTORING first. From each of them the exit
 * hook leads to ENDED.
 *
 * Locks, the outer first: numaplace_task_table_mutex, numaplace_task_table_lock, task_lock().
 *
 * @rcu: to release it
 * @users: references; the table or the list of policy_work.c has one
 * @task: the task; held
 *
 * Under the mutex:
 * @pick: in a caller's list; also before others know the record
 * @begun: the task work was started, and may not have returned yet
 * @urgent: it was started so that it wakes the task
 * @spare: preallocated entry of @former
 * @policy_work: the task work; the task's from its start until it is over
 *
 * Written under both, read under either:
 * @cpus: who acted on its CPUs
 * @mem: who acted on its memory policy
 * @restore_op: the first of the writes that want its policy restored
 * @inherit: whether its children come under control too
 * @has_cpus: its CPUs were set
 * @setting: @set_cpus, or those of them that the kernel grants, are about to be set
 * @saved_cpus: CPUs before the task was placed
 * @set_cpus: CPUs that were set
 *
 * Under the lock, by the hooks and the task work too; what is read under the mutex alone, by
 * READ_ONCE(), may change just then, which the next check of the record finds:
 * @node: in the table, or unhashed when the task has ended
 * @todo: in a list of policy_work.c while there is something to do for it
 * @want: what it is to do with its policy
 * @state: see above
 * @has_mem: its memory policy was set
 * @kept: the user has changed CPUs or policy since, which were left alone
 * @settled: it has started no child with other CPUs than it has now
 * @work_pending: the task work of policy_work.c is pending
 * @error: why the policy could not be installed
 * @former: CPUs that were set earlier, which a child whose fork is in progress may have
 * @saved_mem: policy before the task was placed; NULL for the default; a reference
 * @set_mem: policy that was set; likewise
 * @want_mem: policy to be installed; likewise
 * @retired_mem: replaced policy that the task may still be using; likewise
 * @set_nodes: nodes of @set_mem, before the task's cpuset changed them
 */
struct numaplace_placement {
	struct rcu_head rcu;
	refcount_t users;
	struct task_struct *task;

	struct list_head pick;
	bool begun, urgent;
	struct numaplace_former *spare;
	struct numaplace_taskwork policy_work;

	struct numaplace_half cpus, mem;
	u64 restore_op;
	bool inherit, has_cpus, setting;
	cpumask_var_t saved_cpus, set_cpus;

	struct hlist_node node;
	struct list_head todo;
	enum numaplace_want want;
	enum numaplace_placement_state state;
	bool has_mem, kept, settled, work_pending;
	int error;
	struct list_head former;
	struct mempolicy *saved_mem, *set_mem, *want_mem, *retired_mem;
	nodemask_t set_nodes;
};

struct numaplace_placement *numaplace_placement_new(struct task_struct *task, gfp_t gfp);
void numaplace_placement_put(struct numaplace_placement *p);
struct numaplace_placement *numaplace_task_table_find(struct task_struct *task);
bool numaplace_task_table_has(struct task_struct *task);
void numaplace_task_table_add(struct numaplace_placement *p);
void numaplace_task_table_remove(struct numaplace_placement *p);
void numaplace_task_table_each(void (*act)(struct numaplace_placement *p, void *data), void *data);
bool numaplace_task_table_any(void);
int numaplace_task_table_show(struct seq_file *m);

int numaplace_placement_reserve(struct numaplace_placement *p);
void numaplace_placement_push_former(struct numaplace_placement *p);
bool numaplace_placement_had_cpus(const struct numaplace_placement *p, const struct cpumask *cpus);
void numaplace_placement_drop_former(struct numaplace_placement *p);

#endif
