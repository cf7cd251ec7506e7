// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts tasks in every way, as fast as it can, each of which ends soon after.
 * SIGTERM makes it calm: no task starts or ends, all of them sleep in futex(2),
 * until SIGUSR1. Each has the CPUs and the memory policy of the first, or, with
 * "own", those that it or one that it descends from has chosen, once for each. A
 * task's name says what was chosen, "0,3/prefer:0"; "-" is nothing.
 *
 * storm SEED [own]		the storm
 * storm brief FD US NAME	the program that it executes: a task that lives so long
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY	(16UL << 20) /* so that a fork takes a while */
#define MAX_US	3000
#define LONGER	4096 /* times as long lives one in four: until it is calm */
#define THREADS 8    /* at a time */
#define NAME	16   /* of a task, with its end */

static int shared; /* holds the word that all tasks of the storm share */
static int *calm;
static int threads;
static int chooses; /* whether tasks choose CPUs and policies */
extern char **environ;

static void become_calm(int signal)
{
	(void)signal;
	__atomic_store_n(calm, 1, __ATOMIC_SEQ_CST);
}

static void rage_on(int signal)
{
	(void)signal;
	__atomic_store_n(calm, 0, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, calm, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void sleep_while_calm(void)
{
	while (__atomic_load_n(calm, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, calm, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void choose_cpus(const char *policy)
{
	int other = random() % 2; /* CPUs 0 and 3, or 1 and 3: not as the test places tasks */
	char name[NAME];
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(other, &cpus);
	CPU_SET(3, &cpus);
	snprintf(name, sizeof(name), "%d,3%.11s", other, policy);
	if (!sched_setaffinity(0, sizeof(cpus), &cpus))
		prctl(PR_SET_NAME, name);
}

static void choose_policy(const char *cpus, int length)
{
	int bind = random() % 2;
	unsigned long nodes = 1;
	char name[NAME];

	snprintf(name, sizeof(name), "%.*s/%s:0", length, cpus, bind ? "bind" : "prefer");
	if (!syscall(SYS_set_mempolicy, bind ? MPOL_BIND : MPOL_PREFERRED, &nodes, 64))
		prctl(PR_SET_NAME, name);
}

/* One of what this task has not chosen yet. */
static void choose(void)
{
	char name[NAME];
	const char *policy;

	prctl(PR_GET_NAME, name);
	policy = strchr(name, '/');
	if (!chooses || !policy)
		return;
	if (random() % 2 && *name == '-')
		choose_cpus(policy);
	else if (policy[1] == '-')
		choose_policy(name, (int)(policy - name));
}

static void live(unsigned long us)
{
	if (random() % 4 == 0)
		choose();
	usleep(us);
	sleep_while_calm();
}

static unsigned long lifetime(void)
{
	unsigned long us = random() % MAX_US;

	return random() % 4 ? us : us * LONGER;
}

static void *run_thread(void *us)
{
	live((unsigned long)us);
	__atomic_fetch_sub(&threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void start_thread(unsigned long us)
{
	pthread_t thread;

	if (__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) > THREADS ||
	    pthread_create(&thread, NULL, run_thread, (void *)us))
		__atomic_fetch_sub(&threads, 1, __ATOMIC_RELAXED);
	else
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
	live(us);
	_exit(0);
}

static void execute(unsigned long us)
{
	char fd[16], life[32], name[NAME], *argv[] = { "storm", "brief", fd, life, name, NULL };
	pid_t pid;

	prctl(PR_GET_NAME, name);
	snprintf(fd, sizeof(fd), "%d", shared);
	snprintf(life, sizeof(life), "%lu", us);
	posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
}

static void start_another(void)
{
	unsigned long us = lifetime();

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
	default:
		start_thread(us);
		break;
	}
}

static int *map(int fd)
{
	int *word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (word == MAP_FAILED)
		exit(1);
	return word;
}

static void prepare(void)
{
	char *memory;

	shared = memfd_create("storm", 0);
	if (shared < 0 || ftruncate(shared, sizeof(*calm)))
		exit(1);
	calm = map(shared);
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, MEMORY, MADV_NOHUGEPAGE);
	memset(memory, 1, MEMORY);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "brief")) {
		prctl(PR_SET_NAME, argv[4]);
		calm = map(atoi(argv[2]));
		live(atol(argv[3]));
		return 0;
	}
	if (argc < 2)
		return 2;
	chooses = argc > 2;
	prctl(PR_SET_NAME, "-/-");
	srandom(atoi(argv[1]));
	prepare();
	signal(SIGCHLD, SIG_IGN);
	signal(SIGTERM, become_calm);
	signal(SIGUSR1, rage_on);
	for (;;) {
		sleep_while_calm();
		start_another();
		if (random() % 4 == 0)
			usleep(random() % MAX_US);
	}
}
