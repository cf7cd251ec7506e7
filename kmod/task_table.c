// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hashtable.h>
#include <linux/mempolicy.h>
#include <linux/pid_namespace.h>
#include <linux/rculist.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>

#include "mempolicy.h"
#include "task_table.h"

/* Described in task_table.h. */
DEFINE_MUTEX(numaplace_task_table_mutex);
DEFINE_SPINLOCK(numaplace_task_table_lock);

static DEFINE_HASHTABLE(table, 12);
static unsigned int in_table;

/* CPUs that were set for a task earlier. */
struct numaplace_former {
	struct list_head link;
	unsigned long cpus[];
};

/**
 * numaplace_placement_new() - a record that is not in the table yet
 * @task: the task
 * @gfp: how to get memory
 *
 * Return: the record with a reference, or NULL.
 */
struct numaplace_placement *numaplace_placement_new(struct task_struct *task, gfp_t gfp)
{
	struct numaplace_placement *p = kzalloc(sizeof(*p), gfp);

	if (!p)
		return NULL;
	INIT_HLIST_NODE(&p->node);
	INIT_LIST_HEAD(&p->todo);
	INIT_LIST_HEAD(&p->pick);
	INIT_LIST_HEAD(&p->former);
	refcount_set(&p->users, 1);
	if (!zalloc_cpumask_var(&p->saved_cpus, gfp))
		goto free_record;
	if (!zalloc_cpumask_var(&p->set_cpus, gfp))
		goto free_saved_cpus;
	p->task = get_task_struct(task);
	return p;

free_saved_cpus:
	free_cpumask_var(p->saved_cpus);
free_record:
	kfree(p);
	return NULL;
}

/**
 * numaplace_placement_put() - drop a reference to a record
 * @p: the record; the last reference also drops those to its memory policies
 */
void numaplace_placement_put(struct numaplace_placement *p)
{
	if (!refcount_dec_and_test(&p->users))
		return;
	WARN_ON_ONCE(!hlist_unhashed(&p->node) || p->work_pending);
	numaplace_placement_drop_former(p);
	kfree(p->spare);
	numaplace_mempolicy_put(p->saved_mem);
	numaplace_mempolicy_put(p->set_mem);
	numaplace_mempolicy_put(p->want_mem);
	numaplace_mempolicy_put(p->retired_mem);
	put_task_struct(p->task);
	free_cpumask_var(p->set_cpus);
	free_cpumask_var(p->saved_cpus);
	kfree_rcu(p, rcu);
}

/**
 * numaplace_task_table_find() - the record of a task
 * @task: the task
 */
struct numaplace_placement *numaplace_task_table_find(struct task_struct *task)
{
	struct numaplace_placement *p;

	lockdep_assert_held(&numaplace_task_table_lock);
	hash_for_each_possible(table, p, node, (unsigned long)task)
		if (p->task == task)
			return p;
	return NULL;
}

/**
 * numaplace_task_table_has() - whether a task has a record, without the lock
 * @task: the task; what was added to the table before something that the caller
 *	has seen is found
 */
bool numaplace_task_table_has(struct task_struct *task)
{
	struct numaplace_placement *p;
	bool found = false;

	if (likely(!numaplace_task_table_any()))
		return false;
	rcu_read_lock();
	hash_for_each_possible_rcu(table, p, node, (unsigned long)task)
		found |= p->task == task;
	rcu_read_unlock();
	return found;
}

/**
 * numaplace_task_table_add() - put a record into the table
 * @p: the record; the caller's reference goes over to the table
 */
void numaplace_task_table_add(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	hash_add_rcu(table, &p->node, (unsigned long)p->task);
	WRITE_ONCE(in_table, in_table + 1);
}

/**
 * numaplace_task_table_remove() - take a record out of the table
 * @p: the record; nothing happens if it is out already
 */
void numaplace_task_table_remove(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	if (hlist_unhashed(&p->node))
		return;
	hlist_del_init_rcu(&p->node);
	WRITE_ONCE(in_table, in_table - 1);
}

/**
 * numaplace_task_table_each() - call a function for each record of the table
 * @act: the function; it must not sleep, nor change the table
 * @data: for @act
 *
 * Holds numaplace_task_table_lock throughout: the fork hook adds no record in between.
 */
void numaplace_task_table_each(void (*act)(struct numaplace_placement *p, void *data), void *data)
{
	struct numaplace_placement *p;
	int bucket;

	spin_lock(&numaplace_task_table_lock);
	hash_for_each(table, bucket, p, node)
		act(p, data);
	spin_unlock(&numaplace_task_table_lock);
}

/**
 * numaplace_task_table_any() - whether there is any record, without the lock
 */
bool numaplace_task_table_any(void)
{
	return READ_ONCE(in_table);
}

/**
 * numaplace_placement_had_cpus() - whether CPUs were set for a task earlier
 * @p: its record
 * @cpus: the CPUs
 */
bool numaplace_placement_had_cpus(const struct numaplace_placement *p, const struct cpumask *cpus)
{
	const struct numaplace_former *former;

	lockdep_assert_held(&numaplace_task_table_lock);
	list_for_each_entry(former, &p->former, link)
		if (cpumask_equal(to_cpumask(former->cpus), cpus))
			return true;
	return false;
}

