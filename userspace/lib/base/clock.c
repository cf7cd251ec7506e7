// SPDX-License-Identifier: GPL-2.0-only
#include "clock.h"

uint64_t np_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double np_clock(clockid_t clock)
{
	return (double)np_clock_ns(clock) / 1e9;
}
