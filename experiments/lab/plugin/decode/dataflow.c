// SPDX-License-Identifier: GPL-2.0-only
#include "dataflow.h"
#include "block_memory.h"

#include <string.h>

#define NO_PATH (-1000)

/* While a block is gone through: what each register's value needs, and loads on the way to it. */
struct state {
	struct np_dataflow_needs value[NP_DATAFLOW_REGS];
	int loads[NP_DATAFLOW_REGS][NP_DATAFLOW_REGS]; /* [from][to], the most */
};

static struct state begin(void)
{
	struct state s;

	for (unsigned int from = 0; from < NP_DATAFLOW_REGS; from++) {
		s.value[from] = (struct np_dataflow_needs) { .regs = 1u << from };
		for (unsigned int to = 0; to < NP_DATAFLOW_REGS; to++)
			s.loads[from][to] = from == to ? 0 : NO_PATH;
	}
	return s;
}

static struct np_dataflow_needs needs_of(const struct state *s, uint32_t regs)
{
	struct np_dataflow_needs all = { 0 };

	for (; regs; regs &= regs - 1) {
		const struct np_dataflow_needs *one = &s->value[__builtin_ctz(regs)];

		all.regs |= one->regs;
		all.loads |= one->loads;
	}
	return all;
}

static int most_loads(const struct state *s, unsigned int from, uint32_t regs)
{
	int longest = NO_PATH;

	for (; regs; regs &= regs - 1) {
		int one = s->loads[from][__builtin_ctz(regs)];

		longest = one > longest ? one : longest;
	}
	return longest;
}

/* A vector register of which others keep their values. */
static bool adds(unsigned int reg)
{
	return reg == NP_DATAFLOW_VECTOR;
}

static int most(int a, int b)
{
	return a > b ? a : b;
}

/* push, pop and their like: the stack pointer is known before the value. */
static bool is_stack(const struct np_dataflow_insn *insn, unsigned int reg)
{
	return insn->moves_stack && reg == NP_DATAFLOW_STACK;
}

static void write_regs(struct state *s, const struct np_dataflow_insn *insn,
		       struct np_dataflow_needs value)
{
	int loads[NP_DATAFLOW_REGS];

	for (unsigned int from = 0; from < NP_DATAFLOW_REGS; from++)
		loads[from] = most(most_loads(s, from, insn->reads),
				   most_loads(s, from, insn->address) + insn->loads);
	for (uint32_t left = insn->writes; left; left &= left - 1) {
		unsigned int to = __builtin_ctz(left);
		struct np_dataflow_needs *now = &s->value[to];

		if (is_stack(insn, to))
			continue;

		*now = (struct np_dataflow_needs) {
			value.regs | (adds(to) ? now->regs : 0),
			value.loads | (adds(to) ? now->loads : 0),
		};
		for (unsigned int from = 0; from < NP_DATAFLOW_REGS; from++)
			if (!adds(to) || loads[from] > s->loads[from][to])
				s->loads[from][to] = loads[from];
	}
}

/* Loads that a round of the block, if it is a loop, has to wait for one after the other. */
static unsigned int chain_of(const struct state *s)
{
	int longest = 0;

	for (unsigned int reg = 0; reg < NP_DATAFLOW_FLAGS; reg++)
		longest = most(longest, s->loads[reg][reg]);
	return longest;
}

static bool has_number(const struct np_dataflow_insn *insn)
{
	return (insn->loads || insn->stores) && !insn->drains;
}

static unsigned int count_accesses(const struct np_dataflow_insn *insn, unsigned int n)
{
	unsigned int accesses = 0;

	for (unsigned int i = 0; i < n; i++)
		accesses += has_number(&insn[i]);
	return accesses < NP_DATAFLOW_ACCESSES ? accesses : NP_DATAFLOW_ACCESSES;
}

/* Goes through a block; index[] as np_dataflow_make(). */
static void follow(struct np_dataflow *flow, struct state *s, const struct np_dataflow_insn *insn,
		   uint8_t *index)
{
	unsigned int next = 0;

	for (unsigned int i = 0; i < flow->instructions; i++) {
		struct np_dataflow_needs value = needs_of(s, insn[i].reads | insn[i].address);

		index[i] = NP_DATAFLOW_ACCESSES;
		if (has_number(&insn[i]) && next < flow->accesses) {
			value.loads |= (uint32_t)insn[i].loads << next;
			flow->access[next] = (struct np_dataflow_access) {
				needs_of(s, insn[i].address), value, i
			};
			index[i] = next++;
		}
		if (insn[i].branches) {
			flow->branches = true;
			flow->branch = value;
		}
		write_regs(s, &insn[i], value);
		flow->written |= insn[i].writes;
	}
}

struct np_dataflow *np_dataflow_make(const struct np_dataflow_insn *insn, unsigned int n,
				     uint32_t insn_ps, uint32_t load_ps, bool loops, uint8_t *index)
{
	unsigned int accesses = count_accesses(insn, n), chain_ps;
	struct np_dataflow *flow = np_block_memory_take(sizeof(*flow) +
							accesses * sizeof(flow->access[0]));
	struct state s = begin();

	if (!flow)
		return NULL;
	flow->instructions = n;
	flow->accesses = accesses;
	follow(flow, &s, insn, index);
	memcpy(flow->value, s.value, sizeof(flow->value));
	chain_ps = loops ? chain_of(&s) * load_ps : 0;
	flow->ps = n * insn_ps > chain_ps ? n * insn_ps : chain_ps;
	return flow;
}
