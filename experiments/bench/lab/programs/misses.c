// SPDX-License-Identifier: GPL-2.0-only
/*
 * misses HOME TEST N [TEST N]..: what misses of one CPU cost that do and do not need each other, with
 * memory of node HOME. Prints one JSON object a test: ns of a load, or of an object.
 */
#include "common.h"

#include <string.h>

#define LINE  64
#define BYTES (32ul << 20)
#define LINES (BYTES / LINE)
#define SMALL (16384 / LINE) /* lines in half a first level */
#define LOADS 200000
#define MOST  16

struct line {
	_Alignas(LINE) struct line *next;
	uint64_t word[LINE / 8 - 1];
};

static struct line *memory;
static uint64_t sum;

static size_t draw(size_t n)
{
	return (size_t)rand() * (size_t)rand() % n;
}

/*
 * One cycle through lines that are `stride` apart, in an order of chance. It is gone through once:
 * what a cache has of it then is its end.
 */
static void link_lines(size_t n, size_t stride)
{
	uint32_t *order = make_cycle(n, draw);
	struct line *at = memory;

	for (size_t i = 0; i < n; i++)
		memory[order[i] * stride].next = &memory[order[(i + 1) % n] * stride];
	free(order);
	for (size_t i = 0; i < n; i++)
		at = at->next;
	sum += (uintptr_t)at;
}

/* The chases begin at places of the cycle that are far apart. */
#define STEP(i) (at[i] = n > (i) ? at[i]->next : NULL)
#define CHASES(n_) \
	static double chase_##n_(void) \
	{ \
		enum { n = n_ }; \
		struct line *at[MOST]; \
		uint64_t begin; \
\
		for (int i = 0; i < n; i++) { \
			at[i] = memory; \
			for (size_t k = 0; k < LINES / n * i; k++) \
				at[i] = at[i]->next; \
		} \
		begin = now_ns(); \
		for (int round = 0; round < LOADS / n; round++) { \
			STEP(0); \
			STEP(1); \
			STEP(2); \
			STEP(3); \
			STEP(4); \
			STEP(5); \
			STEP(6); \
			STEP(7); \
			STEP(8); \
			STEP(9); \
			STEP(10); \
			STEP(11); \
		} \
		begin = now_ns() - begin; \
		for (int i = 0; i < n; i++) \
			sum += (uintptr_t)at[i]; \
		return (double)begin / (LOADS / n) / n; \
	}
CHASES(1)
CHASES(2)
CHASES(4)
CHASES(8)
CHASES(12)

static double chase(unsigned int n)
{
	link_lines(LINES, 1);
	switch (n) {
	case 1:
		return chase_1();
	case 2:
		return chase_2();
	case 4:
		return chase_4();
	case 8:
		return chase_8();
	default:
		return chase_12();
	}
}

/* A chase of objects of n lines, all of which are read: the first says where the next object is. */
static double read_objects(unsigned int n)
{
	const size_t objects = LINES / n;
	struct line *at = memory;
	uint64_t begin;

	link_lines(objects, n);
	begin = now_ns();
	for (int i = 0; i < LOADS / 2; i++) {
		struct line *next = at->next;

		for (unsigned int line = 1; line < n; line++)
			sum += at[line].word[0];
		at = next;
	}
	return (double)(now_ns() - begin) / (LOADS / 2);
}

static double chase_small(unsigned int n)
{
	struct line *at = memory;
	uint64_t begin;

	link_lines(SMALL, 1);
	for (unsigned int i = 0; i < n * SMALL; i++)
		at = at->next;
	begin = now_ns();
	for (int i = 0; i < LOADS; i++)
		at = at->next;
	sum += (uintptr_t)at;
	return (double)(now_ns() - begin) / LOADS;
}

/* A store to a line, then the load of the next address from it. */
static double store_and_load(unsigned int n)
{
	struct line *at = memory;
	uint64_t begin;

	link_lines(LINES, 1);
	begin = now_ns();
	for (int i = 0; i < LOADS; i++) {
		((volatile struct line *)at)->word[0] = n;
		at = at->next;
	}
	sum += (uintptr_t)at;
	return (double)(now_ns() - begin) / LOADS;
}

/* A chase that keeps where it is in memory, as code without optimization does. */
static double chase_in_memory(unsigned int n)
{
	struct line *volatile at = memory;
	uint64_t begin;

	link_lines(LINES, 1);
	begin = now_ns();
	for (unsigned int i = 0; i < n * LOADS; i++)
		at = at->next;
	sum += (uintptr_t)at;
	return (double)(now_ns() - begin) / (n * LOADS);
}

/* Keeps the caller's registers in memory while it runs. */
static __attribute__((noinline)) void call(void)
{
	__asm__ volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15");
}

static double chase_with_calls(unsigned int n)
{
	struct line *at = memory;
	uint64_t begin;

	link_lines(LINES, 1);
	begin = now_ns();
	for (unsigned int i = 0; i < n * LOADS; i++) {
		at = at->next;
		call();
	}
	sum += (uintptr_t)at;
	return (double)(now_ns() - begin) / (n * LOADS);
}

static const struct {
	const char *name;
	double (*run)(unsigned int n);
} tests[] = {
	{ "chases", chase },	      { "objects", read_objects }, { "small", chase_small },
	{ "stored", store_and_load }, { "kept", chase_in_memory }, { "calls", chase_with_calls },
};

static int run(const char *name, unsigned int n)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (!strcmp(tests[i].name, name)) {
			printf("{\"test\": \"%s\", \"n\": %u, \"ns\": %.3f}\n", name, n,
			       tests[i].run(n));
			return 0;
		}
	return fprintf(stderr, "misses: there is no test '%s'\n", name), 2;
}

int main(int argc, char **argv)
{
	if (argc < 4 || argc % 2)
		return fputs("usage: misses HOME TEST N ..\n", stderr), 2;
	memory = map_on_node(BYTES, strtoul(argv[1], NULL, 10));
	for (int i = 2; i < argc; i += 2)
		if (run(argv[i], strtoul(argv[i + 1], NULL, 10)))
			return 2;
	return sum == 1;
}
