// SPDX-License-Identifier: GPL-2.0-only
/*
 * For LD_PRELOAD, where there are no processor counters (virtual machines): each
 * event of perf becomes the kernel's task clock. The files are perf's own; only
 * what they count is not what was asked for.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int access(const char *path, int mode)
{
	int (*real)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");

	return strcmp(path, "/sys/bus/event_source/devices/cpu") ? real(path, mode) : 0;
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	struct perf_event_attr attr;
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_perf_event_open) {
		memcpy(&attr, (const void *)arg[0], sizeof(attr));
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
		attr.config1 = attr.config2 = 0;
		arg[0] = (long)&attr;
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
