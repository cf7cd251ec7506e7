// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table that all threads read. Pages lie on the node of the thread that writes them first:
 * allocated and filled by one thread, the whole table is on its node, and the others' reads are
 * remote. With the argument "fixed" each thread fills the part that it reads.
 *
 * cc -O2 -g -pthread -I ../lab/region first_touch.c
 */
#define _GNU_SOURCE
#include "numaplace_region.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE	    (16ul << 20)
#define MAX_THREADS 64
#define LINE	    64
#define HUGE_PAGE   (2ul << 20) /* a part that begins within one shares it with its neighbour */

static unsigned char *table;
static long threads;
static pthread_barrier_t filled;

struct worker {
	pthread_t thread;
	long index;
	int fixed;
	unsigned long sum;
};

static void fill(unsigned char *part, size_t bytes)
{
	memset(part, 1, bytes);
}

__attribute__((noinline)) static unsigned long scan(const unsigned char *part, size_t bytes)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < bytes; i += LINE)
		sum += part[i];
	return sum;
}

static void *work(void *data)
{
	struct worker *w = data;
	size_t bytes = TABLE / threads;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(w->index, &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
	if (w->fixed)
		fill(table + w->index * bytes, bytes);
	pthread_barrier_wait(&filled);
	NUMAPLACE_REGION_BEGIN("scan");
	w->sum = scan(table + w->index * bytes, bytes);
	NUMAPLACE_REGION_END("scan");
	return NULL;
}

int main(int argc, char *argv[])
{
	struct worker workers[MAX_THREADS] = { 0 };
	int fixed = argc > 1 && !strcmp(argv[1], "fixed");
	unsigned long sum = 0;

	threads = sysconf(_SC_NPROCESSORS_ONLN);
	threads = threads < MAX_THREADS ? threads : MAX_THREADS;
	table = aligned_alloc(HUGE_PAGE, TABLE);
	if (!table || pthread_barrier_init(&filled, NULL, threads))
		return 1;
	if (!fixed)
		fill(table, TABLE);
	for (long i = 0; i < threads; i++) {
		workers[i] = (struct worker) { .index = i, .fixed = fixed };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += workers[i].sum;
	}
	printf("%lu of %lu lines\n", sum, TABLE / LINE);
	return sum != TABLE / LINE / threads * threads;
}
