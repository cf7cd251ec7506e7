// SPDX-License-Identifier: GPL-2.0-only
/* Reads and writes of an instruction, as Capstone knows them. */
#include "dataflow.h"

#include <capstone/capstone.h>
#include <pthread.h>
#include <stdlib.h>

/* Of each family of names, the number of its register in an instruction's code. */
static const struct {
	x86_reg name[4]; /* of 64, 32, 16 and 8 bits */
	x86_reg high;	 /* the second byte */
} general[] = {
	{ { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL }, X86_REG_AH },
	{ { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL }, X86_REG_CH },
	{ { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL }, X86_REG_DH },
	{ { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL }, X86_REG_BH },
	{ { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL }, 0 },
	{ { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL }, 0 },
	{ { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL }, 0 },
	{ { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL }, 0 },
	{ { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B }, 0 },
	{ { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B }, 0 },
	{ { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B }, 0 },
	{ { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B }, 0 },
	{ { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B }, 0 },
	{ { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B }, 0 },
	{ { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B }, 0 },
	{ { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B }, 0 },
};

#define NOTHING 0xff /* the instruction pointer, segments, and what holds no value of a program's */
#define PARTIAL 0x80 /* the other bytes stay */

static uint8_t number_of[X86_REG_ENDING];

static bool is_vector(unsigned int reg)
{
	return (reg >= X86_REG_XMM0 && reg <= X86_REG_ZMM31) ||
	       (reg >= X86_REG_MM0 && reg <= X86_REG_MM7) ||
	       (reg >= X86_REG_ST0 && reg <= X86_REG_ST7);
}

/* Before any thread decodes. */
static void __attribute__((constructor)) number_registers(void)
{
	for (unsigned int reg = 0; reg < X86_REG_ENDING; reg++)
		number_of[reg] = is_vector(reg) ? NP_DATAFLOW_VECTOR : NOTHING;
	number_of[X86_REG_EFLAGS] = NP_DATAFLOW_FLAGS;
	for (unsigned int i = 0; i < sizeof(general) / sizeof(*general); i++) {
		for (unsigned int size = 0; size < 4; size++)
			number_of[general[i].name[size]] = i | (size > 1 ? PARTIAL : 0);
		if (general[i].high)
			number_of[general[i].high] = i | PARTIAL;
	}
}

static uint32_t bit_of(unsigned int reg)
{
	uint8_t number = reg < X86_REG_ENDING ? number_of[reg] : NOTHING;

	return number == NOTHING ? 0 : 1u << (number & ~PARTIAL);
}

/* What is written in part is read, too. */
static uint32_t kept_bit(unsigned int reg)
{
	uint8_t number = reg < X86_REG_ENDING ? number_of[reg] : NOTHING;

	return number != NOTHING && number & PARTIAL ? 1u << (number & ~PARTIAL) : 0;
}

/* Where instructions before have to be done, or a target is not known. */
static bool drains(const cs_insn *in)
{
	const cs_x86 *x86 = &in->detail->x86;

	for (unsigned int i = 0; i < in->detail->groups_count; i++)
		switch (in->detail->groups[i]) {
		case X86_GRP_INT:
		case X86_GRP_IRET:
		case X86_GRP_PRIVILEGE:
			return true;
		default:
			break;
		}
	for (unsigned int i = 0; i < 4; i++)
		if (x86->prefix[i] == X86_PREFIX_LOCK || x86->prefix[i] == X86_PREFIX_REP ||
		    x86->prefix[i] == X86_PREFIX_REPNE)
			return true;
	switch (in->id) {
	case X86_INS_LFENCE:
	case X86_INS_MFENCE:
	case X86_INS_CPUID:
	case X86_INS_RDTSC:
	case X86_INS_RDTSCP:
	case X86_INS_SYSCALL:
	case X86_INS_PAUSE:
	case X86_INS_CLAC: /* with it and SWAPGS begin the kernel's entries: a fault leaves a block */
	case X86_INS_STAC:
	case X86_INS_SWAPGS:
		return true;
	case X86_INS_XCHG:
		return x86->operands[0].type == X86_OP_MEM || x86->operands[1].type == X86_OP_MEM;
	default:
		return false;
	}
}

