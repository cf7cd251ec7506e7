// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timer ticks follow the host's clock, so that a CPU whose simulated time
 * passes fifty times slower has fifty times too many. Those of three idle CPUs
 * took a tenth of what the host did for the fourth, those of many are all that
 * it does. All but the first, which counts jiffies, tick half as often here,
 * and less often the more of them there are.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>

#include <asm/apic.h>

#include "lab.h"

#define SLOWER_AT_LEAST 2
#define CPUS_EACH	12 /* of a machine, for each time slower */

static int state;

static unsigned int slower(void)
{
	return max(SLOWER_AT_LEAST, DIV_ROUND_UP(num_present_cpus(), CPUS_EACH));
}

/* The kernel writes the period once, when a CPU comes up: its ticks are periodic in the lab. */
static void set_period(u32 count)
{
	if (x2apic_enabled())
		native_apic_msr_write(APIC_TMICT, count);
	else
		native_apic_mem_write(APIC_TMICT, count);
}

static u32 period(void)
{
	return x2apic_enabled() ? native_apic_msr_read(APIC_TMICT) :
				  native_apic_mem_read(APIC_TMICT);
}

static int slow_down(unsigned int cpu)
{
	u64 count = (u64)period() * slower();

	if (cpu)
		set_period(min_t(u64, count, U32_MAX));
	return 0;
}

static int speed_up(unsigned int cpu)
{
	if (cpu)
		set_period(period() / slower());
	return 0;
}

int numaplace_lab_ticks_slow(void)
{
	int ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "numaplace_lab:online", slow_down,
				    speed_up);

	state = ret;
	return ret < 0 ? ret : 0;
}

void numaplace_lab_ticks_restore(void)
{
	cpuhp_remove_state(state);
}
