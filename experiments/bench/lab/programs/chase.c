// SPDX-License-Identifier: GPL-2.0-only
/*
 * chase MIB SECONDS: nanoseconds of a load that depends on the one before, over one random cycle of
 * lines.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64

struct line {
	struct line *next;
	char rest[LINE - sizeof(struct line *)];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static size_t random_below(uint64_t *state, size_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % n;
}

/* Sattolo's shuffle: the permutation is a single cycle. */
static void link_lines(struct line *line, size_t n)
{
	size_t *order = malloc(n * sizeof(*order));
	uint64_t state = 88172645463325252ull;

	if (!order)
		exit(1);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n - 1; i; i--) {
		size_t j = random_below(&state, i), kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < n; i++)
		line[order[i]].next = &line[order[(i + 1) % n]];
	free(order);
}

int main(int argc, char **argv)
{
	size_t n = argc == 3 ? strtoul(argv[1], NULL, 10) * (1 << 20) / LINE : 0;
	double seconds = argc == 3 ? strtod(argv[2], NULL) : 0, start, end;
	struct line *line = mmap(NULL, n * LINE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct line *volatile sink;
	struct line *at = line;
	unsigned long loads = 0;

	if (!n || line == MAP_FAILED)
		return fputs("usage: chase MIB SECONDS\n", stderr), 2;
	link_lines(line, n);
	for (size_t i = 0; i < n; i++)
		at = at->next;
	start = now();
	do {
		for (int i = 0; i < 10000; i++)
			at = at->next;
		loads += 10000;
		end = now();
	} while (end - start < seconds);
	sink = at;
	(void)sink;
	printf("%.2f\n", (end - start) * 1e9 / loads);
	return 0;
}
