// SPDX-License-Identifier: GPL-2.0-only
/*
 * replay PLUGIN CONFIG SHARED: calls the lab's plugin as QEMU does while a
 * program runs on CPU 0, without QEMU.
 *
 * A line of JSON for each program: the host's nanoseconds for an access (the
 * fastest of ROUNDS), and what the plugin counted for all rounds, which tells
 * whether a faster plugin still counts the same.
 */
#include "../../lab/guest/shared.h"
#include "../../lab/plugin/qemu_api.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if NP_QEMU_API_VERSION >= 7
#define TRANSLATE() translate(NULL, NULL)
#define RESET()	    when_reset(NULL)
#define READ_RESULT bool
#else
#define TRANSLATE() translate(1, NULL)
#define RESET()	    when_reset(1)
#define READ_RESULT int
#endif

#define ROUNDS	 20
#define ARRAY	 (4ull << 20)
#define CPUS	 4
#define LOAD	 (1u << 16) /* of QEMU's description of an access */
#define STORE	 (2u << 16)
#define WORD	 8	/* bytes that QEMU moves at once */
#define ACCESSES 200000 /* of a program without a sequence */
#define PAGE	 4096
#define INSNS	 12 /* of a block, at most */
#define LENGTH	 3  /* of each instruction */

#define NOP	    "\x0f\x1f\x00"
#define LOAD_RAX    "\x48\x8b\x06" /* mov (%rsi),%rax */
#define LOAD_RCX    "\x48\x8b\x0a" /* mov (%rdx),%rcx */
#define FOLLOW	    "\x48\x8b\x00" /* mov (%rax),%rax */
#define STORE_RAX   "\x48\x89\x07" /* mov %rax,(%rdi) */
#define ADD_RAX	    "\x48\x01\x07" /* add %rax,(%rdi) */
#define REPEAT_STOS "\xf3\x48\xab"

/* Addresses of a program's three arrays of 4 MiB, each aligned to a huge page. */
static const uint64_t array[] = { 0x7f2f86200000, 0x7f2f86800000, 0x7f2f86e00000 };

static const uint8_t marker[] = { NP_LAB_MARKER(NP_LAB_START_ENDS) };

static qemu_plugin_vcpu_tb_trans_cb_t translate;
static qemu_plugin_vcpu_udata_cb_t run_block;
static qemu_plugin_vcpu_mem_cb_t access_memory[INSNS]; /* by instruction */
static void *slot[INSNS];			       /* the plugin's argument of that */
static qemu_plugin_vcpu_udata_cb_t enter[INSNS];
static void *entry_word[INSNS]; /* the plugin's argument of that */
static qemu_plugin_vcpu_udata_cb_t run_marker;
static qemu_plugin_simple_cb_t when_reset;
static void *block_word;       /* the plugin's argument of that */
static const char *code;       /* of the block that is translated; what it lacks are NOPs */
static size_t instructions;    /* of it */
static bool translates_marker; /* instead of a program */
static bool of_kernel;	       /* which code of the guest is translated */
static size_t slots;
static uint64_t calls; /* of a program, in all rounds */

struct qemu_plugin_hwaddr {
	uint64_t physical;
};

/* QEMU's side */

void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb NP_WORD)
{
	(void)id;
	(void)cb;
}

void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb NP_WORD)
{
	(void)id;
	when_reset = cb;
}

/* No CPU starts. */
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb NP_WORD)
{
	(void)id;
	(void)cb;
}

void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb NP_WORD)
{
	(void)id;
	(void)cb;
}

void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id,
					 qemu_plugin_vcpu_simple_cb_t cb NP_WORD)
{
	(void)id;
	(void)cb;
}

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   qemu_plugin_vcpu_tb_trans_cb_t cb NP_WORD)
{
	(void)id;
	translate = cb;
}

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
					  enum qemu_plugin_cb_flags flags, void *data)
{
	(void)tb;
	(void)flags;
	run_block = cb;
	block_word = data;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_vcpu_udata_cb_t cb,
					    enum qemu_plugin_cb_flags flags, void *data)
{
	(void)insn;
	(void)flags;
	if (translates_marker) {
		run_marker = cb;
		return;
	}
	enter[slots] = cb; /* the plugin asks for an instruction's accesses last */
	entry_word[slots] = data;
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data)
{
	(void)insn;
	(void)flags;
	(void)rw;
	access_memory[slots] = cb;
	slot[slots++] = data;
}

