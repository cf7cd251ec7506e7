// SPDX-License-Identifier: GPL-2.0-only
/*
 * lines HOME TEST CPU,CPU.. [TEST CPU,CPU..]..: what CPUs cost each other that use one line, whose
 * memory is on node HOME. Prints one JSON object a test: ns of a hand-over, an operation or a line.
 */
#include "common.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define LINE   64
#define MOST   16     /* CPUs */
#define TRIPS  20000  /* of a test of two CPUs */
#define ADDS   200000 /* of each CPU: the third quarter is timed, when all of them work */
#define LOCKED 20000  /* acquisitions of each CPU */
#define CHASED 2048   /* lines: more than a first level, less than a last one */
#define ROUNDS 5

struct line {
	_Alignas(LINE) _Atomic uint64_t word[LINE / sizeof(uint64_t)];
};

/* One test's; each is on a line of its own. */
static _Alignas(LINE) struct memory {
	struct line shared, own[MOST], start, chased[CHASED];
} *memory;

/* What a thread writes is in no line that another reads. */
static struct own {
	_Alignas(LINE) uint64_t handed, begin_ns, middle_ns, end_ns;
} of[MOST];

static unsigned int cpus, cpu[MOST];
static double round_ns[ROUNDS];

struct test {
	const char *name;
	uint64_t operations; /* of each CPU */
	void (*run)(unsigned int self);
};

static void relax(void)
{
	__builtin_ia32_pause();
}

static _Atomic uint64_t *shared(void)
{
	return &memory->shared.word[0];
}

static void hand_over_by_exchange(unsigned int self)
{
	for (int i = 0; i < TRIPS; i++) {
		uint64_t mine = self;

		while (!atomic_compare_exchange_strong(shared(), &mine, !self))
			mine = self;
	}
}

static void hand_over(unsigned int self, bool pauses)
{
	for (int i = 0; i < TRIPS; i++) {
		while (atomic_load_explicit(shared(), memory_order_acquire) != self)
			if (pauses)
				relax();
		atomic_store_explicit(shared(), !self, memory_order_release);
	}
}

static void hand_over_by_store(unsigned int self)
{
	hand_over(self, false);
}

static void hand_over_with_pause(unsigned int self)
{
	hand_over(self, true);
}

/* A CPU may be a time slice of the simulation ahead: so much of its work the others do not see. */
static void time_middle(unsigned int self, int i)
{
	if (i == ADDS / 2)
		of[self].begin_ns = now_ns();
	if (i == ADDS * 3 / 4)
		of[self].middle_ns = now_ns() - of[self].begin_ns;
}

static void add(unsigned int self)
{
	for (int i = 0; i < ADDS; i++) {
		time_middle(self, i);
		atomic_fetch_add(shared(), 1);
	}
}

static void add_to_word(unsigned int self)
{
	for (int i = 0; i < ADDS; i++) {
		time_middle(self, i);
		atomic_fetch_add(&memory->shared.word[self], 1);
	}
}

static void add_to_own(unsigned int self)
{
	for (int i = 0; i < ADDS; i++) {
		time_middle(self, i);
		atomic_fetch_add(&memory->own[self].word[0], 1);
	}
}

/* Stores without a lock prefix, as most counters of a program. */
static void store_word(unsigned int self)
{
	for (int i = 0; i < ADDS; i++) {
		time_middle(self, i);
		atomic_store_explicit(&memory->shared.word[self], i, memory_order_relaxed);
	}
}

static void count_hand_over(unsigned int self)
{
	uint64_t last = memory->shared.word[2];

	of[self].handed += last != self + 1;
	memory->shared.word[2] = self + 1;
}

static void take_ticket(unsigned int self)
{
	_Atomic uint64_t *next = &memory->shared.word[0], *serves = &memory->shared.word[1];

	for (int i = 0; i < LOCKED; i++) {
		uint64_t mine = atomic_fetch_add(next, 1);

		while (atomic_load_explicit(serves, memory_order_acquire) != mine)
			;
		count_hand_over(self);
		atomic_store_explicit(serves, mine + 1, memory_order_release);
	}
}

static void test_and_set(unsigned int self)
{
	for (int i = 0; i < LOCKED; i++) {
		while (atomic_exchange(shared(), 1))
			;
		count_hand_over(self);
		atomic_store_explicit(shared(), 0, memory_order_release);
	}
}