/* One whose next instruction depends on a value. */
static bool is_branch(const cs_insn *in)
{
	const cs_x86 *x86 = &in->detail->x86;

	if (in->id == X86_INS_JMP || in->id == X86_INS_CALL)
		return x86->op_count && x86->operands[0].type != X86_OP_IMM;
	return (in->id >= X86_INS_JAE && in->id <= X86_INS_JS && in->id != X86_INS_JMP) ||
	       (in->id >= X86_INS_LOOP && in->id <= X86_INS_LOOPNE);
}

/* xor %eax,%eax and its like: the result is known. */
static bool is_zero_idiom(const cs_insn *in)
{
	const cs_x86_op *op = in->detail->x86.operands;

	switch (in->id) {
	case X86_INS_XOR:
	case X86_INS_SUB:
		return op[0].type == X86_OP_REG && op[1].type == X86_OP_REG &&
		       op[0].reg == op[1].reg && op[0].size >= 4;
	default:
		return false;
	}
}

static bool pops(const cs_insn *in)
{
	return in->id == X86_INS_POP || in->id == X86_INS_RET || in->id == X86_INS_LEAVE;
}

static bool pushes(const cs_insn *in)
{
	return in->id == X86_INS_PUSH || in->id == X86_INS_CALL;
}

static bool uses_memory(const cs_insn *in, const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && in->id != X86_INS_LEA && in->id != X86_INS_NOP;
}

static void note_memory(struct np_dataflow_insn *found, const cs_insn *in)
{
	const cs_x86 *x86 = &in->detail->x86;

	for (unsigned int i = 0; i < x86->op_count; i++)
		if (uses_memory(in, &x86->operands[i])) {
			/* Of some instructions Capstone does not know that they read it. */
			found->loads |= x86->operands[i].access != CS_AC_WRITE;
			found->stores |= !!(x86->operands[i].access & CS_AC_WRITE);
			found->address |= bit_of(x86->operands[i].mem.base) |
					  bit_of(x86->operands[i].mem.index);
		}
	if (pops(in) || pushes(in)) {
		found->moves_stack = in->id != X86_INS_LEAVE;
		found->loads |= pops(in);
		found->stores |= pushes(in);
		found->address |= bit_of(in->id == X86_INS_LEAVE ? X86_REG_RBP : X86_REG_RSP);
	}
}

static struct np_dataflow_insn describe(csh capstone, const cs_insn *in)
{
	struct np_dataflow_insn found = { .drains = drains(in), .branches = is_branch(in) };
	cs_regs reads, writes;
	uint8_t n_reads, n_writes;

	if (cs_regs_access(capstone, in, reads, &n_reads, writes, &n_writes))
		return (struct np_dataflow_insn) { .drains = true };
	for (unsigned int i = 0; i < n_reads; i++)
		found.reads |= bit_of(reads[i]);
	for (unsigned int i = 0; i < n_writes; i++) {
		found.writes |= bit_of(writes[i]);
		found.reads |= kept_bit(writes[i]);
	}
	if (in->id >= X86_INS_CMOVA && in->id <= X86_INS_CMOVS)
		found.reads |= found.writes;
	if (is_zero_idiom(in))
		found.reads = 0;
	note_memory(&found, in);
	if (in->detail->x86.op_count == 1 && in->detail->x86.operands[0].type == X86_OP_IMM &&
	    (found.branches || in->id == X86_INS_JMP))
		found.jump = in->detail->x86.operands[0].imm;
	return found;
}

static pthread_mutex_t capstone_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under capstone_lock. */
static csh open_once(void)
{
	static csh capstone;

	if (!capstone && (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone) ||
			  cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON)))
		abort();
	return capstone;
}

struct np_dataflow_insn np_dataflow_decode(const uint8_t *code, size_t len)
{
	struct np_dataflow_insn found = { .drains = true };
	static cs_insn *in;
	uint64_t address = 0;
	csh capstone;

	pthread_mutex_lock(&capstone_lock);
	capstone = open_once();
	if (!in)
		in = cs_malloc(capstone);
	if (in && cs_disasm_iter(capstone, &code, &len, &address, in))
		found = describe(capstone, in);
	pthread_mutex_unlock(&capstone_lock);
	return found;
}
