/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory policies: creation, copy, check against a cpuset, output, release. */
#ifndef _NUMAPLACE_MEMPOLICY_H
#define _NUMAPLACE_MEMPOLICY_H

#include <linux/mempolicy.h>
#include <linux/nodemask.h>

struct seq_file;
struct task_struct;

/* The kernel leaves the nodes of a policy that has none as the memory was. */
static inline nodemask_t numaplace_mempolicy_nodes(const struct mempolicy *policy)
{
	return !policy || policy->mode == MPOL_LOCAL ? NODE_MASK_NONE : policy->nodes;
}

int numaplace_mempolicy_init(void);
void numaplace_mempolicy_exit(void);
struct mempolicy *numaplace_mempolicy_get(struct task_struct *task);
struct mempolicy *numaplace_mempolicy_copy(const struct mempolicy *policy);
int numaplace_mempolicy_fit(struct mempolicy *policy, const struct task_struct *task);
int numaplace_mempolicy_check(struct task_struct *task, struct mempolicy *policy);
void numaplace_mempolicy_put(struct mempolicy *policy);
void numaplace_mempolicy_show(struct seq_file *m, const struct mempolicy *policy, nodemask_t nodes);

#endif
