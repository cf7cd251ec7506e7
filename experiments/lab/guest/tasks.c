// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which task a CPU runs, and which control groups are made. Told only where somebody asks: a
 * switch costs instructions.
 */
#include <linux/cgroup.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/stringify.h>
#include <linux/tracepoint.h>

#include "lab.h"

static bool tasks;
module_param(tasks, bool, 0444);
MODULE_PARM_DESC(tasks, "tell the plugin which task each CPU runs");

static struct tracepoint *sched_switch, *cgroup_mkdir;

static void on_switch(void *unused, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	u64 who = (u64)next->tgid << 32 | next->pid;

	asm volatile(".byte " __stringify(NP_LAB_MARKER(NP_LAB_SWITCH))
		     :
		     : "a"(who), "c"(cgroup_id(task_dfl_cgroup(next))));
}

/* One at a time: the kernel holds its lock of all groups. */
static void on_group(void *unused, struct cgroup *group, const char *path)
{
	static char note[PATH_MAX + 64];
	size_t len = scnprintf(note, sizeof(note), "0 cgroup %llu %s", cgroup_id(group), path);

	asm volatile(".byte " __stringify(NP_LAB_MARKER(NP_LAB_NOTE))
		     :
		     : "a"(note), "c"(len)
		     : "memory");
}

static void find(struct tracepoint *point, void *unused)
{
	if (!strcmp(point->name, "sched_switch"))
		sched_switch = point;
	if (!strcmp(point->name, "cgroup_mkdir"))
		cgroup_mkdir = point;
}

int numaplace_lab_tasks_begin(void)
{
	int ret;

	if (!tasks)
		return 0;
	for_each_kernel_tracepoint(find, NULL);
	if (!sched_switch || !cgroup_mkdir)
		return -ENOENT;
	ret = tracepoint_probe_register(cgroup_mkdir, on_group, NULL);
	if (ret)
		return ret;
	ret = tracepoint_probe_register(sched_switch, on_switch, NULL);
	if (ret) {
		tracepoint_probe_unregister(cgroup_mkdir, on_group, NULL);
		return ret;
	}
	/* Without it counts would be nobody's, and no line would say so. */
	__module_get(THIS_MODULE);
	return 0;
}

void numaplace_lab_tasks_end(void)
{
	if (!tasks)
		return;
	tracepoint_probe_unregister(sched_switch, on_switch, NULL);
	tracepoint_probe_unregister(cgroup_mkdir, on_group, NULL);
	tracepoint_synchronize_unregister();
}
