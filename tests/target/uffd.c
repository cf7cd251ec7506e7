// SPDX-License-Identifier: GPL-2.0-only
/* The memory watched by a userfaultfd, whose thread answers every fault and counts them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

static int uffd;
static volatile unsigned long faults;

static void answer(const struct uffd_msg *msg)
{
	struct uffdio_range page = {
		.start = msg->arg.pagefault.address & ~(page_size - 1),
		.len = page_size,
	};
	struct uffdio_writeprotect allow = { .range = page };
	struct uffdio_zeropage zero = { .range = page };
	bool wp = msg->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP;

	faults++;
	if (wp ? ioctl(uffd, UFFDIO_WRITEPROTECT, &allow) : ioctl(uffd, UFFDIO_ZEROPAGE, &zero))
		die("userfaultfd");
}

static void *serve(void *unused)
{
	struct uffd_msg msg;

	(void)unused;
	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg))
		if (msg.event == UFFD_EVENT_PAGEFAULT)
			answer(&msg);
	die("userfaultfd");
}

static void protect_all(void)
{
	struct uffdio_writeprotect forbid = {
		.range = { .start = (uintptr_t)memory, .len = n_pages * page_size },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	if (ioctl(uffd, UFFDIO_WRITEPROTECT, &forbid))
		die("write-protect");
}

/* "missing": faults of absent pages; "wp": writes, all pages being write-protected. */
void watch_faults(const char *what)
{
	bool wp = !strcmp(what, "wp");
	struct uffdio_api api = { .api = UFFD_API,
				  .features = wp ? UFFD_FEATURE_PAGEFAULT_FLAG_WP : 0 };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)memory, .len = n_pages * page_size },
		.mode = wp ? UFFDIO_REGISTER_MODE_WP : UFFDIO_REGISTER_MODE_MISSING,
	};
	pthread_t thread;

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &range))
		die("userfaultfd");
	if (wp)
		protect_all();
	if (pthread_create(&thread, NULL, serve, NULL))
		die("pthread_create");
	puts("ok");
}

void say_faults(void)
{
	printf("%lu\n", faults);
}
