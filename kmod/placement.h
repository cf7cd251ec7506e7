/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of tasks under control: what they were given, what they had. */
#ifndef _NUMAPLACE_PLACEMENT_H
#define _NUMAPLACE_PLACEMENT_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct mempolicy;
struct seq_file;
struct task_struct;

/*
 * Held while tasks are placed or restored. A record is released only under it,
 * so that whoever holds it may keep a pointer to one.
 */
extern struct mutex numaplace_placement_mutex;

/* Guards the table and what is in the records. Taken by the fork and exit hooks. */
extern spinlock_t numaplace_placement_lock;

/**
 * struct numaplace_placement - a task under control
 * @node: in the table, or unhashed when the task has ended
 * @link: in the list of the ended, or in a caller's list
 * @task: the task; held
 * @call: the write that placed it last
 * @tried: the attempt to restore it last
 * @inherit: whether its children come under control too
 * @leaving: to be restored as soon as possible
 * @left: it is restored; kept for a moment for a child that is being born placed
 * @left_at: when, in jiffies
 * @has_cpus: its CPUs were set
 * @has_mem: its memory policy was set
 * @saved_cpus: what it had before
 * @set_cpus: what it was given
 * @saved_mem: what it had before; NULL for the default; a reference
 * @set_mem: what it was given; likewise
 */
struct numaplace_placement {
	struct hlist_node node;
	struct list_head link;
	struct task_struct *task;
	u64 call, tried;
	bool inherit, leaving, left, has_cpus, has_mem;
	unsigned long left_at;
	cpumask_var_t saved_cpus, set_cpus;
	struct mempolicy *saved_mem, *set_mem;
};

struct numaplace_placement *numaplace_placement_new(struct task_struct *task, gfp_t gfp);
void numaplace_placement_free(struct numaplace_placement *p);
struct numaplace_placement *numaplace_placement_find(struct task_struct *task);
void numaplace_placement_add(struct numaplace_placement *p);
void numaplace_placement_remove(struct numaplace_placement *p);
void numaplace_placement_end(struct numaplace_placement *p);
struct numaplace_placement *numaplace_placement_first_ended(void);
struct numaplace_placement *
numaplace_placement_first(bool (*match)(const struct numaplace_placement *p, const void *data),
			  const void *data);
bool numaplace_placement_any(void);
void numaplace_placement_show(struct seq_file *m);

#endif
