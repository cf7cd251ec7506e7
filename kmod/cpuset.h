/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that a task's cpuset lets it use. */
#ifndef _NUMAPLACE_CPUSET_H
#define _NUMAPLACE_CPUSET_H

struct cpumask;
struct task_struct;

int numaplace_cpuset_read(struct task_struct *task, struct cpumask *cpus);
void numaplace_cpuset_read_task(struct task_struct *task, struct cpumask *cpus);
void numaplace_cpuset_close(void);
int numaplace_cpuset_set_cpus(struct task_struct *task, const struct cpumask *cpus);
int numaplace_cpuset_init(void);
void numaplace_cpuset_exit(void);

#endif
