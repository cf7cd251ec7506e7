// SPDX-License-Identifier: GPL-2.0-only
/*
 * chase MIB SECONDS: nanoseconds of a load that depends on the one before, over one random cycle of
 * lines.
 */
#include "common.h"

#define LINE 64

struct line {
	struct line *next;
	char rest[LINE - sizeof(struct line *)];
};

static size_t draw(size_t n)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void link_lines(struct line *line, size_t n)
{
	uint32_t *order = make_cycle(n, draw);

	for (size_t i = 0; i < n; i++)
		line[order[i]].next = &line[order[(i + 1) % n]];
	free(order);
}

int main(int argc, char **argv)
{
	size_t n = argc == 3 ? strtoul(argv[1], NULL, 10) * (1 << 20) / LINE : 0;
	double seconds = argc == 3 ? strtod(argv[2], NULL) : 0;
	struct line *line, *at;
	struct line *volatile sink;
	unsigned long loads = 0;
	int64_t start, end;

	if (!n)
		return fputs("usage: chase MIB SECONDS\n", stderr), 2;
	line = at = map_memory(n * LINE);
	link_lines(line, n);
	for (size_t i = 0; i < n; i++)
		at = at->next;
	start = now_ns();
	do {
		for (int i = 0; i < 10000; i++)
			at = at->next;
		loads += 10000;
		end = now_ns();
	} while (end - start < seconds * 1e9);
	sink = at;
	(void)sink;
	printf("%.2f\n", (double)(end - start) / loads);
	return 0;
}
