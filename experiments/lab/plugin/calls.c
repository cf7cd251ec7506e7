// SPDX-License-Identifier: GPL-2.0-only
/* What QEMU calls while translated code runs: at a block, at an instruction, at an access. */
#include "calls.h"

#include "decode/block_memory.h"
#include "clock.h"
#include "in_flight.h"
#include "qemu_clock.h"
#include "registers.h"
#include "timing.h"

#include <stdlib.h>

#define PAUSE_PS	  20000
#define INTERRUPT_COMMAND 0xfee00300 /* of the local APIC */
#define CHIPSET		  0xfec00000 /* interrupt controllers and HPET: done when written */
#define CHIPSET_END	  0xfeefffff
#define START_STEP_PS	  (20 * NP_CLOCK_STEP_PS)
/* Of QEMU's description of an access */
#define LOAD_BIT  (QEMU_PLUGIN_MEM_R << 16)
#define STORE_BIT (QEMU_PLUGIN_MEM_W << 16)

static struct np_l1 *l1_of[NP_LAB_MAX_CPUS]; /* at every access: one load away */
static void (*start_has_ended)(void);

/*
 * The CPU that runs, of exact runs, where QEMU gives the index of another one. The first call of a
 * block asks which it is.
 */
static unsigned int at;

static inline unsigned int whose(unsigned int vcpu)
{
	return np_sim.config.exact ? at : vcpu;
}

static inline struct np_cpu *begin_block(unsigned int vcpu)
{
	if (np_sim.config.exact) {
		vcpu = at = np_qemu_clock_switch();
		np_clock_resume(&np_sim.cpu[at]);
	}
	return &np_sim.cpu[vcpu];
}

static inline void execute(struct np_cpu *cpu, unsigned int instructions, uint64_t ps)
{
	cpu->instructions += instructions;
	cpu->pending_ps += ps;
	if (cpu->pending_ps >= np_sim.step_ps)
		np_clock_step(cpu);
}

/*
 * The word of a block's call: where its dataflow is, which is not looked at while nothing is on its
 * way, and how many instructions it has. CHAINED: they take longer than one after the other.
 */
#define AT(word)	   ((struct np_dataflow *)((word) & ((1ull << 48) - 1)))
#define INSTRUCTIONS(word) ((word) >> 48 & 0x7fff)
#define CHAINED(word)	   ((word) >> 63)

void *np_calls_word_of_block(struct np_dataflow *block)
{
	uint64_t chained = block->ps != block->instructions * np_sim.insn_ps;

	return (void *)((uintptr_t)block | (uint64_t)block->instructions << 48 | chained << 63);
}

static inline void execute_block(struct np_cpu *cpu, void *data)
{
	uint64_t word = (uintptr_t)data, n = INSTRUCTIONS(word);

	if (cpu->outstanding.last_ps)
		np_outstanding_begin(cpu, AT(word));
	else
		cpu->outstanding.block = AT(word);
	execute(cpu, n, CHAINED(word) ? AT(word)->ps : n * np_sim.insn_ps);
}

static void on_block(unsigned int vcpu, void *word)
{
	execute_block(begin_block(vcpu), word);
}

static void on_user_block(unsigned int vcpu, void *word)
{
	struct np_cpu *cpu = begin_block(vcpu);

	np_profile_block(cpu->profile, true);
	execute_block(cpu, word);
}

static void on_kernel_block(unsigned int vcpu, void *word)
{
	struct np_cpu *cpu = begin_block(vcpu);

	np_profile_block(cpu->profile, false);
	execute_block(cpu, word);
}

static void on_drain(unsigned int vcpu, void *data)
{
	np_outstanding_drain(&np_sim.cpu[whose(vcpu)]);
}

static void on_device_access(struct np_cpu *cpu, qemu_plugin_meminfo_t info, uint64_t address)
{
	if (!qemu_plugin_mem_is_store(info))
		return;
	if (address == INTERRUPT_COMMAND)
		np_clock_interrupt(cpu);
	if (address < CHIPSET || address > CHIPSET_END)
		np_in_flight_ask();
}

/* Most machines have no TLB. */
static inline void translate(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, uint32_t leaf)
{
	if (__builtin_expect(leaf != NP_TLB_NO_LEAF, false))
		cpu->walk_ps = np_tlb_use(cpu, vaddr, line, leaf);
}

