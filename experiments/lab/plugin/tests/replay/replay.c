// SPDX-License-Identifier: GPL-2.0-only
/*
 * replay PLUGIN CONFIG SHARED: calls the lab's plugin as QEMU does while a
 * program runs on CPU 0, without QEMU.
 *
 * A line of JSON for each program: the host's nanoseconds for an access (the
 * fastest of ROUNDS), and what the plugin counted for all rounds, which tells
 * whether a faster plugin still counts the same.
 */
#include "qemu.h"

#include "../../../guest/shared.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	 20
#define ARRAY	 (4ull << 20)
#define CPUS	 4
#define WORD	 8	/* bytes that QEMU moves at once */
#define ACCESSES 200000 /* of a program without a sequence */
#define PAGE	 4096

#define LOAD_RAX    "\x48\x8b\x06" /* mov (%rsi),%rax */
#define LOAD_RCX    "\x48\x8b\x0a" /* mov (%rdx),%rcx */
#define FOLLOW	    "\x48\x8b\x00" /* mov (%rax),%rax */
#define STORE_RAX   "\x48\x89\x07" /* mov %rax,(%rdi) */
#define ADD_RAX	    "\x48\x01\x07" /* add %rax,(%rdi) */
#define REPEAT_STOS "\xf3\x48\xab"

/* Addresses of a program's three arrays of 4 MiB, each aligned to a huge page. */
static const uint64_t array[] = { 0x7f2f86200000, 0x7f2f86800000, 0x7f2f86e00000 };

static uint64_t calls; /* of a program, in all rounds */

static void use(unsigned int instruction, qemu_plugin_meminfo_t kind, uint64_t vaddr)
{
	replay_qemu.access_memory[instruction](0, kind, vaddr, replay_qemu.slot[instruction]);
	calls++;
}

static void block(void)
{
	replay_qemu.run_block(0, replay_qemu.block_word);
}

static uint64_t random_below(uint64_t n)
{
	static uint64_t state = 88172645463325252ull; /* Marsaglia's xorshift64 */

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void triad(uint64_t step)
{
	for (uint64_t at = 0; at < ARRAY; at += step) {
		block();
		for (unsigned int i = 0; i < 3; i++)
			for (uint64_t word = 0; word < step; word += WORD)
				use(i, i < 2 ? LOAD : STORE, array[i] + at + word);
	}
}

static void triad_sse2(void)
{
	triad(16);
}

static void triad_words(void)
{
	triad(WORD);
}

static void update(void)
{
	for (int i = 0; i < ACCESSES / 2; i++) {
		uint64_t vaddr = array[0] + random_below(ARRAY) / 4 * 4;

		block();
		use(0, LOAD, vaddr);
		use(0, STORE, vaddr);
	}
}

static void chase(void)
{
	for (int i = 0; i < ACCESSES; i++) {
		block();
		use(0, LOAD, array[0] + random_below(4 * ARRAY) / 64 * 64);
	}
}

static void in_the_first_level(void)
{
	for (int i = 0; i < ACCESSES; i++) {
		block();
		use(0, LOAD, array[0] + random_below(16 << 10) / WORD * WORD);
	}
}

/* A page is cleared by one repeated instruction, which QEMU enters anew after so many rounds. */
static void clear(unsigned int rounds)
{
	for (uint64_t at = 0; at < ARRAY; at += WORD) {
		if (at / WORD % rounds == 0) {
			block();
			if (replay_qemu.enter[0])
				replay_qemu.enter[0](0, replay_qemu.entry_word[0]);
		}
		use(0, STORE, array[0] + at);
	}
}

static void clear_by_rounds(void)
{
	clear(1);
}

static void clear_by_pages(void)
{
	clear(PAGE / WORD);
}

static void clear_unrolled(void)
{
	for (uint64_t at = 0; at < ARRAY; at += 8 * WORD) {
		block();
		for (unsigned int word = 0; word < 8; word++)
			use(word, STORE, array[0] + at + word * WORD);
	}
}

static const struct program {
	const char *name;
	void (*run)(void);
	size_t instructions; /* of its block, the first of which make its accesses */
	const char *code;
} program[] = {
	{ "triad, SSE2", triad_sse2, 8, LOAD_RAX LOAD_RCX STORE_RAX },
	{ "triad, words", triad_words, 8, LOAD_RAX LOAD_RCX STORE_RAX },
	{ "random update, 4 MiB", update, 10, ADD_RAX },
	{ "pointer chase, 16 MiB", chase, 4, FOLLOW },
	{ "random loads, 16 MiB", chase, 4, LOAD_RAX },
	{ "first-level hits", in_the_first_level, 4, LOAD_RAX },
	{ "rep stos, by rounds", clear_by_rounds, 1, REPEAT_STOS },
	{ "rep stos, by pages", clear_by_pages, 1, REPEAT_STOS },
	{ "eight stores a line", clear_unrolled, 12,
	  STORE_RAX STORE_RAX STORE_RAX STORE_RAX STORE_RAX STORE_RAX STORE_RAX STORE_RAX },
};

static void translate_program(const struct program *p)
{
	replay_qemu.code = p->code;
	replay_qemu.instructions = p->instructions;
	replay_translate();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static double fastest_ns(void (*run)(void))
{
	double best = 1e9;

	calls = 0;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = now_ns(), before = calls;
		double ns;

		run();
		ns = (double)(now_ns() - start) / (calls - before);
		best = ns < best ? ns : best;
	}
	return best;
}

static void *load(const char *plugin, const char *config)
{
	static char argument[4096];
	char *argv[] = { argument };
	const qemu_info_t machine = { .target_name = "x86_64",
				      .system_emulation = true,
				      .system = { CPUS, CPUS } };
	void *library = dlopen(plugin, RTLD_NOW);
	int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **);

	if (!library) {
		fprintf(stderr, "replay: %s\n", dlerror());
		return NULL;
	}
	*(void **)&install = dlsym(library, "qemu_plugin_install");
	snprintf(argument, sizeof(argument), "config=%s", config);
	return install && !install(1, &machine, 1, argv) ? library : NULL;
}

