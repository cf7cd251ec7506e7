// SPDX-License-Identifier: GPL-2.0-only
/*
 * pages TABLES [PAGES STRIDE]..: what translations cost. A chase on CPU 0 through one line of each of PAGES pages
 * that are STRIDE pages apart, in memory of node 0, mapped by pages of 4 KiB whose page tables are on node TABLES,
 * and by huge pages. Prints one JSON object each: ns of a load.
 */
#include "common.h"

#define PAGE  4096ul
#define HUGE  (2ul << 20)
#define LINE  64
#define LOADS 400000 /* of a chase: what a tick takes is less than 0.05 ns of one */

/* Page tables are on the node of the CPU that touches a page first, whatever the pages' own policy is. */
static char *map_pages(size_t bytes, size_t stride, int touches_on, int huge)
{
	char *all = map_on_node(bytes + HUGE, 0);
	char *memory = (char *)(((uintptr_t)all + HUGE - 1) & ~(HUGE - 1));

	if (madvise(all, bytes + HUGE, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		perror("pages: memory"), exit(1);
	run_on(touches_on);
	for (size_t at = 0; at < bytes; at += stride)
		memory[at] = 1;
	run_on(0);
	return memory;
}

/* The line of a page that is used: by the upper bits of a hash, or pages whose sets are the same have the same one. */
static void **line_of(char *memory, size_t page, size_t stride)
{
	uint32_t hash = (uint32_t)page * 2654435761u;

	return (void **)(memory + page * stride + (hash >> 26) * LINE);
}

static size_t draw(size_t n)
{
	return (size_t)rand() % n;
}

static void **link_pages(char *memory, size_t pages, size_t stride)
{
	uint32_t *order;
	void **first;

	srand(1);
	order = make_cycle(pages, draw);
	for (size_t i = 0; i < pages; i++)
		*line_of(memory, order[i], stride) = line_of(memory, order[(i + 1) % pages],
							     stride);
	first = line_of(memory, order[0], stride);
	free(order);
	return first;
}

static double chase(void **at, size_t loads)
{
	uint64_t begin = now_ns();

	for (size_t i = 0; i < loads; i++)
		at = *at;
	__asm__ volatile("" : : "r"(at));
	return (double)(now_ns() - begin) / loads;
}

static double measure(size_t pages, size_t stride, int tables, int huge)
{
	size_t bytes = (pages * stride + HUGE - 1) & ~(HUGE - 1);
	char *memory = map_pages(bytes, huge ? PAGE : stride, tables, huge);
	void **at = link_pages(memory, pages, stride);
	double ns;

	chase(at, pages);
	ns = chase(at, LOADS);
	munmap(memory, bytes);
	return ns;
}

int main(int argc, char **argv)
{
	int tables = argc > 3 && argc % 2 == 0 ? atoi(argv[1]) : -1;
	int cpu = sysconf(_SC_NPROCESSORS_ONLN) / 2 * tables;

	if (tables < 0)
		return fputs("usage: pages TABLES [PAGES STRIDE]..\n", stderr), 2;
	for (int i = 2; i < argc; i += 2) {
		size_t pages = strtoul(argv[i], NULL, 10),
		       stride = PAGE * strtoul(argv[i + 1], NULL, 10);

		for (int huge = 0; huge < 2; huge++)
			printf("{\"pages\": %zu, \"stride\": %s, \"tables\": %d, \"huge\": %d, \"ns\": %.3f}\n",
			       pages, argv[i + 1], tables, huge,
			       measure(pages, stride, huge ? 0 : cpu, huge));
	}
	return 0;
}