/* The second CPU writes a cycle of lines anew, the first follows it. */
static void chase_dirty(unsigned int self)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t begin, at = 0;

		while (atomic_load(shared()) != 2 * round + !self)
			relax();
		if (self)
			for (uint64_t i = 0; i < CHASED; i++)
				memory->chased[i].word[0] = (i * 5 + 1) % CHASED;
		begin = now_ns();
		for (uint64_t i = 0; !self && i < CHASED; i++)
			at = memory->chased[at].word[0];
		if (!self)
			round_ns[round] = (double)(now_ns() - begin) / CHASED + !!at;
		atomic_store(shared(), 2 * round + 1 + !self);
	}
}

static const struct test tests[] = {
	{ "exchange", TRIPS, hand_over_by_exchange },
	{ "store", TRIPS, hand_over_by_store },
	{ "pause", TRIPS, hand_over_with_pause },
	{ "add", ADDS, add },
	{ "words", ADDS, add_to_word },
	{ "own", ADDS, add_to_own },
	{ "stores", ADDS, store_word },
	{ "ticket", LOCKED, take_ticket },
	{ "set", LOCKED, test_and_set },
	{ "dirty", ROUNDS, chase_dirty },
};

static const struct test *test;

static void *run_thread(void *number)
{
	unsigned int self = (uintptr_t)number;

	run_on(cpu[self]);
	atomic_fetch_add(&memory->start.word[0], 1);
	while (atomic_load(&memory->start.word[0]) != cpus)
		relax();
	of[self].begin_ns = now_ns();
	test->run(self);
	of[self].end_ns = now_ns();
	return NULL;
}

/* Of an operation, by all CPUs together. */
static double compute_ns(void)
{
	uint64_t took_ns = 0, middle_ns = 0;

	for (unsigned int i = 0; i < cpus; i++) {
		middle_ns += of[i].middle_ns;
		if (of[i].end_ns > of[0].begin_ns + took_ns)
			took_ns = of[i].end_ns - of[0].begin_ns;
	}
	if (middle_ns)
		return (double)middle_ns / cpus / cpus / (ADDS / 4);
	return (double)took_ns / (cpus * test->operations);
}

static void print_result(void)
{
	uint64_t changes = 0;

	for (unsigned int i = 0; i < cpus; i++)
		changes += of[i].handed;
	printf("{\"test\": \"%s\", \"cpus\": [", test->name);
	for (unsigned int i = 0; i < cpus; i++)
		printf("%s%u", i ? ", " : "", cpu[i]);
	printf("], \"ns\": %.3f, \"handed_over\": %.4f, \"rounds\": [", compute_ns(),
	       (double)changes / (cpus * test->operations));
	for (int i = 0; i < ROUNDS && test->run == chase_dirty; i++)
		printf("%s%.2f", i ? ", " : "", round_ns[i]);
	printf("]}\n");
}

static void run(void)
{
	pthread_t thread[MOST];

	memset(memory, 0, sizeof(*memory));
	memset(of, 0, sizeof(of));
	for (uintptr_t i = 1; i < cpus; i++)
		if (pthread_create(&thread[i], NULL, run_thread, (void *)i))
			exit(1);
	run_thread(0);
	for (unsigned int i = 1; i < cpus; i++)
		pthread_join(thread[i], NULL);
	print_result();
}

static bool choose(const char *name, char *list)
{
	test = NULL;
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (!strcmp(tests[i].name, name))
			test = &tests[i];
	cpus = 0;
	for (char *word = strtok(list, ","); word && cpus < MOST; word = strtok(NULL, ","))
		cpu[cpus++] = strtoul(word, NULL, 10);
	return test && cpus;
}

int main(int argc, char **argv)
{
	if (argc < 4 || argc % 2)
		return fputs("usage: lines HOME TEST CPU,CPU.. ..\n", stderr), 2;
	memory = map_on_node(sizeof(*memory), strtoul(argv[1], NULL, 10));
	for (int i = 2; i < argc; i += 2) {
		if (!choose(argv[i], argv[i + 1]))
			return fprintf(stderr, "lines: there is no test '%s'\n", argv[i]), 2;
		run();
	}
	return 0;
}
