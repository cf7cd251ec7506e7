// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

void churn(unsigned long times)
{
	const size_t length = 16 * page_size;

	while (times--) {
		char *start = map_aligned(length, MAP_PRIVATE | MAP_ANONYMOUS, -1);

		memset(start, 1, length);
		mprotect(start, length, PROT_READ);
		start = mremap(start, length, 2 * length, MREMAP_MAYMOVE);
		if (start == MAP_FAILED || start[0] != 1 || start[length - 1] != 1 ||
		    munmap(start, 2 * length))
			die("churn");
	}
	puts("ok");
}

/* A child that sleeps, once it has looked at the contents where it reads. */
void start_child(bool reads, bool outlives)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		if (!outlives)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (reads && wrong_page(0, n_pages) != n_pages)
			die("wrong contents");
		for (;;)
			pause();
	}
	printf("%d\n", child);
}

/* A child that ends by itself after so long, and that its parent does not wait for. */
void start_brief_child(unsigned long us)
{
	pid_t child;

	signal(SIGCHLD, SIG_IGN);
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		usleep(us);
		_exit(0);
	}
	printf("%d\n", child);
}

/* A tree of processes that sleep: each has WIDTH children, down to DEPTH. */
static void grow(unsigned int depth, unsigned int width)
{
	for (unsigned int i = 0; depth && i < width; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			grow(depth - 1, width);
			for (;;)
				pause();
		}
	}
}

void start_tree(unsigned int depth, unsigned int width)
{
	grow(depth, width);
	puts("ok");
}

static void expect_zeroes(const char *start, size_t length)
{
	for (size_t i = 0; i < length; i += sizeof(uint64_t))
		if (*(const uint64_t *)(start + i))
			die("there is something where nothing should be");
}

static void expect_pattern(size_t first, size_t n)
{
	if (wrong_page(first, n) != first + n)
		die("wrong contents");
}

static void throw_away(size_t first, size_t n)
{
	char *start = memory + first * page_size;

	if (madvise(start, n * page_size, MADV_DONTNEED))
		die("madvise");
	expect_zeroes(start, n * page_size);
	fill_pages(first, n);
}

static void map_anew(size_t first, size_t n)
{
	char *start = memory + first * page_size;

	if (munmap(start, n * page_size) ||
	    mmap(start, n * page_size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start)
		die("mmap");
	expect_zeroes(start, n * page_size);
	fill_pages(first, n);
}

/* There and back again. */
static void remap(size_t first, size_t n)
{
	static char *elsewhere;
	char *start = memory + first * page_size;
	const int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;

	if (!elsewhere)
		elsewhere = map_aligned(n_pages * page_size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (mremap(start, n * page_size, n * page_size, fixed, elsewhere) != elsewhere ||
	    mremap(elsewhere, n * page_size, n * page_size, fixed, start) != start)
		die("mremap");
	expect_pattern(first, n);
}

static void protect(size_t first, size_t n)
{
	char *start = memory + first * page_size;

	if (mprotect(start, n * page_size, PROT_READ))
		die("mprotect");
	expect_pattern(first, n);
	if (mprotect(start, n * page_size, PROT_READ | PROT_WRITE))
		die("mprotect");
	fill_pages(first, n);
}

/* The child reads what was there; both write to their own copies. */
static void fork_child(size_t first, size_t n)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		die("fork");
	if (!child) {
		expect_pattern(first, n);
		memset(memory + first * page_size, 0xff, n * page_size);
		_exit(0);
	}
	fill_pages(first, n);
	if (waitpid(child, &status, 0) != child || status)
		die("the child");
	expect_pattern(first, n);
}

/* Grows its stack and its heap, which then shrink. */
static void grow_stack(size_t first, size_t n)
{
	char stack[64 << 10], *heap = malloc(n * page_size);

	if (!heap)
		die("malloc");
	memset(stack, 1, sizeof(stack));
	memset(heap, 1, n * page_size);
	if (n > 1)
		grow_stack(first, n / 2);
	for (size_t i = 0; i < sizeof(stack); i++)
		if (stack[i] != 1 || heap[i % (n * page_size)] != 1)
			die("the stack or the heap");
	free(heap);
}

static const struct {
	const char *name;
	void (*disturb)(size_t first, size_t n);
} ways[] = {
	/* clang-format off */
	{ "dontneed", throw_away },
	{ "unmap", map_anew },
	{ "remap", remap },
	{ "protect", protect },
	{ "fork", fork_child },
	{ "grow", grow_stack },
	/* clang-format on */
};

/*
 * Does it so often to half of the pages, and looks whether they, and the others, are as they should
 * be.
 */
void disturb(const char *how, size_t times)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(how, ways[i].name))
			continue;
		for (; times; times--)
			ways[i].disturb(times % (n_pages / 2), n_pages / 2);
		expect_pattern(0, n_pages);
		puts("ok");
		return;
	}
	die(how);
}
