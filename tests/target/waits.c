// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that measure how they are held up: for how long, and whether their system calls are cut
 * short.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

#define BUFFER (2UL << 20)
#define PARTS  1024

static volatile uint64_t longest;
static volatile unsigned long naps, cut_short;
static volatile unsigned long signals;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Runs all the time, and so sees when it did not. */
static void *measure(void *unused)
{
	uint64_t before = now(), after;

	(void)unused;
	for (;; before = after) {
		after = now();
		if (after - before > longest)
			longest = after - before;
	}
	return NULL;
}

static void *nap(void *unused)
{
	const struct timespec short_time = { .tv_nsec = 100000 };

	(void)unused;
	for (;; naps++)
		if (nanosleep(&short_time, NULL))
			cut_short++;
	return NULL;
}

/*
 * Random numbers for seconds in each system call, all into the same memory: in the kernel nearly
 * always.
 */
static void *read_random(void *unused)
{
	int fd = open("/dev/urandom", O_RDONLY);
	char *buffer = malloc(BUFFER);
	struct iovec parts[PARTS];

	(void)unused;
	for (unsigned int i = 0; i < PARTS; i++)
		parts[i] = (struct iovec) { .iov_base = buffer, .iov_len = BUFFER };
	while (fd >= 0 && buffer && readv(fd, parts, PARTS) > 0)
		;
	die("/dev/urandom");
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		die("pthread_create");
	puts("ok");
}

void start_reading_random(void)
{
	start(read_random);
}

void start_measuring(void)
{
	start(measure);
}

/* The longest time that the thread did not run since it was asked last, in microseconds. */
void say_longest(void)
{
	printf("%lu\n", (unsigned long)(longest / 1000));
	longest = 0;
}

void start_napping(void)
{
	start(nap);
}

void say_naps(void)
{
	printf("%lu %lu\n", naps, cut_short);
}

static void count_signal(int number)
{
	(void)number;
	__atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
}

void start_handling(unsigned long number)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };

	if (sigaction(number, &action, NULL))
		die("sigaction");
	puts("ok");
}

void say_signals(void)
{
	printf("%lu\n", signals);
}

/* The parent is suspended in vfork(2) while the child, in the same memory, looks at every page. */
static void look_once(void)
{
	pid_t child = vfork();
	int status;

	if (child < 0)
		die("vfork");
	if (!child)
		_exit(wrong_page(0, n_pages) != n_pages);
	if (waitpid(child, &status, 0) != child || status)
		die("the child");
}

void look_by_vfork(unsigned long times)
{
	while (times--)
		look_once();
	puts("ok");
}