/*
 * As the guest does: a block with the marker, after which QEMU drops what it has translated. A
 * program's block with it is a program's.
 */
static bool end_untimed_start(void)
{
	replay_qemu.translates_marker = true;
	replay_translate();
	if (replay_qemu.run_marker)
		return false;
	replay_qemu.of_kernel = true;
	replay_translate();
	replay_qemu.translates_marker = replay_qemu.of_kernel = false;
	if (!replay_qemu.run_marker)
		return false;
	block();
	replay_qemu.run_marker(0, NULL);
	if (!replay_qemu.when_reset)
		return false;
	replay_reset();
	return true;
}

int main(int argc, char **argv)
{
	int fd = argc == 4 ? open(argv[3], O_RDONLY | O_CLOEXEC) : -1;
	const struct np_lab_shared *shared = MAP_FAILED;

	if (fd >= 0)
		shared = mmap(NULL, NP_LAB_SHARED_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return fputs("usage: replay PLUGIN CONFIG SHARED\n", stderr), 2;
	if (!load(argv[1], argv[2]))
		return 1;
	if (!end_untimed_start())
		return fputs("replay: the plugin does not know the marker, or takes it from a program\n",
			     stderr),
		       1;
	for (size_t i = 0; i < sizeof(program) / sizeof(program[0]); i++) {
		const struct np_lab_cpu *cpu = &shared->cpu[0];
		uint64_t misses = cpu->llc_misses, ns = cpu->sim_ns, begun = cpu->instructions;
		double host_ns;

		translate_program(&program[i]);
		host_ns = fastest_ns(program[i].run);

		printf("{\"program\":\"%s\",\"calls\":%llu,\"host_ns\":%.2f,\"misses\":%llu,\"simulated_ns\":%llu,"
		       "\"instructions\":%llu}\n",
		       program[i].name, (unsigned long long)calls, host_ns,
		       (unsigned long long)(cpu->llc_misses - misses),
		       (unsigned long long)(cpu->sim_ns - ns),
		       (unsigned long long)(cpu->instructions - begun));
	}
	return 0;
}