/**
 * numaplace_placement_reserve() - allocate memory for CPUs that were set earlier
 * @p: a record that is not in the table
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_placement_reserve(struct numaplace_placement *p)
{
	p->spare = kmalloc(sizeof(*p->spare) + cpumask_size(), GFP_KERNEL);
	return p->spare ? 0 : -ENOMEM;
}

/**
 * numaplace_placement_push_former() - note a task's CPUs before others are set
 * @p: its record, with memory from numaplace_placement_reserve()
 *
 * Each set of CPUs is noted once, however often a task is placed before it is settled.
 */
void numaplace_placement_push_former(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_task_table_lock);
	if (numaplace_placement_had_cpus(p, p->set_cpus) || WARN_ON_ONCE(!p->spare))
		return;
	cpumask_copy(to_cpumask(p->spare->cpus), p->set_cpus);
	list_add(&p->spare->link, &p->former);
	p->spare = NULL;
}

/**
 * numaplace_placement_drop_former() - forget CPUs that were set earlier
 * @p: its record, not published or with the lock held
 */
void numaplace_placement_drop_former(struct numaplace_placement *p)
{
	struct numaplace_former *former, *next;

	list_for_each_entry_safe(former, next, &p->former, link)
		kfree(former);
	INIT_LIST_HEAD(&p->former);
}

static void show_policy(struct seq_file *m, bool has, const struct mempolicy *policy,
			const nodemask_t *nodes)
{
	if (has)
		numaplace_mempolicy_show(m, policy, *nodes);
	else
		seq_putc(m, '-');
}

static void show_cpus(struct seq_file *m, bool has, const struct cpumask *cpus)
{
	if (has)
		seq_printf(m, "%*pbl", cpumask_pr_args(cpus));
	else
		seq_putc(m, '-');
}

/* The present CPUs and policy, where they differ from those that were set. */
static void show_now(struct seq_file *m, const struct numaplace_placement *p)
{
	struct task_struct *task = p->task;
	nodemask_t nodes;

	if (p->has_cpus && !cpumask_equal(&task->cpus_mask, p->set_cpus)) {
		seq_puts(m, " now_cpus=");
		show_cpus(m, true, &task->cpus_mask);
	}
	task_lock(task);
	nodes = numaplace_mempolicy_nodes(task->mempolicy);
	if (p->has_mem && (task->mempolicy != p->set_mem || !nodes_equal(nodes, p->set_nodes))) {
		seq_puts(m, " now_mem=");
		show_policy(m, true, task->mempolicy, &nodes);
	}
	task_unlock(task);
}

static void show_one(struct seq_file *m, const struct numaplace_placement *p)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	char comm[TASK_COMM_LEN];
	nodemask_t saved;

	get_task_comm(comm, p->task);
	seq_printf(m, "tid=%d pid=%d comm=", task_pid_nr_ns(p->task, ns),
		   task_tgid_nr_ns(p->task, ns));
	/* A name may hold blanks, line ends or anything else. */
	seq_escape_mem(m, comm, strlen(comm),
		       ESCAPE_SPACE | ESCAPE_SPECIAL | ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND,
		       " =");
	seq_puts(m, " cpus=");
	show_cpus(m, p->has_cpus, p->set_cpus);
	seq_puts(m, " saved_cpus=");
	show_cpus(m, p->has_cpus, p->saved_cpus);
	seq_puts(m, " mem=");
	show_policy(m, p->has_mem, p->set_mem, &p->set_nodes);
	seq_puts(m, " saved_mem=");
	saved = numaplace_mempolicy_nodes(p->saved_mem);
	show_policy(m, p->has_mem, p->saved_mem, &saved);
	seq_printf(m, " inherit=%d", p->inherit);
	show_now(m, p);
	seq_putc(m, '\n');
}

struct listing {
	unsigned int n;
	struct numaplace_placement *record[];
};

/* The records at this moment, each with a reference. NULL without memory. */
static struct listing *list_all(void)
{
	struct numaplace_placement *p;
	struct listing *all;
	int bucket;

	for (;;) {
		unsigned int capacity = READ_ONCE(in_table);

		capacity += capacity / 8 + 16;
		all = kvzalloc(struct_size(all, record, capacity), GFP_KERNEL);
		if (!all)
			return NULL;
		spin_lock(&numaplace_task_table_lock);
		if (in_table <= capacity)
			break;
		/* Forks have added more meanwhile. */
		spin_unlock(&numaplace_task_table_lock);
		kvfree(all);
	}
	hash_for_each(table, bucket, p, node) {
		if (p->state == NUMAPLACE_RESTORED)
			continue;
		refcount_inc(&p->users);
		all->record[all->n++] = p;
	}
	spin_unlock(&numaplace_task_table_lock);
	return all;
}

/**
 * numaplace_task_table_show() - print the table
 * @m: where to
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_task_table_show(struct seq_file *m)
{
	struct listing *all = list_all();
	unsigned int i;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < all->n; i++) {
		spin_lock(&numaplace_task_table_lock);
		if (!hlist_unhashed(&all->record[i]->node))
			show_one(m, all->record[i]);
		spin_unlock(&numaplace_task_table_lock);
		numaplace_placement_put(all->record[i]);
		cond_resched();
	}
	kvfree(all);
	return 0;
}
