/* SPDX-License-Identifier: GPL-2.0-only */
/* Target lookup: pid to a referenced task; permission checks. */
#ifndef _NUMAPLACE_TARGET_H
#define _NUMAPLACE_TARGET_H

#include <linux/types.h>

struct file;
struct mm_struct;
struct pid;
struct task_struct;

/**
 * struct numaplace_threads - the threads of a process, each referenced
 * @earlier: list of an earlier call, or NULL
 * @n: number of threads
 * @task: the threads, sorted by address
 */
struct numaplace_threads {
	struct numaplace_threads *earlier;
	unsigned int n;
	struct task_struct *task[];
};

bool numaplace_target_may(const struct file *file);
struct task_struct *numaplace_target_get(pid_t nr, bool process);
struct numaplace_threads *numaplace_target_threads(struct task_struct *task,
						   struct numaplace_threads *earlier);
bool numaplace_target_has_seen(const struct numaplace_threads *threads, struct task_struct *task);
void numaplace_target_put_threads(struct numaplace_threads *threads);
int numaplace_target_recheck(struct pid *pid, const struct mm_struct *mm, int nid);

#endif
