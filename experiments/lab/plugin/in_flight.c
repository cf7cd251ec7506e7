// SPDX-License-Identifier: GPL-2.0-only
#include "in_flight.h"
#include "cpu.h"
#include "host_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t
	asked_ns; /* when the guest last wrote to a device; 0: all that it asked for is done */
static uint64_t looks = 1, seen_looks; /* of the main loop */
static uint64_t quiet_ns;	       /* asked_ns of the last one if no thread was at work then */

void np_in_flight_ask(void)
{
	np_write(asked_ns, np_host_ns());
}

/* In which QEMU's threads wait for work. */
static bool is_wait(long call)
{
	return call == SYS_futex || call == SYS_poll || call == SYS_ppoll ||
	       call == SYS_nanosleep || call == SYS_clock_nanosleep ||
	       call == SYS_restart_syscall; /* one of these, after QEMU was stopped and went on */
}

static bool is_waiting(const char *thread)
{
	char path[64], text[32];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/syscall", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* it has ended */
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return text[0] >= '0' && text[0] <= '9' && is_wait(strtol(text, NULL, 10));
}

/* Of another thread than this one: requests of 9p are carried out by threads of a pool. */
static bool any_at_work(void)
{
	DIR *tasks = opendir("/proc/self/task");
	bool at_work = !tasks;
	struct dirent *entry;

	while (tasks && !at_work && (entry = readdir(tasks)))
		at_work = entry->d_name[0] != '.' && atoi(entry->d_name) != gettid() &&
			  !is_waiting(entry->d_name);
	if (tasks)
		closedir(tasks);
	return at_work;
}

void np_in_flight_looked(void)
{
	looks++;
}

/*
 * Done is what no thread works at, twice, with a look of the main loop at its files in between: what
 * a thread had just finished has been handed to the guest by then.
 */
bool np_in_flight_any(void)
{
	uint64_t asked = np_read(asked_ns);

	if (!asked)
		return false;
	if (looks == seen_looks)
		return true;
	seen_looks = looks;
	if (np_host_ns() - asked < NP_IN_FLIGHT_GRACE_NS || any_at_work()) {
		quiet_ns = 0;
		return true;
	}
	if (quiet_ns != asked) {
		quiet_ns = asked;
		return true;
	}
	return !__atomic_compare_exchange_n(&asked_ns, &asked, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}
