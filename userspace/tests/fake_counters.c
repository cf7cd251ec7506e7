// SPDX-License-Identifier: GPL-2.0-only
#include "fake_counters.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef FAKE_COUNTERS /* true: of the program that preloads it */
#define FAKE_COUNTERS false
#endif

bool fake_counters = FAKE_COUNTERS, fake_counters_of_kernel;
int fake_counters_refuse;

int access(const char *path, int mode)
{
	int (*real)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");

	return fake_counters && !strcmp(path, "/sys/bus/event_source/devices/cpu") ?
		       0 :
		       real(path, mode);
}

/* It reads six arguments as libc does, where callers give fewer. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	struct perf_event_attr attr;
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (fake_counters && number == SYS_perf_event_open) {
		if (fake_counters_refuse) {
			errno = fake_counters_refuse;
			return -1;
		}
		memcpy(&attr, (const void *)arg[0], sizeof(attr));
		fake_counters_of_kernel |= !attr.exclude_kernel;
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
		attr.config1 = attr.config2 = 0;
		arg[0] = (long)&attr;
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
