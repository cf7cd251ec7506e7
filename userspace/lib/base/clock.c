// SPDX-License-Identifier: GPL-2.0-only
#include "clock.h"

double np_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
