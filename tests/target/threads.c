// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <numaif.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "target.h"

static unsigned int n_threads;
static volatile bool stop;

static struct thread {
	pthread_t thread;
	pid_t tid;
	unsigned int index;
	bool counts;
	volatile bool ask, went_back;
	uint64_t rounds;
	int mode;
	unsigned long nodes;
} threads[COUNTERS];

/* Results of the readers, shared with readers that are processes of their own. */
static struct reading {
	volatile unsigned long rounds, wrong;
} *reading;
static unsigned int n_readers;

void say_policy(int mode, unsigned long nodes)
{
	printf("%d %lx\n", mode, nodes);
}

void own_policy(int *mode, unsigned long *nodes)
{
	*nodes = 0;
	if (get_mempolicy(mode, nodes, 8 * sizeof(*nodes) + 1, NULL, 0))
		die("get_mempolicy");
}

static uint64_t *counter(size_t page, unsigned int index)
{
	return (uint64_t *)(memory + page * page_size) + index;
}

/* Adds to its own counter in every page, and to all threads'; a count that is lost is noticed. */
static void *count(void *data)
{
	struct thread *t = data;

	t->tid = gettid();
	for (; !stop; t->rounds++) {
		for (size_t p = 0; p < n_pages; p++) {
			volatile uint64_t *own = counter(p, t->index);

			if (*own != t->rounds)
				t->went_back = true;
			*own = t->rounds + 1;
			__atomic_fetch_add(counter(p, COMMON), 1, __ATOMIC_RELAXED);
		}
		if (t->ask) {
			own_policy(&t->mode, &t->nodes);
			t->ask = false;
		}
	}
	return NULL;
}

static void *sleep_on(void *data)
{
	struct thread *t = data;

	t->tid = gettid();
	for (;;)
		pause();
	return NULL;
}

static void *spin(void *data)
{
	struct thread *t = data;

	for (t->tid = gettid(); !stop;)
		;
	return NULL;
}

static void *sleep_shortly(void *unused)
{
	usleep(50000);
	return unused;
}

/* Starts short threads without end. */
static void *storm(void *data)
{
	struct thread *t = data;
	pthread_t thread;

	for (t->tid = gettid(); !stop; usleep(2000))
		if (!pthread_create(&thread, NULL, sleep_shortly, NULL))
			pthread_detach(thread);
	return NULL;
}

static volatile unsigned long allocations;

static void *allocate(void *data)
{
	struct thread *t = data;

	for (t->tid = gettid();; allocations++) {
		char *start = map_aligned(8 * page_size, MAP_PRIVATE | MAP_ANONYMOUS, -1);

		memset(start, 1, 8 * page_size);
		munmap(start, 8 * page_size);
	}
	return NULL;
}

/* Too small for a huge page, so that only the memory has any. */
void use_small_stacks(void)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, SMALL_STACK) ||
	    pthread_setattr_default_np(&attr))
		die("stacks");
}

static struct thread *start(void *(*run)(void *))
{
	struct thread *t = &threads[n_threads];

	t->index = n_threads++;
	t->counts = run == count;
	if (n_threads > COMMON || pthread_create(&t->thread, NULL, run, t))
		die("pthread_create");
	while (!*(volatile pid_t *)&t->tid)
		usleep(100);
	return t;
}

void start_counting(unsigned long n)
{
	while (n--)
		start(count);
}

void start_sleeping(void)
{
	printf("%d\n", start(sleep_on)->tid);
}

void start_sleepers(unsigned long n)
{
	while (n--)
		start(sleep_on);
}

void start_spinning(unsigned long n)
{
	while (n--)
		start(spin);
}

void start_storm(void)
{
	start(storm);
}

void start_allocating(void)
{
	printf("%d\n", start(allocate)->tid);
}

void say_allocations(void)
{
	printf("%lu\n", allocations);
}

void say_thread_policy(unsigned long index)
{
	struct thread *t = &threads[index];

	t->ask = true;
	while (t->ask)
		usleep(100);
	say_policy(t->mode, t->nodes);
}

void say_counters(void)
{
	for (unsigned int i = 0; i < n_threads; i++) {
		if (threads[i].went_back) {
			printf("thread %u lost a count\n", i);
			return;
		}
	}
	puts("ok");
}

/* Every count that was made must be there, each thread's and the sum of all. */
void stop_counting(void)
{
	uint64_t sum = 0;

	stop = true;
	for (unsigned int i = 0; i < n_threads; i++) {
		if (!threads[i].counts)
			continue;
		pthread_join(threads[i].thread, NULL);
		sum += threads[i].rounds;
	}
	for (size_t p = 0; p < n_pages; p++) {
		for (unsigned int i = 0; i < n_threads; i++) {
			if (threads[i].counts && *counter(p, i) != threads[i].rounds) {
				printf("page %zu lost a count of thread %u\n", p, i);
				return;
			}
		}
		if (*counter(p, COMMON) != sum) {
			printf("page %zu lost a count of them all\n", p);
			return;
		}
	}
	printf("ok %lu\n", (unsigned long)sum);
}

static void *read_on(void *data)
{
	struct reading *r = data;

	for (;; r->rounds++)
		if (wrong_page(0, n_pages) != n_pages)
			r->wrong++;
	return NULL;
}

static struct reading *new_reader(void)
{
	if (!reading)
		reading = mmap(NULL, COUNTERS * sizeof(*reading), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reading == MAP_FAILED || n_readers == COUNTERS)
		die("readers");
	return &reading[n_readers++];
}

void start_reading(unsigned long n)
{
	pthread_t thread;

	while (n--)
		if (pthread_create(&thread, NULL, read_on, new_reader()))
			die("pthread_create");
	puts("ok");
}

void start_reading_processes(unsigned long n)
{
	while (n--) {
		struct reading *r = new_reader();
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			read_on(r);
		}
	}
	puts("ok");
}

/* "ok ROUNDS": that every reader made since it was asked last, at least one each. */
void say_readers(void)
{
	unsigned long rounds = 0, before[COUNTERS];

	for (unsigned int i = 0; i < n_readers; i++)
		before[i] = reading[i].rounds;
	for (unsigned int i = 0; i < n_readers; i++) {
		while (reading[i].rounds == before[i])
			usleep(100);
		rounds += reading[i].rounds;
		if (reading[i].wrong) {
			printf("reader %u saw wrong contents\n", i);
			return;
		}
	}
	printf("ok %lu\n", rounds);
}
