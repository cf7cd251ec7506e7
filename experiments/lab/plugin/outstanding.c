// SPDX-License-Identifier: GPL-2.0-only
#include "cpu.h"
#include "timing.h"

#include <string.h>

static uint64_t now_of(const struct np_cpu *cpu)
{
	return cpu->ps + cpu->pending_ps;
}

static void forget(struct np_cpu *cpu)
{
	struct np_outstanding *o = &cpu->outstanding;

	o->late = (struct np_dataflow_needs) { 0 };
	o->last_ps = o->memory_ps = 0;
	o->n = 0;
	cpu->l1->overlaps = false;
}

static uint64_t latest(const uint64_t *ps, uint32_t which, uint64_t found)
{
	for (; which; which &= which - 1) {
		uint64_t one = ps[__builtin_ctz(which)];

		found = one > found ? one : found;
	}
	return found;
}

/* When all that a value needs is there; 0: it is. */
static uint64_t ready_ps(const struct np_outstanding *o, const struct np_dataflow_needs *needs)
{
	return latest(o->value_ps, needs->regs & o->late.regs,
		      latest(o->load_ps, needs->loads & o->late.loads, 0));
}

/* What of it a line of memory would take, too, is memory's. */
static void wait_until(struct np_cpu *cpu, uint64_t ps)
{
	uint64_t now = now_of(cpu), memory_ps = cpu->outstanding.memory_ps;

	if (memory_ps > now) {
		uint64_t end = memory_ps < ps ? memory_ps : ps;

		if (end > now)
			np_timing_wait(cpu, end - now, true);
		now = now_of(cpu);
	}
	if (ps > now)
		np_timing_wait(cpu, ps - now, false);
}

/* The oldest leave when they are there. */
static void drop_done(struct np_outstanding *o, uint64_t now)
{
	while (o->n && o->load[o->oldest].there_ps <= now) {
		o->oldest = (o->oldest + 1) % NP_OUTSTANDING;
		o->n--;
	}
}

/* The core begins no more instructions after the oldest load than its window holds. */
static void keep_to_window(struct np_cpu *cpu, uint64_t begun)
{
	struct np_outstanding *o = &cpu->outstanding;

	drop_done(o, now_of(cpu));
	while (o->n && o->load[o->oldest].instructions + np_sim.config.reorder < begun) {
		wait_until(cpu, o->load[o->oldest].there_ps);
		drop_done(o, now_of(cpu));
	}
}

/* Where its branch goes as the last time, the core has gone on there before it knew. */
static bool is_predicted(struct np_dataflow *block, const struct np_dataflow *next)
{
	bool same = np_read(block->next) == next;

	if (!same)
		np_write(block->next, next);
	return same;
}

/* The block before has ended: what its registers hold now. */
static void end_block(struct np_cpu *cpu, const struct np_dataflow *next)
{
	struct np_outstanding *o = &cpu->outstanding;
	struct np_dataflow *block = o->block;
	uint64_t value_ps[NP_DATAFLOW_REGS];
	uint32_t late = 0;

	if (!block)
		return;
	if (block->branches && !is_predicted(block, next))
		wait_until(cpu, ready_ps(o, &block->branch));
	for (uint32_t left = block->written; left; left &= left - 1) {
		unsigned int reg = __builtin_ctz(left);

		value_ps[reg] = ready_ps(o, &block->value[reg]);
		late |= (uint32_t)(value_ps[reg] > now_of(cpu)) << reg;
	}
	o->late.regs = (o->late.regs & ~block->written) | late;
	o->late.loads = 0;
	for (; late; late &= late - 1)
		o->value_ps[__builtin_ctz(late)] = value_ps[__builtin_ctz(late)];
}

void np_outstanding_begin(struct np_cpu *cpu, struct np_dataflow *block)
{
	struct np_outstanding *o = &cpu->outstanding;

	if (o->last_ps) {
		if (o->last_ps > now_of(cpu)) {
			end_block(cpu, block);
			keep_to_window(cpu, cpu->instructions);
		}
		if (o->last_ps <= now_of(cpu))
			forget(cpu);
	}
	o->block = block;
}

/* A place of the core that is free at `ready`, the one that has been for the shortest time, or the next that will be. */
static uint64_t *find_place(struct np_cpu *cpu, uint64_t ready)
{
	unsigned int most = np_sim.config.model.node[cpu->node].core_outstanding;
	uint64_t *place = cpu->outstanding.place_ps, *best = place;

	most = most < NP_PLACES ? most : NP_PLACES;
	for (unsigned int i = 1; i < most; i++) {
		bool later = place[i] > *best;

		if (place[i] <= ready ? *best > ready || later : !later)
			best = &place[i];
	}
	return best;
}