/* Nothing here keeps a profile, which needs these. */
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *data)
{
	(void)id;
	(void)cb;
	(void)data;
}

GArray *qemu_plugin_get_registers(void)
{
	return NULL;
}

READ_RESULT qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buf)
{
	(void)handle;
	(void)buf;
	return 0;
}

bool qemu_plugin_read_memory_vaddr(uint64_t addr, GByteArray *data, size_t len)
{
	(void)addr;
	(void)data;
	(void)len;
	return false;
}

GByteArray *g_byte_array_new(void)
{
	return NULL;
}

uint8_t *g_byte_array_free(GByteArray *array, int free_segment)
{
	(void)array;
	(void)free_segment;
	return NULL;
}

unsigned int g_array_get_element_size(GArray *array)
{
	(void)array;
	return 0;
}

char *g_array_free(GArray *array, int free_segment)
{
	(void)array;
	(void)free_segment;
	return NULL;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	(void)tb;
	return translates_marker ? 1 : instructions;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index)
{
	(void)tb;
	return (struct qemu_plugin_insn *)(0x401000 + 4 * index);
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return (uintptr_t)insn | (uint64_t)of_kernel << 63;
}

size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len)
{
	size_t index = ((uintptr_t)insn - 0x401000) / 4;
	const void *from = translates_marker		 ? (const char *)marker :
			   LENGTH * index < strlen(code) ? code + LENGTH * index :
							   NOP;
	size_t size = translates_marker ? sizeof(marker) : LENGTH;

	size = size < len ? size : len;
	memcpy(dest, from, size);
	return size;
}

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	return info & STORE;
}

struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
	static struct qemu_plugin_hwaddr found;

	(void)info;
	found.physical = vaddr & 0x3fffffff;
	return &found;
}

bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address)
{
	(void)address;
	return false;
}

uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address)
{
	return address->physical;
}

/*
 * Of QEMU's own functions the plugin calls three here: no timer is ever due, and a CPU that is asked to leave its code,
 * so that QEMU drops its translations, does not.
 */

int64_t qemu_clock_deadline_ns_all(int type, int attributes)
{
	(void)type;
	(void)attributes;
	return -1;
}

void *qemu_get_cpu(int index);
void async_run_on_cpu(void *cpu, void (*work)(void *cpu, unsigned long data), unsigned long data);

void *qemu_get_cpu(int index)
{
	(void)index;
	return NULL;
}

void async_run_on_cpu(void *cpu, void (*work)(void *cpu, unsigned long data), unsigned long data)
{
	(void)cpu;
	(void)work;
	(void)data;
}

#define NEVER_CALLED(name) \
	void name(void); \
	void name(void) \
	{ \
		abort(); \
	}

NEVER_CALLED(cpus_get_virtual_clock)
NEVER_CALLED(cpus_get_elapsed_ticks)
NEVER_CALLED(qemu_clock_run_timers)
NEVER_CALLED(object_class_by_name)
NEVER_CALLED(tlb_flush)
NEVER_CALLED(cpu_thread_is_idle)
NEVER_CALLED(all_cpu_threads_idle)
NEVER_CALLED(bql_locked)
NEVER_CALLED(qemu_add_vm_change_state_handler)
NEVER_CALLED(cpu_get_clock)
NEVER_CALLED(qemu_notify_event)
NEVER_CALLED(timer_init_full)
NEVER_CALLED(timer_mod_ns)

/* The programs */

static void use(unsigned int instruction, qemu_plugin_meminfo_t kind, uint64_t vaddr)
{
	access_memory[instruction](0, kind, vaddr, slot[instruction]);
	calls++;
}

static void block(void)
{
	run_block(0, block_word);
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
			if (enter[0])
				enter[0](0, entry_word[0]);
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
	slots = 0;
	memset(enter, 0, sizeof(enter));
	code = p->code;
	instructions = p->instructions;
	TRANSLATE();
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
	translates_marker = true;
	TRANSLATE();
	if (run_marker)
		return false;
	of_kernel = true;
	TRANSLATE();
	translates_marker = of_kernel = false;
	if (!run_marker)
		return false;
	block();
	run_marker(0, NULL);
	if (!when_reset)
		return false;
	RESET();
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
