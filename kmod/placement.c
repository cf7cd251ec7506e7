// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hashtable.h>
#include <linux/mempolicy.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>

#include "mempolicy.h"
#include "placement.h"

DEFINE_MUTEX(numaplace_placement_mutex);
DEFINE_SPINLOCK(numaplace_placement_lock);

static DEFINE_HASHTABLE(table, 8);
static LIST_HEAD(ended);
static unsigned int in_table;

/**
 * numaplace_placement_new() - a record that is not in the table yet
 * @task: the task
 * @gfp: how to get memory
 *
 * Return: the record, or NULL.
 */
struct numaplace_placement *numaplace_placement_new(struct task_struct *task, gfp_t gfp)
{
	struct numaplace_placement *p = kzalloc(sizeof(*p), gfp);

	if (!p)
		return NULL;
	INIT_HLIST_NODE(&p->node);
	INIT_LIST_HEAD(&p->link);
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
 * numaplace_placement_free() - release a record and its memory policies
 * @p: the record, not in the table
 */
void numaplace_placement_free(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_placement_mutex);
	numaplace_mempolicy_put(p->saved_mem);
	numaplace_mempolicy_put(p->set_mem);
	put_task_struct(p->task);
	free_cpumask_var(p->set_cpus);
	free_cpumask_var(p->saved_cpus);
	kfree(p);
}

/**
 * numaplace_placement_find() - the record of a task
 * @task: the task
 */
struct numaplace_placement *numaplace_placement_find(struct task_struct *task)
{
	struct numaplace_placement *p;

	lockdep_assert_held(&numaplace_placement_lock);
	hash_for_each_possible(table, p, node, (unsigned long)task)
		if (p->task == task)
			return p;
	return NULL;
}

/**
 * numaplace_placement_add() - put a record into the table
 * @p: the record
 */
void numaplace_placement_add(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_placement_lock);
	hash_add(table, &p->node, (unsigned long)p->task);
	WRITE_ONCE(in_table, in_table + 1);
}

/**
 * numaplace_placement_remove() - take a record out of the table
 * @p: the record; nothing happens if it is out already
 */
void numaplace_placement_remove(struct numaplace_placement *p)
{
	lockdep_assert_held(&numaplace_placement_lock);
	if (hlist_unhashed(&p->node)) {
		list_del_init(&p->link);
		return;
	}
	hash_del(&p->node);
	WRITE_ONCE(in_table, in_table - 1);
}

/**
 * numaplace_placement_end() - note that the task of a record has ended
 * @p: the record, in the table
 */
void numaplace_placement_end(struct numaplace_placement *p)
{
	numaplace_placement_remove(p);
	list_add_tail(&p->link, &ended);
}

/**
 * numaplace_placement_first_ended() - a record whose task has ended
 *
 * Return: the record, or NULL. It stays in its list.
 */
struct numaplace_placement *numaplace_placement_first_ended(void)
{
	lockdep_assert_held(&numaplace_placement_lock);
	return list_first_entry_or_null(&ended, struct numaplace_placement, link);
}

/**
 * numaplace_placement_first() - any record that a caller looks for
 * @match: says whether it is one
 * @data: for @match
 *
 * Return: the record, or NULL.
 */
struct numaplace_placement *
numaplace_placement_first(bool (*match)(const struct numaplace_placement *p, const void *data),
			  const void *data)
{
	struct numaplace_placement *p;
	int bucket;

	lockdep_assert_held(&numaplace_placement_lock);
	hash_for_each(table, bucket, p, node)
		if (match(p, data))
			return p;
	return NULL;
}

/**
 * numaplace_placement_any() - whether there is any record, without the lock
 */
bool numaplace_placement_any(void)
{
	return READ_ONCE(in_table);
}

static void show_policy(struct seq_file *m, bool has, struct mempolicy *policy)
{
	if (has)
		numaplace_mempolicy_show(m, policy);
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

static void show_one(struct seq_file *m, const struct numaplace_placement *p)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	char comm[TASK_COMM_LEN];

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
	show_policy(m, p->has_mem, p->set_mem);
	seq_puts(m, " saved_mem=");
	show_policy(m, p->has_mem, p->saved_mem);
	seq_printf(m, " inherit=%d\n", p->inherit);
}

/**
 * numaplace_placement_show() - print the table
 * @m: where to
 */
void numaplace_placement_show(struct seq_file *m)
{
	struct numaplace_placement *p;
	int bucket;

	spin_lock(&numaplace_placement_lock);
	hash_for_each(table, bucket, p, node)
		if (!p->left)
			show_one(m, p);
	spin_unlock(&numaplace_placement_lock);
}
