// SPDX-License-Identifier: GPL-2.0-only
/* The tasks that are placed, and what each has to have at the end, see fuzz_files.c. */
#include "fuzz_files.h"

#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#define SHARED_FD 100
#define MOST	  4 /* threads and children of a process at a time */

/* The first ones are the writers', with which tasks are placed; tasks choose the last ones. */
static const struct {
	int mode;
	unsigned long nodes;
} policies[FUZZ_POLICIES + 2] = {
	{ MPOL_DEFAULT, 0 },	    { MPOL_PREFERRED, 1 },
	{ MPOL_PREFERRED, 2 },	    { MPOL_BIND, 1 },
	{ MPOL_BIND, 2 },	    { MPOL_BIND, 3 },
	{ MPOL_INTERLEAVE, 3 },	    { MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, 3 },
	{ MPOL_PREFERRED_MANY, 3 },
};

/* CPUs that tasks choose themselves. */
static const unsigned long choices[] = { 0x7, 0xd };

static unsigned int threads;
static char *memory; /* of those that have not executed */

struct task {
	struct fuzz_draw draw;
	struct fuzz_own own;
	unsigned int slot;
};

static unsigned long cpus_now(void)
{
	unsigned long mask[16] = {};

	syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	return mask[0];
}

/* Before Linux 6.2 no choice of a user's is kept beside the CPUs that are set. */
static bool keeps_choice(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 2);
}

static bool is_own(unsigned long cpus, const struct fuzz_own *own)
{
	if (!own->chose_cpus)
		return cpus == shared->all_cpus;
	/* A choice at the moment of a write may be followed by the one that the write saved. */
	return cpus == choices[0] || cpus == choices[1] || cpus == (choices[0] & choices[1]) ||
	       (cpus == shared->all_cpus && !keeps_choice());
}

static void check(const struct fuzz_own *own, const char *what)
{
	unsigned long cpus = cpus_now(), nodes = 0;
	int mode = -1;

	syscall(SYS_get_mempolicy, &mode, &nodes, 64, NULL, 0);
	if (!is_own(cpus, own))
		fuzz_found("%s %ld has CPUs %#lx at the end%s", what, syscall(SYS_gettid), cpus,
			   own->chose_cpus ? " and chose others" : "");
	if (mode != policies[own->policy].mode || nodes != policies[own->policy].nodes)
		fuzz_found("%s %ld has policy %#x:%#lx at the end, not %#x:%#lx", what,
			   syscall(SYS_gettid), mode, nodes, policies[own->policy].mode,
			   policies[own->policy].nodes);
	__atomic_fetch_add(&shared->checked, 1, __ATOMIC_RELAXED);
}

static void wait_and_check(const struct fuzz_own *own, const char *what)
{
	while (!shared->check)
		usleep(2000);
	check(own, what);
}

/**
 * fuzz_end() - wait for the end, look at what the task has, and exit
 */
void fuzz_end(const struct fuzz_own *own, const char *what)
{
	wait_and_check(own, what);
	_exit(0);
}

void fuzz_set_policy(int policy)
{
	unsigned long nodes = policies[policy].nodes;

	if (syscall(SYS_set_mempolicy, policies[policy].mode, nodes ? &nodes : NULL,
		    nodes ? 65UL : 0UL))
		fuzz_found("set_mempolicy: %s", strerror(errno));
}

/* Every other target chooses CPUs and policies; the others have what they were started with. */
static void choose_own(struct task *task)
{
	unsigned long mask[16] = { choices[fuzz_random(&task->draw, 2)] };

	if (!(task->slot & 1))
		return;
	if (fuzz_random(&task->draw, 2)) {
		task->own.chose_cpus = 1;
		if (syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask))
			fuzz_found("sched_setaffinity: %s", strerror(errno));
	} else {
		task->own.policy = FUZZ_POLICIES + fuzz_random(&task->draw, 2);
		fuzz_set_policy(task->own.policy);
	}
}

static void enter(struct task *task)
{
	shared->recent[fuzz_random(&task->draw, FUZZ_RECENT)] = syscall(SYS_gettid);
}

