// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <numaif.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target.h"

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08
#endif
#define DEVICE_START  0xf0000 /* the BIOS of a PC, which any kernel lets root read */
#define DEVICE_LENGTH 0x10000

static bool zeroes, all_same;
static int file = -1;

static uint64_t expected(size_t page, size_t word)
{
	if (all_same)
		page = 0;
	return zeroes ? 0 : page * 0x9e3779b97f4a7c15ULL ^ (word * 0xff51afd7ed558ccdULL + 1);
}

void fill_pages(size_t first, size_t n)
{
	for (size_t p = first; p < first + n; p++) {
		uint64_t *words = (uint64_t *)(memory + p * page_size);

		for (size_t w = COUNTERS; w < n_words; w++)
			words[w] = expected(p, w);
	}
}

size_t wrong_page(size_t first, size_t n)
{
	for (size_t p = first; p < first + n; p++) {
		const uint64_t *words = (uint64_t *)(memory + p * page_size);

		for (size_t w = COUNTERS; w < n_words; w++)
			if (words[w] != expected(p, w))
				return p;
	}
	return first + n;
}

void sync_memory(void)
{
	if (msync(memory, n_pages * page_size, MS_SYNC) || fsync(file))
		die("sync");
	puts("ok");
}

/* Aligned by hand, so that huge pages can be had. */
char *map_aligned(size_t length, int flags, int fd)
{
	char *area = mmap(NULL, length + HUGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *start = (char *)(((uintptr_t)area + HUGE_SIZE - 1) & -HUGE_SIZE);

	if (area == MAP_FAILED)
		die("mmap");
	if (start > area)
		munmap(area, start - area);
	munmap(start + length, area + HUGE_SIZE - start);
	start = mmap(start, length, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
	if (start == MAP_FAILED)
		die("mmap");
	return start;
}

/* In the folder that TARGET_DIR names; gone with the program, unless TARGET_FILE names the file. */
static int open_file(size_t length)
{
	const char *dir = getenv("TARGET_DIR"), *given = getenv("TARGET_FILE");
	char name[256];
	int fd;

	snprintf(name, sizeof(name), "%s/numaplace-target-XXXXXX", dir ? dir : "/tmp");
	fd = given ? open(given, O_RDWR | O_CREAT, 0600) : mkstemp(name);
	if (fd < 0 || ftruncate(fd, length))
		die(given ? given : name);
	if (!given)
		unlink(name);
	return fd;
}

static char *make_anon(size_t length)
{
	return map_aligned(length, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static char *make_shared(size_t length)
{
	return map_aligned(length, MAP_SHARED | MAP_ANONYMOUS, -1);
}

static char *make_memfd(size_t length)
{
	file = memfd_create("target", 0);
	if (file < 0 || ftruncate(file, length))
		die("memfd");
	return map_aligned(length, MAP_SHARED, file);
}

static char *make_segment(size_t length)
{
	int id = shmget(IPC_PRIVATE, length, 0600);
	char *start = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (start == (void *)-1 || shmctl(id, IPC_RMID, NULL))
		die("shmget");
	return start;
}

static char *make_secret(size_t length)
{
	file = syscall(SYS_memfd_secret, 0);
	if (file < 0 || ftruncate(file, length))
		die("memfd_secret");
	return map_aligned(length, MAP_SHARED, file);
}

/* In small folios, also where the file system has large ones for what is read ahead. */
static char *make_file(size_t length)
{
	char *start;

	file = open_file(length);
	start = map_aligned(length, MAP_SHARED, file);
	madvise(start, length, MADV_RANDOM);
	return start;
}

/* Written with write(2), which makes large folios where the file system has them, and never mapped before. */
static char *make_written_file(size_t length)
{
	file = open_file(length);
	memory = malloc(length);
	if (!memory)
		die("malloc");
	fill_pages(0, n_pages);
	if (pwrite(file, memory, length, 0) != (ssize_t)length)
		die("pwrite");
	free(memory);
	return map_aligned(length, MAP_SHARED, file);
}

/* A private mapping of a file with the pattern in it. */
static char *make_private_file(size_t length)
{
	char *shared = make_file(length);

	memory = shared;
	fill_pages(0, n_pages);
	munmap(shared, length);
	return map_aligned(length, MAP_PRIVATE, file);
}

static char *make_hugetlb(size_t length)
{
	return map_aligned(length, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
}

static char *make_droppable(size_t length)
{
	return map_aligned(length, MAP_DROPPABLE | MAP_ANONYMOUS, -1);
}

static char *make_device(size_t length)
{
	char *start;

	file = open("/dev/mem", O_RDONLY);
	start = mmap(NULL, length, PROT_READ, MAP_SHARED, file, DEVICE_START);
	if (file < 0 || length > DEVICE_LENGTH || start == MAP_FAILED)
		die("/dev/mem");
	return start;
}

static void read_all(void)
{
	for (size_t p = 0; p < n_pages; p++)
		(void)*(volatile char *)(memory + p * page_size);
}

/* The first half, so that the other is the file's still. */
static void copy_half(void)
{
	for (size_t p = 0; p < n_pages / 2; p++)
		*(volatile char *)(memory + p * page_size) = 0;
	read_all();
}

static void merge(void)
{
	if (madvise(memory, n_pages * page_size, MADV_MERGEABLE))
		die("MADV_MERGEABLE");
}

static void lock(void)
{
	if (mlock(memory, n_pages * page_size))
		die("mlock");
}

static void live_on(void)
{
	for (;;)
		pause();
}

static void fork_sharer(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live_on();
	}
}

/* The child maps the huge page by its pages, this process maps it whole. */
static void fork_splitter(void)
{
	int fds[2];
	pid_t child;
	char done;

	if (pipe(fds))
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mprotect(memory, page_size, PROT_READ) || write(fds[1], "", 1) != 1)
			die("mprotect");
		live_on();
	}
	if (read(fds[0], &done, 1) != 1)
		die("read");
}

/* Other references to the pages than from page tables: a pipe without a reader holds them. */
size_t hold_by_pipe(size_t n, size_t of)
{
	size_t held = 0;
	int fds[2];

	if (pipe(fds) || fcntl(fds[1], F_SETPIPE_SZ, 1 << 20) < 0)
		die("pipe");
	for (size_t p = 0; p < n_pages; p++) {
		struct iovec page = { .iov_base = memory + p * page_size, .iov_len = page_size };

		if (p % of < n &&
		    vmsplice(fds[1], &page, 1, SPLICE_F_NONBLOCK) == (ssize_t)page_size)
			held++;
	}
	return held;
}

static void hold_all(void)
{
	if (hold_by_pipe(1, 1) != n_pages)
		die("vmsplice");
}

enum contents { FILLED, ZEROES, THERE };

static const struct kind {
	const char *name;
	char *(*make)(size_t length);
	enum contents contents;
	bool large, same;
	void (*then)(void);
} kinds[] = {
	{ .name = "anon", .make = make_anon },
	{ .name = "sparse", .make = make_anon },
	{ .name = "thp", .make = make_anon, .large = true },
	{ .name = "thp-forked", .make = make_anon, .large = true, .then = fork_splitter },
	{ .name = "same", .make = make_anon, .same = true, .then = merge },
	{ .name = "mlock", .make = make_anon, .then = lock },
	{ .name = "forked", .make = make_anon, .then = fork_sharer },
	{ .name = "pipe", .make = make_anon, .then = hold_all },
	{ .name = "zero", .make = make_anon, .contents = ZEROES, .then = read_all },
	{ .name = "hole", .make = make_anon, .contents = ZEROES },
	{ .name = "droppable", .make = make_droppable },
	{ .name = "hugetlb", .make = make_hugetlb },
	{ .name = "shm", .make = make_shared },
	{ .name = "shm-huge", .make = make_shared, .large = true },
	{ .name = "memfd", .make = make_memfd },
	{ .name = "segment", .make = make_segment },
	{ .name = "secret", .make = make_secret },
	{ .name = "file", .make = make_file },
	{ .name = "file-written", .make = make_written_file, .contents = THERE, .then = read_all },
	{ .name = "file-mlock", .make = make_file, .then = lock },
	{ .name = "file-cow", .make = make_private_file },
	{ .name = "file-half", .make = make_private_file, .contents = THERE, .then = copy_half },
	{ .name = "device", .make = make_device, .contents = THERE },
};

static int set_binding(int node)
{
	unsigned long mask = 1UL << node;

	return mbind(memory, n_pages * page_size, MPOL_BIND, &mask, 8 * sizeof(mask), 0);
}

/* Pages that are there stay where they are. */
void bind_memory(unsigned long node)
{
	if (set_binding(node))
		die("mbind");
}

static void make_by(const struct kind *kind, int node)
{
	size_t length = n_pages * page_size;

	memory = kind->make(length);
	madvise(memory, length, kind->large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	all_same = kind->same;
	zeroes = kind->contents == ZEROES;
	if (node != NODE_BY_POLICY)
		if (set_binding(node) && kind->contents != THERE) /* of a device: cannot be bound */
			die("mbind");
	if (kind->contents == FILLED)
		fill_pages(0, n_pages);
	if (kind->then)
		kind->then();
}

/* NUMA balancing leaves memory with a policy of its own alone. */
void unbind(void)
{
	if (mbind(memory, n_pages * page_size, MPOL_DEFAULT, NULL, 0, 0))
		die("mbind");
}

void set_policy(int mode, unsigned long nodes)
{
	if (set_mempolicy(mode, nodes ? &nodes : NULL, nodes ? 8 * sizeof(nodes) : 0))
		die("set_mempolicy");
}

void make_memory(const char *name, int node)
{
	const struct kind *kind = kinds;
	unsigned long nodes;
	int mode;

	while (strcmp(kind->name, name))
		if (++kind == kinds + sizeof(kinds) / sizeof(kinds[0]))
			die(name);
	/* A word a page is enough where there are many of them. */
	n_words = strcmp(name, "sparse") ? page_size / sizeof(uint64_t) : COUNTERS + 1;
	if (node == NODE_BY_POLICY) {
		make_by(kind, node);
		return;
	}
	/* By a policy of the task as well, as some memory knows no other. */
	own_policy(&mode, &nodes);
	set_policy(MPOL_BIND, 1UL << node);
	make_by(kind, node);
	set_policy(mode, nodes);
}
