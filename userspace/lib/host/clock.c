// SPDX-License-Identifier: GPL-2.0-only
#include "clock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "topology.h"

/* user nice system idle iowait irq softirq steal; guest and guest_nice are in user. */
#define FIELDS 8

double np_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool simulated(void)
{
	static enum { UNKNOWN, NO, YES } known;

	if (known == UNKNOWN)
		known = np_machine_platform("") == NP_PLATFORM_LAB_TIMED ? YES : NO;
	return known == YES;
}

double np_clock_of_ticks(void)
{
	char *text = simulated() ? np_read_file("/proc/stat") : NULL, *at, *end;
	unsigned long long sum = 0;

	if (!text)
		return np_clock(CLOCK_MONOTONIC);
	/* The sums over all CPUs: "cpu  1 2 3 ..". */
	at = text + strcspn(text, " ");
	for (int i = 0; i < FIELDS; i++, at = end)
		sum += strtoull(at, &end, 10);
	free(text);
	return (double)sum / (double)sysconf(_SC_NPROCESSORS_ONLN) / (double)sysconf(_SC_CLK_TCK);
}

double np_clock_of_work(void)
{
	return np_clock(simulated() ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID);
}

double np_clock_worked(double worked)
{
	return simulated() ? worked : np_clock(CLOCK_PROCESS_CPUTIME_ID);
}
