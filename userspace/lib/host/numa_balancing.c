// SPDX-License-Identifier: GPL-2.0-only
#include "numa_balancing.h"

#include <stdlib.h>

#include "proc.h"

int np_balancing_read(void)
{
	char *text = np_read_file("/proc/sys/kernel/numa_balancing");
	int value = text ? atoi(text) : -1;

	free(text);
	return value;
}

const char *np_balancing_text(int balancing)
{
	if (balancing <= 0)
		return NULL;
	return balancing & 1 ?
		       "NUMA balancing is on: the kernel moves tasks and pages as well, and may undo what a "
		       "policy does; `sysctl kernel.numa_balancing=0` turns it off" :
		       "NUMA balancing is on for memory tiering: the kernel promotes and demotes pages as "
		       "well; `sysctl kernel.numa_balancing=0` turns it off";
}
