// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the timer interrupts of each CPU where the plugin sees them: it sees
 * when a CPU resumes, not why. The tracepoint is not exported by name.
 */
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "lab.h"

static struct tracepoint *timer_entry;
static struct np_lab_shared *counted;

static void count(void *data, int vector)
{
	struct np_lab_shared *shared = data;
	u64 *ticks = &shared->cpu[smp_processor_id()].ticks;

	WRITE_ONCE(*ticks, *ticks + 1);
}

static void find(struct tracepoint *tracepoint, void *found)
{
	if (!strcmp(tracepoint->name, "local_timer_entry"))
		*(struct tracepoint **)found = tracepoint;
}

int numaplace_lab_ticks_count(struct np_lab_shared *shared)
{
	for_each_kernel_tracepoint(find, &timer_entry);
	if (!timer_entry) {
		pr_err("this kernel has no tracepoint local_timer_entry, without which idle CPUs' ticks take simulated time\n");
		return -ENOENT;
	}
	counted = shared;
	return tracepoint_probe_register(timer_entry, count, counted);
}

void numaplace_lab_ticks_forget(void)
{
	tracepoint_probe_unregister(timer_entry, count, counted);
	tracepoint_synchronize_unregister();
}
