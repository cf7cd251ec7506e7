/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory policy of a running task: put another in its place, and back. */
#ifndef _NUMAPLACE_MEMPOLICY_H
#define _NUMAPLACE_MEMPOLICY_H

struct mempolicy;
struct seq_file;
struct task_struct;

struct mempolicy *numaplace_mempolicy_get(struct task_struct *task);
int numaplace_mempolicy_check(struct task_struct *task, struct mempolicy *policy);
int numaplace_mempolicy_swap(struct task_struct *task, struct mempolicy *expected,
			     struct mempolicy *policy, struct mempolicy **old, bool patient);
void numaplace_mempolicy_put(struct mempolicy *policy);
void numaplace_mempolicy_show(struct seq_file *m, struct mempolicy *policy);

#endif
