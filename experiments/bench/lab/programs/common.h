/* SPDX-License-Identifier: GPL-2.0-only */
/* What these programs share. A failure ends the program with one line. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity"), exit(1);
}

static inline void *map_memory(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		perror("mmap"), exit(1);
	return at;
}

static inline void *map_on_node(size_t bytes, unsigned int node)
{
	enum { BIND = 2 }; /* MPOL_BIND */
	unsigned long nodes = 1ul << node;
	void *at = map_memory(bytes);

	if (syscall(SYS_mbind, at, bytes, BIND, &nodes, 64, 0))
		perror("mbind"), exit(1);
	return at;
}

/* A cycle of chance through n places: Sattolo's shuffle. draw(i) is below i. The caller frees it. */
static inline uint32_t *make_cycle(size_t n, size_t (*draw)(size_t))
{
	uint32_t *order = malloc(n * sizeof(*order));

	if (!order)
		perror("malloc"), exit(1);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n - 1; i; i--) {
		size_t j = draw(i);
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
	return order;
}
