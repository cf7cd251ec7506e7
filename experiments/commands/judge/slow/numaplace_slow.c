// SPDX-License-Identifier: GPL-2.0-only
/*
 * A regression of known size, for tests: on every CPU a timer that keeps it busy for a part of the
 * time, so that all work, or that of the tasks of one name, takes percent longer.
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/version.h>

#define EVERY_NS NSEC_PER_MSEC

static unsigned int percent = 5;
module_param(percent, uint, 0444);
MODULE_PARM_DESC(percent, "how much longer work takes, 1 to 100");

static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "name (comm) of the tasks whose work takes longer; all work without");

static DEFINE_PER_CPU(struct hrtimer, slow_timer);
static u64 busy_ns;

static enum hrtimer_restart be_busy(struct hrtimer *timer)
{
	u64 until = ktime_get_ns() + busy_ns;

	if (!only || !strncmp(current->comm, only, TASK_COMM_LEN))
		while (ktime_get_ns() < until)
			cpu_relax();
	hrtimer_forward_now(timer, ns_to_ktime(EVERY_NS));
	return HRTIMER_RESTART;
}

static void start_here(void *unused)
{
	struct hrtimer *timer = this_cpu_ptr(&slow_timer);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, be_busy, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = be_busy;
#endif
	hrtimer_start(timer, ns_to_ktime(EVERY_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static int __init slow_init(void)
{
	if (percent < 1 || percent > 100)
		return -EINVAL;
	/* The rest, for work, is 1 / (1 + percent / 100) of each millisecond. */
	busy_ns = (u64)EVERY_NS * percent / (100 + percent);
	on_each_cpu(start_here, NULL, 1);
	return 0;
}

static void __exit slow_exit(void)
{
	int cpu;

	for_each_online_cpu(cpu) hrtimer_cancel(per_cpu_ptr(&slow_timer, cpu));
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_DESCRIPTION("numaplace: a regression of known size, for tests of numaplace judge");
MODULE_LICENSE("GPL");
