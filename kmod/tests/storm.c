// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts and ends tasks in every way, as fast as it can, until SIGTERM. Then it
 * and those that it has started to stay sleep until they are killed. None of them
 * ever sets its own CPUs or memory policy, so they have those of the first.
 *
 * storm SEED	the storm
 * storm brief US	what it executes: sleeps so long and ends
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY		(16UL << 20)	/* so that a fork takes a while */
#define STAYING		6		/* processes, and threads */
#define MAX_US		3000
#define THREADS		8		/* brief ones at a time */

static volatile sig_atomic_t over;
static unsigned int staying_processes, staying_threads;
static volatile int brief_threads;
extern char **environ;

static void end_storm(int signal)
{
	(void)signal;
	over = true;
}

static void stay(void)
{
	for (;;)
		pause();
}

static void *run_briefly(void *us)
{
	usleep((unsigned long)us);
	__atomic_fetch_sub(&brief_threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *run_on(void *unused)
{
	stay();
	return unused;
}

static void start_thread(void *(*run)(void *), unsigned long us)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, run, (void *)us))
		pthread_detach(thread);
}

static void fork_child(unsigned int depth, unsigned long us)
{
	if (fork())
		return;
	if (depth)
		fork_child(depth - 1, us);
	if (us & 1)
		*(volatile char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
	usleep(us);
	_exit(0);
}

static void execute(unsigned long us)
{
	char number[32], *argv[] = { "storm", "brief", number, NULL };
	pid_t pid;

	snprintf(number, sizeof(number), "%lu", us);
	posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
}

static void start_another(void)
{
	unsigned long us = random() % MAX_US;

	switch (random() % 8) {
	case 0:
	case 1:
		fork_child(0, us);
		break;
	case 2:
		fork_child(2, us);
		break;
	case 3:
		execute(us);
		break;
	case 4:
	case 5:
		if (__atomic_add_fetch(&brief_threads, 1, __ATOMIC_RELAXED) <= THREADS)
			start_thread(run_briefly, us);
		else
			__atomic_fetch_sub(&brief_threads, 1, __ATOMIC_RELAXED);
		break;
	case 6:
		if (random() % 16 == 0 && staying_threads < STAYING) {
			staying_threads++;
			start_thread(run_on, 0);
		}
		break;
	case 7:
		if (random() % 16 == 0 && staying_processes < STAYING) {
			staying_processes++;
			if (!fork())
				stay();
		}
		break;
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = end_storm };
	char *memory;

	if (argc == 3 && !strcmp(argv[1], "brief")) {
		usleep(atoi(argv[2]));
		return 0;
	}
	if (argc != 2)
		return 2;
	srandom(atoi(argv[1]));
	signal(SIGCHLD, SIG_IGN);
	sigaction(SIGTERM, &act, NULL);
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, MEMORY, MADV_NOHUGEPAGE);
	memset(memory, 1, MEMORY);
	while (!over) {
		start_another();
		if (random() % 4 == 0)
			usleep(random() % MAX_US);
	}
	while (__atomic_load_n(&brief_threads, __ATOMIC_RELAXED))
		usleep(1000);
	stay();
}