/* The running number of the line, and its translation's wait; or false: a device, or memory of no node. */
static bool find_line(struct np_cpu *cpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
		      uint32_t *line)
{
	uint32_t in_page = (vaddr >> cpu->l1->line_shift) & cpu->l1->set_mask;
	struct qemu_plugin_hwaddr *found;
	uint64_t number, address;
	uint32_t leaf;

	if (np_translation_find(&cpu->translations, vaddr, line, &leaf)) {
		*line += in_page;
		translate(cpu, vaddr, *line, leaf);
		return true;
	}
	found = qemu_plugin_get_hwaddr(info, vaddr);
	if (!found)
		return false;
	address = qemu_plugin_hwaddr_phys_addr(found);
	if (qemu_plugin_hwaddr_is_io(found)) {
		on_device_access(cpu, info, address);
		return false;
	}
	if (np_config_node(&np_sim.config, address, &number) < 0)
		return false;
	*line = number;
	leaf = np_tlb_find_leaf(cpu, vaddr, address & ~0xfffull);
	np_translation_enter(&cpu->translations, vaddr, *line - in_page, leaf);
	translate(cpu, vaddr, *line, leaf);
	return true;
}

/* The word of a call: the instruction's slot in the first level's record, and the number of its load. */
#define SLOT(word)   ((word) & (NP_L1_SLOTS - 1))
#define NUMBER(word) ((word) / NP_L1_SLOTS)

static __attribute__((noinline)) void look_up(unsigned int vcpu, qemu_plugin_meminfo_t info,
					      uint64_t vaddr, unsigned int word,
					      enum np_access access)
{
	struct np_cpu *cpu = &np_sim.cpu[vcpu];
	bool writable;
	uint32_t line;

	cpu->load_number = NUMBER(word);
	if (find_line(cpu, info, vaddr, &line) &&
	    np_timing_use(cpu, vaddr, line, access, &writable))
		np_l1_remember(cpu->l1, SLOT(word), vaddr, writable);
}

static inline void access_first_level(struct np_l1 *l1, unsigned int vcpu,
				      qemu_plugin_meminfo_t info, uint64_t vaddr, unsigned int word,
				      enum np_access access)
{
	if (!np_l1_again(l1, SLOT(word), vaddr, access != NP_LOAD) &&
	    !np_l1_shared(l1, SLOT(word), vaddr, access != NP_LOAD))
		look_up(vcpu, info, vaddr, word, access);
}

static __attribute__((noinline)) void access_overlapped(struct np_l1 *l1, unsigned int vcpu,
							qemu_plugin_meminfo_t info, uint64_t vaddr,
							unsigned int word, enum np_access access)
{
	np_outstanding_pass(&np_sim.cpu[vcpu], NUMBER(word), vaddr, access != NP_LOAD);
	access_first_level(l1, vcpu, info, vaddr, word, access);
}

static inline void access_line(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			       unsigned int word, enum np_access access)
{
	struct np_l1 *l1;

	vcpu = whose(vcpu);
	l1 = l1_of[vcpu];
	if (__builtin_expect(l1->overlaps, false))
		access_overlapped(l1, vcpu, info, vaddr, word, access);
	else
		access_first_level(l1, vcpu, info, vaddr, word, access);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *slot)
{
	access_line(vcpu, info, vaddr, (uintptr_t)slot, info & STORE_BIT ? NP_STORE : NP_LOAD);
}

/* Its load and its store are one access, which the second call stands for. */
static void on_atomic(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *slot)
{
	if (info & STORE_BIT)
		access_line(vcpu, info, vaddr, (uintptr_t)slot, NP_ATOMIC);
}

static inline void *word_at(uint64_t code, unsigned int number)
{
	return (void *)(uintptr_t)((code * 0x9e3779b1u >> 16 & (NP_L1_SLOTS - 1)) +
				   number * NP_L1_SLOTS);
}

/* Where a profile is kept, the call's word stands beside the instruction's address, in block memory. */
struct profiled {
	uint64_t code;
	void *word;
};

static void *word_of(unsigned int vcpu, const struct profiled *at, bool store)
{
	np_profile_access(np_sim.cpu[whose(vcpu)].profile, at->code, store);
	return at->word;
}

void *np_calls_word_of_access(uint64_t code, unsigned int number, bool profiles)
{
	struct profiled *at;

	if (!profiles)
		return word_at(code, number);
	at = np_block_memory_take(sizeof(*at));
	if (!at)
		abort();
	*at = (struct profiled) { code, word_at(code, number) };
	return at;
}

