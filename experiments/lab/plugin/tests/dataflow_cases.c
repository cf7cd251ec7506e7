// SPDX-License-Identifier: GPL-2.0-only
/* What instructions need, and loads that overlap because of it. */
#include "fixture.h"
#include "../decode/block_memory.h"
#include "../decode/dataflow.h"

#include <pthread.h>

#define RAX    (1u << 0)
#define RCX    (1u << 1)
#define RDX    (1u << 2)
#define RBX    (1u << 3)
#define RSP    (1u << 4)
#define RSI    (1u << 6)
#define FLAGS  (1u << NP_DATAFLOW_FLAGS)
#define VECTOR (1u << NP_DATAFLOW_VECTOR)

#define INSN_PS 100
#define LOAD_PS 2000

TEST(instructions_need_what_they_read)
{
	static const struct {
		const char *code;
		size_t len;
		uint32_t reads, writes, address;
		bool loads, branches, drains;
	} table[] = {
		{ "\x48\x8b\x00", 3, RAX, RAX, RAX, true, false, false }, /* mov (%rax),%rax */
		{ "\x48\x8b\x04\xca", 4, RDX | RCX, RAX, RDX | RCX, true, false,
		  false }, /* mov (%rdx,%rcx,8),%rax */
		{ "\x48\x89\x02", 3, RDX | RAX, 0, RDX, false, false, false }, /* mov %rax,(%rdx) */
		{ "\x48\x8d\x04\x0a", 4, RDX | RCX, RAX, 0, false, false,
		  false }, /* lea (%rdx,%rcx),%rax */
		{ "\x31\xc0", 2, 0, RAX | FLAGS, 0, false, false, false },  /* xor %eax,%eax */
		{ "\x8a\x02", 2, RDX | RAX, RAX, RDX, true, false, false }, /* mov (%rdx),%al */
		{ "\x48\xff\xc9", 3, RCX, RCX | FLAGS, 0, false, false, false }, /* dec %rcx */
		{ "\x75\xf0", 2, FLAGS, 0, 0, false, true, false },		 /* jne */
		{ "\xeb\xf0", 2, 0, 0, 0, false, false, false },		 /* jmp */
		{ "\xff\x20", 2, RAX, 0, RAX, true, true, false },		 /* jmp *(%rax) */
		{ "\xff\xd2", 2, RDX | RSP, RSP, RSP, false, true, false },	 /* call *%rdx */
		{ "\x53", 1, RSP | RBX, RSP, RSP, false, false, false },	 /* push %rbx */
		{ "\x48\xd1\xea", 3, RDX, RDX | FLAGS, 0, false, false, false }, /* shr %rdx */
		{ "\x48\x85\x02", 3, RAX | RDX, FLAGS, RDX, true, false,
		  false },						/* test %rax,(%rdx) */
		{ "\x58", 1, RSP, RAX | RSP, RSP, true, false, false }, /* pop %rax */
		{ "\xf3\x0f\x10\x02", 4, RDX, VECTOR, RDX, true, false,
		  false }, /* movss (%rdx),%xmm0 */
		{ "\xf0\x48\x01\x02", 4, RDX | RAX, FLAGS, RDX, true, false,
		  true },						/* lock add %rax,(%rdx) */
		{ "\x0f\xae\xe8", 3, 0, 0, 0, false, false, true },	/* lfence */
		{ "\x0f\x31", 2, 0, RAX | RDX, 0, false, false, true }, /* rdtsc */
		{ "\x48\x0f\x44\xc2", 4, FLAGS | RDX | RAX, RAX, 0, false, false,
		  false },					/* cmove %rdx,%rax */
		{ "\x0f\x05", 2, 0, 0, 0, false, false, true }, /* syscall */
		{ "\x06", 1, 0, 0, 0, false, false, true },	/* none */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct np_dataflow_insn found = np_dataflow_decode((const uint8_t *)table[i].code,
								   table[i].len);
		bool same = found.drains == table[i].drains &&
			    (found.drains ||
			     (found.reads == table[i].reads && found.writes == table[i].writes &&
			      found.address == table[i].address && found.loads == table[i].loads &&
			      found.branches == table[i].branches));

		CU_ASSERT(same);
		if (!same)
			printf("\n%zu: reads %x writes %x address %x loads %d branches %d drains %d\n",
			       i, found.reads, found.writes, found.address, found.loads,
			       found.branches, found.drains);
	}
}