/* A short life, after which a task ends, unless it is to be looked at. */
static void live(struct task *task, const char *what)
{
	enter(task);
	if (!fuzz_random(&task->draw, 3))
		choose_own(task);
	usleep(fuzz_random(&task->draw, 5000));
	if (shared->calm)
		wait_and_check(&task->own, what);
}

static void *run_thread(void *data)
{
	struct task task = *(struct task *)data;

	free(data);
	live(&task, "thread");
	__atomic_fetch_sub(&threads, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start_thread(struct task *task)
{
	struct task *copy;
	pthread_t thread;

	if (__atomic_load_n(&threads, __ATOMIC_SEQ_CST) >= MOST)
		return;
	copy = malloc(sizeof(*copy));
	*copy = *task;
	__atomic_fetch_add(&threads, 1, __ATOMIC_SEQ_CST);
	if (pthread_create(&thread, NULL, run_thread, copy)) {
		__atomic_fetch_sub(&threads, 1, __ATOMIC_SEQ_CST);
		free(copy);
	} else {
		pthread_detach(thread);
	}
}

static void execute(const struct task *task, const char *how)
{
	char words[4][32];

	snprintf(words[0], 32, "%lu", task->draw.state);
	snprintf(words[1], 32, "%u", task->slot);
	snprintf(words[2], 32, "%d", task->own.chose_cpus);
	snprintf(words[3], 32, "%d", task->own.policy);
	execl("/proc/self/exe", "fuzz_files", "target", words[0], words[1], words[2], words[3], how,
	      NULL);
}

static void fork_child(struct task *task)
{
	pid_t pid = fork();

	if (pid)
		return;
	if (!fuzz_random(&task->draw, 4))
		execute(task, "brief");
	live(task, "child");
	_exit(0);
}

static void run(struct task *task)
{
	signal(SIGCHLD, SIG_IGN);
	enter(task);
	while (!shared->calm) {
		switch (fuzz_random(&task->draw, 16)) {
		case 0:
		case 1:
			fork_child(task);
			break;
		case 2:
		case 3:
			start_thread(task);
			break;
		case 4:
			if (!fuzz_random(&task->draw, 8))
				execute(task, "long");
			break;
		case 5:
			if (!fuzz_random(&task->draw, 8))
				_exit(0);
			break;
		case 6:
			choose_own(task);
			break;
		case 7:
			if (memory)
				memory[fuzz_random(&task->draw, FUZZ_MEMORY)]++;
			break;
		default:
			usleep(fuzz_random(&task->draw, 4000));
		}
	}
	wait_and_check(&task->own, "target");
	while (__atomic_load_n(&threads, __ATOMIC_SEQ_CST))
		usleep(2000);
	_exit(0);
}

pid_t fuzz_start_target(unsigned long seed, unsigned int slot, unsigned long n)
{
	struct task task = { .slot = slot };
	pid_t pid = fork();

	if (pid)
		return pid;
	task.draw = fuzz_seed(seed, 1000 + slot, n);
	run(&task);
	return 0;
}

/**
 * fuzz_go_on() - of a task that has executed this program
 */
void fuzz_go_on(char **argv)
{
	struct task task = {
		.draw = { .state = strtoul(argv[0], NULL, 0) },
		.slot = atoi(argv[1]),
		.own = { .chose_cpus = atoi(argv[2]), .policy = atoi(argv[3]) },
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		exit(1);
	if (!strcmp(argv[4], "long"))
		run(&task);
	live(&task, "program");
	exit(0);
}

/**
 * fuzz_share() - make what all processes share
 */
void fuzz_share(void)
{
	int fd = memfd_create("fuzz_files", 0);

	memory = mmap(NULL, FUZZ_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (fd < 0 || memory == MAP_FAILED || dup2(fd, SHARED_FD) != SHARED_FD ||
	    ftruncate(fd, sizeof(*shared)))
		exit(1);
	close(fd);
	memset(memory, 1, FUZZ_MEMORY);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		exit(1);
	shared->memory = memory;
	shared->all_cpus = cpus_now();
}
