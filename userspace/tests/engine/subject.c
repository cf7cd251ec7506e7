// SPDX-License-Identifier: GPL-2.0-only
#include "subject.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/base/error.h"
#include "../fixture.h"

#define TIMEOUT_US (60 * 1000 * 1000)

struct subject *subject;
struct np_err subject_err;

static void await(volatile int *value, int least)
{
	for (int waited = 0; *value < least && waited < TIMEOUT_US; waited += 100)
		usleep(100);
}

void subject_await_go(void)
{
	await(&subject->go, 1);
}

pid_t subject_await(volatile pid_t *value)
{
	await(value, 1);
	CU_ASSERT_FATAL(*value > 0);
	return *value;
}

pid_t subject_start(void (*body)(void))
{
	pid_t child;

	if (!subject)
		subject = mmap(NULL, sizeof(*subject), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*subject = (struct subject) { 0 };
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		while (true)
			pause();
	}
	CU_ASSERT_FATAL(child > 0); /* to be killed later: -1 is every process */
	return child;
}

const char *subject_cpus(pid_t tid)
{
	static char list[16][NP_LIST_LEN];
	static int turn;
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);
	char *text = list[turn++ % 16];

	np_affinity_get(tid, mask);
	np_list_format(mask, text, NP_LIST_LEN);
	numa_bitmask_free(mask);
	return text;
}

int subject_place_as(struct np_place_request r, const char *list)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);
	int e;

	np_list_parse_kernel(list, mask);
	r.cpus = mask;
	r.mem_mode = -1;
	r.inherit = true;
	e = np_affinity_place(&r, &subject_err);
	numa_bitmask_free(mask);
	return e;
}

int subject_place_by(const char *by, pid_t pid, const char *list)
{
	return subject_place_as((struct np_place_request) { .pid = pid, .by = by }, list);
}

int subject_place(pid_t pid, const char *list)
{
	return subject_place_by(NULL, pid, list);
}

void subject_set(pid_t tid, const char *list)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	np_list_parse_kernel(list, mask);
	CU_ASSERT_EQUAL(np_affinity_set(tid, mask), 0);
	numa_bitmask_free(mask);
}

size_t subject_restore(pid_t pid, size_t *kept)
{
	size_t n, left;

	CU_ASSERT_EQUAL(np_affinity_restore(NP_WHOSE(&pid), &n, &left, &subject_err), 0);
	if (kept)
		*kept = left;
	return n;
}

static void *plain_thread(void *unused)
{
	subject->thread = gettid();
	pause();
	return unused;
}

void subject_starts_thread(void)
{
	pthread_t thread;

	subject_await_go();
	pthread_create(&thread, NULL, plain_thread, NULL);
}

void subject_forks(void)
{
	pid_t child;

	subject_await_go();
	child = fork();
	if (child == 0)
		while (true)
			pause();
	subject->child = child;
}

void subject_forks_and_exits(void)
{
	setsid();
	subject_forks();
	await(&subject->go, 2);
	_exit(0);
}

void subject_waits(void)
{
}