static uint8_t number[8];

static struct np_dataflow *flow_of(const struct np_dataflow_insn *insn, unsigned int n)
{
	struct np_dataflow *flow = np_dataflow_make(insn, n, INSN_PS, LOAD_PS, insn[n - 1].branches,
						    number);

	CU_ASSERT_FATAL(flow != NULL);
	return flow;
}

static const struct np_dataflow_insn
	chase = { .reads = RAX, .writes = RAX, .address = RAX, .loads = true },
	other = { .reads = RBX, .writes = RBX, .address = RBX, .loads = true },
	count = { .reads = RCX, .writes = RCX | FLAGS },
	back = { .reads = FLAGS, .branches = true };

TEST(a_chase_waits_for_itself)
{
	const struct np_dataflow_insn loop[] = { chase, count, back };
	struct np_dataflow *flow = flow_of(loop, 3);

	CU_ASSERT_EQUAL(flow->accesses, 1);
	CU_ASSERT_EQUAL(flow->access[0].address.regs, RAX);
	CU_ASSERT_EQUAL(flow->value[0].loads, 1);
	CU_ASSERT_EQUAL(flow->branch.regs, RCX);
	CU_ASSERT_EQUAL(flow->branch.loads, 0);
	CU_ASSERT_EQUAL(flow->ps, LOAD_PS); /* of the first level, each round */
	np_block_memory_forget();
}

/* add (%rsi),%rax: the sum waits for the sum before, and no load for another. */
TEST(a_sum_of_loads_is_no_chain)
{
	const struct np_dataflow_insn loop[] = {
		{ .reads = RSI | RAX, .writes = RAX, .address = RSI, .loads = true }, count, back
	};
	const struct np_dataflow_insn pop[] = { { .reads = RSP,
						  .writes = RBX | RSP,
						  .address = RSP,
						  .loads = true,
						  .moves_stack = true },
						count,
						back };

	CU_ASSERT_EQUAL(flow_of(loop, 3)->ps, 3 * INSN_PS);
	CU_ASSERT_EQUAL(flow_of(pop, 3)->ps, 3 * INSN_PS);
	CU_ASSERT_EQUAL(flow_of(pop, 3)->value[NP_DATAFLOW_STACK].loads, 0);
	np_block_memory_forget();
}

TEST(a_load_of_what_a_load_brings_needs_it)
{
	const struct np_dataflow_insn two[] = {
		{ .reads = RAX, .writes = RBX, .address = RAX, .loads = true },
		{ .reads = RBX, .writes = RCX, .address = RBX, .loads = true },
	};
	struct np_dataflow *flow = flow_of(two, 2);

	CU_ASSERT_EQUAL(flow->access[1].address.regs, RAX);
	CU_ASSERT_EQUAL(flow->access[1].address.loads, 1);
	CU_ASSERT_EQUAL(flow->value[1].loads, 3);
	CU_ASSERT_EQUAL(flow->ps, 2 * INSN_PS); /* no round needs the one before */
	np_block_memory_forget();
}

TEST(loads_beyond_the_most_are_waited_for)
{
	struct np_dataflow_insn many[NP_DATAFLOW_ACCESSES + 2];
	uint8_t of[NP_DATAFLOW_ACCESSES + 2];
	struct np_dataflow *flow;

	for (unsigned int i = 0; i < NP_DATAFLOW_ACCESSES + 2; i++)
		many[i] = other;
	flow = np_dataflow_make(many, NP_DATAFLOW_ACCESSES + 2, INSN_PS, LOAD_PS, false, of);
	CU_ASSERT_FATAL(flow != NULL);
	CU_ASSERT_EQUAL(flow->accesses, NP_DATAFLOW_ACCESSES);
	CU_ASSERT_EQUAL(of[NP_DATAFLOW_ACCESSES - 1], NP_DATAFLOW_ACCESSES - 1);
	CU_ASSERT_EQUAL(of[NP_DATAFLOW_ACCESSES], NP_DATAFLOW_ACCESSES);
	np_block_memory_forget();
}

static unsigned int reorder = 128;

