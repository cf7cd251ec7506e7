// SPDX-License-Identifier: GPL-2.0-only
/*
 * An io_uring of the program: registered buffers pin the memory, and the kernel's own threads work
 * in it.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target.h"

#define ENTRIES 8

static struct io_uring_params params;
static struct io_uring_sqe *entries;
static char *ring;
static int fd, fds[2];

static unsigned int *word(unsigned int offset)
{
	return (unsigned int *)(ring + offset);
}

/* With a thread of the kernel that polls for entries, or without. */
static void open_ring(unsigned int flags)
{
	size_t length;

	params.flags = flags;
	params.sq_thread_idle = 100; /* ms */
	fd = syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (fd < 0)
		die("io_uring_setup");
	length = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	ring = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	entries = mmap(NULL, ENTRIES * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       IORING_OFF_SQES);
	if (!(params.features & IORING_FEAT_SINGLE_MMAP) || ring == MAP_FAILED ||
	    entries == MAP_FAILED)
		die("the ring");
}

static void submit(const struct io_uring_sqe *entry)
{
	unsigned int tail = *word(params.sq_off.tail), mask = *word(params.sq_off.ring_mask);

	entries[tail & mask] = *entry;
	word(params.sq_off.array)[tail & mask] = tail & mask;
	__atomic_store_n(word(params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	if (!(params.flags & IORING_SETUP_SQPOLL)) {
		if (syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) != 1)
			die("io_uring_enter");
		return;
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (*(volatile unsigned int *)word(params.sq_off.flags) & IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

static int result(void)
{
	unsigned int head = *word(params.cq_off.head);
	const struct io_uring_cqe *done = (void *)(ring + params.cq_off.cqes);
	int res;

	while (__atomic_load_n(word(params.cq_off.tail), __ATOMIC_ACQUIRE) == head)
		usleep(100);
	res = done[head & *word(params.cq_off.ring_mask)].res;
	__atomic_store_n(word(params.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return res;
}

static void register_memory(void)
{
	struct iovec all = { .iov_base = memory, .iov_len = n_pages * page_size };

	open_ring(0);
	if (syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, &all, 1))
		die("io_uring_register");
}

static void unregister_memory(void)
{
	if (syscall(SYS_io_uring_register, fd, IORING_UNREGISTER_BUFFERS, NULL, 0))
		die("io_uring_register");
}

/* A worker of the kernel waits in read(2), for what will stand in the memory. */
static void read_by_worker(void)
{
	struct io_uring_sqe read = { .opcode = IORING_OP_READ, .flags = IOSQE_ASYNC };

	open_ring(0);
	if (pipe(fds))
		die("pipe");
	read.fd = fds[0];
	read.addr = (uintptr_t)memory;
	read.len = sizeof(uint64_t);
	submit(&read);
}

static void finish_read(void)
{
	const uint64_t value = 0x123456789abcdef;

	if (write(fds[1], &value, sizeof(value)) != sizeof(value) || result() != sizeof(value) ||
	    *(const uint64_t *)memory != value)
		die("the worker's read");
}

static void finish_nop(void)
{
	const struct io_uring_sqe nop = { .opcode = IORING_OP_NOP };

	submit(&nop);
	if (result())
		die("the poller's nop");
}

static void poll_by_kernel(void)
{
	open_ring(IORING_SETUP_SQPOLL);
	finish_nop();
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	/* clang-format off */
	{ "pin", register_memory },
	{ "unpin", unregister_memory },
	{ "worker", read_by_worker },
	{ "worker-ends", finish_read },
	{ "poller", poll_by_kernel },
	{ "poller-works", finish_nop },
	/* clang-format on */
};

void use_ring(const char *how)
{
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (!strcmp(how, acts[i].name)) {
			acts[i].act();
			puts("ok");
			return;
		}
	}
	die(how);
}
