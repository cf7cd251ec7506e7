// SPDX-License-Identifier: GPL-2.0-only
/*
 * planted_table [remote [STATUS]]: reads a table of 10 MiB on CPU 0 in the region "scan", which
 * node 0 has, or, with "remote", the node of CPU 2.
 */
#define _GNU_SOURCE
#include "numaplace_region.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (10ul << 20)
#define LINE  64

static void bind(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

__attribute__((noinline)) static void fill(char *table)
{
	memset(table, 1, BYTES);
}

__attribute__((noinline)) static long scan(const char *table)
{
	long sum = 0;

	for (unsigned long i = 0; i < BYTES; i += LINE)
		sum += table[i];
	return sum;
}

int main(int argc, char **argv)
{
	char *table = malloc(BYTES);

	if (!table)
		return 1;
	bind(argc > 1 ? 2 : 0);
	fill(table);
	bind(0);
	NUMAPLACE_REGION_BEGIN("scan");
	printf("%ld\n", scan(table));
	NUMAPLACE_REGION_END("scan");
	return argc > 2 ? atoi(argv[2]) : 0;
}