/* A block over and over, each of whose loads misses; ns of a round. */
static double round_ns(const struct np_dataflow_insn *insn, unsigned int n, unsigned int rounds)
{
	struct np_dataflow *flow = flow_of(insn, n);
	uint32_t line = 0;
	struct np_cpu *cpu;
	double ns;

	begin();
	np_sim.config.reorder = reorder;
	cpu = &np_sim.cpu[0];
	for (unsigned int i = 0; i < rounds; i++) {
		np_outstanding_begin(cpu, flow);
		cpu->instructions += flow->instructions;
		cpu->pending_ps += flow->ps;
		for (unsigned int load = 0; load < flow->accesses; load++) {
			line = (line + 7919) % NODE_LINES; /* no sequence */
			cpu->load_number = load;
			np_timing_access(cpu, (uint64_t)line << 6, line, NP_LOAD);
		}
	}
	np_outstanding_drain(cpu);
	ns = (cpu->ps + cpu->pending_ps) / 1e3 / rounds;
	end();
	np_block_memory_forget();
	return ns;
}

TEST(a_chase_pays_each_latency)
{
	const struct np_dataflow_insn loop[] = { chase, count, back };

	CU_ASSERT_DOUBLE_EQUAL(round_ns(loop, 3, 500), 80, 1);
}

TEST(chases_of_their_own_overlap)
{
	const struct np_dataflow_insn loop[] = { chase, other, count, back };

	CU_ASSERT_DOUBLE_EQUAL(round_ns(loop, 4, 500), 80, 1);
}

/* Addresses that need no load: as many at once as the core can have, ten. */
TEST(independent_loads_fill_the_core)
{
	const struct np_dataflow_insn loop[] = {
		{ .reads = RSI, .writes = RAX, .address = RSI, .loads = true }, count, back
	};

	CU_ASSERT_DOUBLE_EQUAL(round_ns(loop, 3, 2000), 8, 0.5);
}

static const struct np_dataflow_insn decides = {
	.reads = RSI, .writes = FLAGS, .address = RSI, .loads = true
};

TEST(a_branch_that_goes_as_before_does_not_wait)
{
	const struct np_dataflow_insn loop[] = { decides, back };

	CU_ASSERT_DOUBLE_EQUAL(round_ns(loop, 2, 2000), 8, 0.5);
}

/* Of three blocks, the first two of which are one: it goes another way each time. */
TEST(a_branch_that_goes_another_way_waits_for_what_it_needs)
{
	const struct np_dataflow_insn loop[] = { decides, back };
	struct np_dataflow *flow[] = { flow_of(loop, 2), NULL, flow_of(loop, 2) };
	uint32_t line = 0;
	struct np_cpu *cpu;

	flow[1] = flow[0];
	begin();
	cpu = &np_sim.cpu[0];
	for (unsigned int i = 0; i < 300; i++) {
		np_outstanding_begin(cpu, flow[i % 3]);
		cpu->instructions += 2;
		cpu->pending_ps += 2 * INSN_PS;
		line = (line + 7919) % NODE_LINES;
		cpu->load_number = 0;
		np_timing_access(cpu, (uint64_t)line << 6, line, NP_LOAD);
	}
	np_outstanding_drain(cpu);
	CU_ASSERT_DOUBLE_EQUAL((cpu->ps + cpu->pending_ps) / 1e3 / 100, 160, 5);
	end();
	np_block_memory_forget();
}

/* push %rbx; pop %rcx: the second waits for no value of the first. */
TEST(the_stack_pointer_is_known)
{
	const struct np_dataflow_insn two[] = {
		{ .reads = RSP | RBX,
		  .writes = RSP,
		  .address = RSP,
		  .stores = true,
		  .moves_stack = true },
		{ .reads = RSP,
		  .writes = RSP | RCX,
		  .address = RSP,
		  .loads = true,
		  .moves_stack = true },
	};
	struct np_dataflow *flow = flow_of(two, 2);

	CU_ASSERT_EQUAL(flow->access[1].address.regs, RSP);
	CU_ASSERT_EQUAL(flow->value[NP_DATAFLOW_STACK].regs, RSP);
	np_block_memory_forget();
}

/* Pairs of loads, the second of which needs the first: while it is not known where, its place is another's. */
TEST(a_load_takes_a_place_when_it_starts)
{
	const struct np_dataflow_insn pairs[] = {
		{ .reads = RSI, .writes = RAX, .address = RSI, .loads = true },
		{ .reads = RAX, .writes = RDX, .address = RAX, .loads = true },
		count,
		back
	};

	CU_ASSERT_DOUBLE_EQUAL(round_ns(pairs, 4, 2000), 16, 1.5);
}

