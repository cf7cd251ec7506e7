// SPDX-License-Identifier: GPL-2.0-only
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

uint64_t np_host_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

uint64_t np_host_waited_ns(int fd)
{
	unsigned long long ran, waited;
	char text[96];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

int np_host_open_own(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

int np_host_open_main(void)
{
	return open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
}