static void remember(struct np_cpu *cpu, uint64_t there_ps, uint64_t begun)
{
	struct np_outstanding *o = &cpu->outstanding;
	unsigned int i;

	if (o->n == NP_OUTSTANDING) {
		wait_until(cpu, o->load[o->oldest].there_ps);
		drop_done(o, now_of(cpu));
	}
	i = (o->oldest + o->n++) % NP_OUTSTANDING;
	o->load[i].there_ps = there_ps;
	o->load[i].instructions = begun;
}

static bool has_number(const struct np_outstanding *o, unsigned int number)
{
	return o->block && number < o->block->accesses;
}

uint64_t np_outstanding_ready(const struct np_cpu *cpu, unsigned int number)
{
	const struct np_outstanding *o = &cpu->outstanding;
	uint64_t now = now_of(cpu), ready;

	if (!o->last_ps || !has_number(o, number))
		return now;
	ready = ready_ps(o, &o->block->access[number].address);
	return ready > now ? ready : now;
}

/* An instruction may make several: its value is there with the last. */
static void note_load(struct np_cpu *cpu, unsigned int number, uint64_t there_ps, bool memory)
{
	struct np_outstanding *o = &cpu->outstanding;

	if (!(o->late.loads >> number & 1) || there_ps > o->load_ps[number])
		o->load_ps[number] = there_ps;
	o->late.loads |= 1u << number;
	cpu->l1->overlaps = true;
	if (there_ps > o->last_ps)
		o->last_ps = there_ps;
	if (memory && there_ps > o->memory_ps)
		o->memory_ps = there_ps;
}

/* Instructions before an access, of which the block's are counted at its begin. */
static uint64_t count_begun(const struct np_cpu *cpu, unsigned int number)
{
	const struct np_dataflow *block = cpu->outstanding.block;

	return cpu->instructions - block->instructions + block->access[number].after;
}

uint64_t np_outstanding_load(struct np_cpu *cpu, unsigned int number, uint64_t ps, bool memory)
{
	struct np_outstanding *o = &cpu->outstanding;
	uint64_t start, begun, *place;

	if (!has_number(o, number)) {
		np_outstanding_drain(cpu);
		start = now_of(cpu);
		np_timing_wait(cpu, ps, memory);
		return start;
	}
	begun = count_begun(cpu, number);
	if (o->n)
		keep_to_window(cpu, begun);
	start = np_outstanding_ready(cpu, number);
	place = find_place(cpu, start);
	start = *place > start ? *place : start;
	*place = start + ps;
	remember(cpu, start + ps, begun);
	note_load(cpu, number, start + ps, memory);
	return start;
}

void np_outstanding_wait_for(struct np_cpu *cpu, unsigned int number, uint64_t there_ps,
			     bool stored)
{
	struct np_outstanding *o = &cpu->outstanding;
	uint64_t now;

	if (has_number(o, number)) {
		if (stored)
			remember(cpu, there_ps, count_begun(cpu, number));
		note_load(cpu, number, there_ps, true);
		return;
	}
	np_outstanding_drain(cpu);
	now = now_of(cpu);
	if (there_ps > now)
		np_timing_wait(cpu, there_ps - now, true);
}

void np_outstanding_pass(struct np_cpu *cpu, unsigned int number, uint64_t vaddr, bool store)
{
	struct np_outstanding *o = &cpu->outstanding;
	uint64_t address = vaddr >> 3, there_ps = 0;
	unsigned int i = (address ^ address >> 4) % NP_STORED;
	bool known = has_number(o, number);

	if (store) {
		there_ps = known ? ready_ps(o, &o->block->access[number].value) : 0;
		if (there_ps > now_of(cpu) || o->stored[i].address == address) {
			o->stored[i].address = address;
			o->stored[i].there_ps = there_ps;
		}
	} else if (o->stored[i].address == address && o->stored[i].there_ps > now_of(cpu)) {
		if (known)
			note_load(cpu, number, o->stored[i].there_ps, false);
		else
			wait_until(cpu, o->stored[i].there_ps);
	}
}

void np_outstanding_drain(struct np_cpu *cpu)
{
	struct np_outstanding *o = &cpu->outstanding;

	if (!o->last_ps)
		return;
	wait_until(cpu, o->last_ps);
	forget(cpu);
}