/* A list whose elements are read before the next one is: the second load of a line waits as the first. */
TEST(a_line_on_its_way_is_there_for_no_load)
{
	const struct np_dataflow_insn loop[] = {
		{ .reads = RAX, .writes = RDX, .address = RAX, .loads = true }, /* the payload */
		chase,
		count,
		back
	};
	struct np_dataflow *flow = flow_of(loop, 4);
	struct np_cpu *cpu;
	bool writable;

	begin();
	cpu = &np_sim.cpu[0];
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t line = (i * 7919u) % NODE_LINES;

		np_outstanding_begin(cpu, flow);
		cpu->instructions += flow->instructions;
		cpu->pending_ps += flow->ps;
		for (unsigned int load = 0; load < 2; load++) {
			cpu->load_number = load;
			np_timing_use(cpu, (uint64_t)line << 6, line, NP_LOAD, &writable);
		}
	}
	np_outstanding_drain(cpu);
	CU_ASSERT((cpu->ps + cpu->pending_ps) / 1e3 / 200 > 78);
	end();
	np_block_memory_forget();
}

/* Rounds of a block whose n-th access is at address[n], with the fast way's part; ns of a round. */
static double pass_ns(const struct np_dataflow_insn *insn, unsigned int n, uint64_t kept_in,
		      unsigned int rounds)
{
	struct np_dataflow *flow = flow_of(insn, n);
	struct np_cpu *cpu;
	double ns;

	begin();
	cpu = &np_sim.cpu[0];
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t line = (i * 7919u) % NODE_LINES;

		np_outstanding_begin(cpu, flow);
		cpu->instructions += flow->instructions;
		cpu->pending_ps += flow->ps;
		if (cpu->l1->overlaps)
			np_outstanding_pass(cpu, 0, kept_in, false);
		cpu->load_number = 1;
		np_timing_access(cpu, (uint64_t)line << 6, line, NP_LOAD);
		if (cpu->l1->overlaps)
			np_outstanding_pass(cpu, 2, 0x7000, true);
	}
	np_outstanding_drain(cpu);
	ns = (cpu->ps + cpu->pending_ps) / 1e3 / rounds;
	end();
	np_block_memory_forget();
	return ns;
}

/* A chase whose address is kept in memory between the loads: mov (%rsp),%rax; mov (%rax),%rax; mov %rax,(%rsp). */
TEST(a_value_that_is_kept_in_memory_is_waited_for)
{
	const struct np_dataflow_insn loop[] = {
		{ .reads = RSP, .writes = RAX, .address = RSP, .loads = true },
		chase,
		{ .reads = RSP | RAX, .address = RSP, .stores = true },
		count,
		back
	};

	CU_ASSERT_DOUBLE_EQUAL(pass_ns(loop, 5, 0x7000, 500), 80, 1);
	CU_ASSERT_DOUBLE_EQUAL(pass_ns(loop, 5, 0x8000, 500), 8, 1); /* what is kept elsewhere */
}

#define THREADS 4
#define BLOCKS	2000

static void *translate(void *unused)
{
	static const uint8_t code[] = { 0x48, 0x8b, 0x00 }; /* mov (%rax),%rax */
	const struct np_dataflow *before = NULL;

	for (unsigned int i = 0; i < BLOCKS; i++) {
		const struct np_dataflow_insn insn = np_dataflow_decode(code, sizeof(code));
		uint8_t index;
		struct np_dataflow *flow = np_dataflow_make(&insn, 1, INSN_PS, LOAD_PS, false,
							    &index);

		if (!flow || flow == before || flow->value[0].loads != 1)
			return (void *)1;
		before = flow;
	}
	return NULL;
}

TEST(cpus_translate_at_the_same_time)
{
	pthread_t thread[THREADS];
	void *failed;

	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT_FATAL(!pthread_create(&thread[i], NULL, translate, NULL));
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &failed);
		CU_ASSERT_PTR_NULL(failed);
	}
	np_block_memory_forget();
}

/* With seven other instructions to each load, a window of 16 has two loads, or three. */
TEST(the_window_holds_so_many_instructions)
{
	const struct np_dataflow_insn wide[8] = {
		{ .reads = RSI, .writes = RAX, .address = RSI, .loads = true }
	};

	CU_ASSERT_DOUBLE_EQUAL(round_ns(wide, 8, 1000), 8, 0.8);
	reorder = 16;
	CU_ASSERT_DOUBLE_EQUAL(round_ns(wide, 8, 1000), 80 / 3.0, 2);
	reorder = 128;
}
