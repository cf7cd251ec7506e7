// SPDX-License-Identifier: GPL-2.0-only
#include "host_time.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t np_host_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int np_host_open_state(void)
{
	return open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
}

bool np_host_runnable(int fd)
{
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *name_end;

	if (n <= 0)
		return false;
	text[n] = '\0';
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}