static void on_profiled_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			       void *at)
{
	on_access(vcpu, info, vaddr, word_of(vcpu, at, info & STORE_BIT));
}

static void on_profiled_atomic(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			       void *at)
{
	on_atomic(vcpu, info, vaddr, word_of(vcpu, at, info & STORE_BIT));
}

static void on_nontemporal_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
				 void *data)
{
	struct np_cpu *cpu = &np_sim.cpu[whose(vcpu)];
	uint32_t line;

	if (find_line(cpu, info, vaddr, &line))
		np_timing_nontemporal(cpu, line);
}

static void on_new_translations(unsigned int vcpu, void *data)
{
	np_l1_new_epoch(np_sim.cpu[whose(vcpu)].l1);
	np_translation_forget(&np_sim.cpu[whose(vcpu)].translations);
}

static void on_load_cr3(unsigned int vcpu, void *number)
{
	np_tlb_load(&np_sim.cpu[whose(vcpu)], np_registers_read((uintptr_t)number));
}

static void on_pause(unsigned int vcpu, void *data)
{
	np_sim.cpu[whose(vcpu)].pending_ps += PAUSE_PS * np_sim.config.scale;
	np_sim.cpu[whose(vcpu)].spins = true;
}

/* The one thread that runs all CPUs has no idle calls. */
static void on_halt(unsigned int vcpu, void *data)
{
	np_clock_idle(&np_sim.cpu[whose(vcpu)]);
}

static void on_rep(unsigned int vcpu, void *accesses)
{
	np_rounds_begin(&np_sim.cpu[whose(vcpu)].rounds, (uintptr_t)accesses);
}

/* The n-th access of an instruction with a rep prefix begins its round: each executes once. */
static inline void access_in_round(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
				   void *slot, unsigned int accesses)
{
	vcpu = whose(vcpu);
	if (np_rounds_next(&np_sim.cpu[vcpu].rounds, accesses))
		execute(&np_sim.cpu[vcpu], 1, np_sim.insn_ps);
	on_access(vcpu, info, vaddr, slot);
}

static void on_rep1_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			   void *slot)
{
	access_in_round(vcpu, info, vaddr, slot, 1);
}

static void on_rep2_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			   void *slot)
{
	access_in_round(vcpu, info, vaddr, slot, 2);
}

static void on_profiled_rep1(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			     void *at)
{
	on_rep1_access(vcpu, info, vaddr, word_of(vcpu, at, info & STORE_BIT));
}

static void on_profiled_rep2(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			     void *at)
{
	on_rep2_access(vcpu, info, vaddr, word_of(vcpu, at, info & STORE_BIT));
}

static void on_profiled_nontemporal(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
				    void *at)
{
	on_nontemporal_store(vcpu, info, vaddr, word_of(vcpu, at, true));
}

static void on_start_end(unsigned int vcpu, void *data)
{
	start_has_ended();
}

static void on_start_block(unsigned int vcpu, void *instructions)
{
	struct np_cpu *cpu = begin_block(vcpu);

	cpu->instructions += (uintptr_t)instructions;
	cpu->pending_ps += (uintptr_t)instructions * np_sim.insn_ps;
	if (cpu->pending_ps >= START_STEP_PS)
		np_clock_step(cpu);
}

const struct np_calls np_calls = {
	.block = on_block,
	.user_block = on_user_block,
	.kernel_block = on_kernel_block,
	.start_block = on_start_block,
	.start_end = on_start_end,
	.drain = on_drain,
	.new_translations = on_new_translations,
	.pause = on_pause,
	.halt = on_halt,
	.load_cr3 = on_load_cr3,
	.rep = on_rep,
	.access = { on_access, on_atomic, on_rep1_access, on_rep2_access, on_nontemporal_store },
	.profiled = { on_profiled_access, on_profiled_atomic, on_profiled_rep1, on_profiled_rep2,
		      on_profiled_nontemporal },
};

/* Asking QEMU at every access would cost as much as a first-level hit. */
bool np_calls_can_tell_stores(void)
{
	return qemu_plugin_mem_is_store(STORE_BIT) && !qemu_plugin_mem_is_store(LOAD_BIT);
}

void np_calls_begin(void (*start_ended)(void))
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		l1_of[i] = np_sim.cpu[i].l1;
	start_has_ended = start_ended;
}
