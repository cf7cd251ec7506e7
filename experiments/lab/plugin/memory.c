// SPDX-License-Identifier: GPL-2.0-only
#include "memory.h"
#include "lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What the directory says of a line; the node is in the low bits. */
#define NOWHERE	 0x00
#define ALONE	 0x20	/* unmodified, in this node only */
#define SHARED	 0x40	/* unmodified, in several nodes perhaps */
#define MODIFIED 0x80	/* in this node only */
#define NODE	 0x1f

#define CORE_BITS 16	/* of np_state */

static int init_cpu(struct np_memory *m, unsigned int cpu)
{
	const struct np_config *c = m->config;
	unsigned int node = c->cpu_node[cpu], n = m->node_cpus[node]++;

	m->core_bit[cpu] = 1u << n % CORE_BITS;
	m->node_cpu[node][n] = cpu;
	np_l1_init(&m->cpu[cpu].l1, c->l1.ways, c->line_shift);
	return c->l2.bytes ? np_cache_init(&m->cpu[cpu].l2, c->l2.bytes, c->l2.ways, c->line_bytes) :
			     0;
}

int np_memory_init(struct np_memory *m, const struct np_config *config)
{
	int ret = 0;

	*m = (struct np_memory){ .config = config };
	m->cpu = aligned_alloc(_Alignof(struct np_private), config->cpus * sizeof(*m->cpu));
	/* Of this only the pages that the guest's memory needs become real. */
	m->directory = mmap(NULL, config->lines, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!m->cpu || m->directory == MAP_FAILED)
		return -ENOMEM;
	memset(m->cpu, 0, config->cpus * sizeof(*m->cpu));
	for (unsigned int cpu = 0; cpu < config->cpus; cpu++)
		ret = ret ?: init_cpu(m, cpu);
	for (unsigned int node = 0; node < config->nodes; node++)
		if (m->node_cpus[node])
			ret = ret ?: np_cache_init(&m->llc[node], config->llc.bytes,
						   config->llc.ways, config->line_bytes);
	return ret;
}

void np_memory_free(struct np_memory *m)
{
	for (unsigned int cpu = 0; cpu < m->config->cpus; cpu++)
		np_cache_free(&m->cpu[cpu].l2);
	for (unsigned int node = 0; node < m->config->nodes; node++)
		np_cache_free(&m->llc[node]);
	munmap(m->directory, m->config->lines);
	free(m->cpu);
}

static void drop_now(struct np_private *p, uint32_t line)
{
	uint32_t set = np_cache_set(&p->l2, line);
	size_t slot = np_cache_find_in(&p->l2, set, line);

	np_l1_drop(&p->l1, line);
	if (slot != NP_NO_SLOT)
		np_cache_drop(&p->l2, set, slot);
}

static void drop_later(struct np_taken *t, uint32_t line)
{
	np_lock(&t->lock);
	if (t->n < NP_TAKEN)
		t->line[t->n++] = line;
	else
		t->all = true;
	np_unlock(&t->lock);
}

static __attribute__((noinline)) void give_up(struct np_private *p)
{
	struct np_taken *t = &p->taken;

	np_lock(&t->lock);
	for (unsigned int i = 0; i < t->n; i++)
		drop_now(p, t->line[i]);
	if (t->all) {
		np_l1_clear(&p->l1);
		np_cache_clear(&p->l2);
	}
	t->all = false;
	t->n = 0;
	np_unlock(&t->lock);
}

void np_memory_give_up(struct np_private *p)
{
	if (__atomic_load_n(&p->taken.n, __ATOMIC_RELAXED))
		give_up(p);
}

static void drop_from_others(struct np_memory *m, unsigned int self, unsigned int node,
			     unsigned int cores, uint32_t line)
{
	for (unsigned int i = 0; i < m->node_cpus[node]; i++) {
		unsigned int cpu = m->node_cpu[node][i];
		struct np_private *p = &m->cpu[cpu];

		if (cpu == self || !(m->core_bit[cpu] & cores))
			continue;
		if (np_l1_find(&p->l1, line) >= 0 || np_cache_find(&p->l2, line) != NP_NO_SLOT)
			drop_later(&p->taken, line);
	}
}

/* Whether one of a node's cores, but for `self`, may be meant. */
static inline bool mean_others(const struct np_memory *m, unsigned int self, unsigned int node,
			       unsigned int cores)
{
	bool own_bit = node == m->config->cpu_node[self] && m->node_cpus[node] <= CORE_BITS;

	return own_bit ? cores & ~m->core_bit[self] : cores;
}

/* The node's private caches lose a line. `self` is the CPU whose thread this is. */
static inline void drop_private(struct np_memory *m, unsigned int self, unsigned int node,
				unsigned int cores, uint32_t line)
{
	if (node == m->config->cpu_node[self] && cores & m->core_bit[self])
		drop_now(&m->cpu[self], line);
	if (mean_others(m, self, node, cores))
		drop_from_others(m, self, node, cores, line);
}

static void drop_node(struct np_memory *m, unsigned int self, unsigned int node, uint32_t line)
{
	struct np_cache *llc = &m->llc[node];
	uint32_t set = np_cache_set(llc, line);
	size_t slot = np_cache_find_in(llc, set, line);

	if (slot == NP_NO_SLOT)
		return;
	drop_private(m, self, node, llc->state[slot].cores, line);
	np_cache_drop(llc, set, slot);
}

static void drop_elsewhere(struct np_memory *m, unsigned int self, uint32_t line)
{
	unsigned int state = m->directory[line], node = m->config->cpu_node[self];

	if (state == NOWHERE || (state != SHARED && (state & NODE) == node))
		return;
	for (unsigned int other = 0; other < m->config->nodes; other++)
		if (other != node)
			drop_node(m, self, other, line);
}

/* A node reads what another has modified: that one keeps it, unmodified, and memory gets it. */
static void downgrade(struct np_memory *m, unsigned int self, unsigned int holder, uint32_t line)
{
	struct np_cache *llc = &m->llc[holder];
	size_t slot = np_cache_find(llc, line);

	if (slot == NP_NO_SLOT)
		return;
	drop_private(m, self, holder, llc->state[slot].cores, line);
	llc->state[slot].writable = false;
}

/* What had the slot leaves the node; returns the node that it is written to, or -1. */
static int evict(struct np_memory *m, unsigned int self, size_t slot)
{
	unsigned int node = m->config->cpu_node[self];
	struct np_cache *llc = &m->llc[node];
	struct np_state state = llc->state[slot];
	uint32_t line = llc->line[slot] - 1;

	if (!llc->line[slot])
		return -1;
	drop_private(m, self, node, state.cores, line);
	if (m->directory[line] != SHARED)
		m->directory[line] = NOWHERE;
	return state.writable ? (int)np_config_line_node(m->config, line) : -1;
}

static struct np_result miss(struct np_memory *m, unsigned int cpu, uint32_t line, bool store)
{
	unsigned int node = m->config->cpu_node[cpu], state = m->directory[line];
	struct np_result r = { NP_SERVED_DRAM, np_config_line_node(m->config, line), { -1, -1 } };

	if (state & MODIFIED && (state & NODE) != node) {
		r.served = NP_SERVED_REMOTE_CACHE;
		if (!store) {
			downgrade(m, cpu, state & NODE, line);
			r.written_back[0] = r.node;
		}
		r.node = state & NODE;
	}
	if (store)
		drop_elsewhere(m, cpu, line);
	else
		m->directory[line] = state == NOWHERE ? ALONE | node : SHARED;
	return r;
}

static struct np_result hit(struct np_memory *m, unsigned int cpu, struct np_state *state,
			    uint32_t line, bool store)
{
	unsigned int node = m->config->cpu_node[cpu];
	bool others = mean_others(m, cpu, node, state->cores);
	bool alone = state->cores && !others && m->directory[line] != SHARED;
	struct np_result r = { NP_SERVED_LLC, node, { -1, -1 } };

	if (!store)
		return r;
	if (alone && np_l1_find(&m->cpu[cpu].l1, line) >= 0)
		r.served = NP_SERVED_UPGRADE;
	if (others)
		drop_from_others(m, cpu, node, state->cores, line);
	state->cores = 0;
	drop_elsewhere(m, cpu, line);
	return r;
}

static struct np_result last_level(struct np_memory *m, unsigned int cpu, uint32_t set, uint32_t line,
				   bool store)
{
	unsigned int node = m->config->cpu_node[cpu];
	struct np_cache *llc = &m->llc[node];
	size_t slot = np_cache_find_in(llc, set, line);
	struct np_result r;

	if (slot != NP_NO_SLOT) {
		np_cache_use(llc, set, slot);
		r = hit(m, cpu, &llc->state[slot], line, store);
	} else {
		r = miss(m, cpu, line, store);
		slot = np_cache_make_room(llc, set);
		r.written_back[1] = evict(m, cpu, slot);
		llc->line[slot] = line + 1;
		llc->state[slot] = (struct np_state){ 0 };
	}
	llc->state[slot].cores |= m->core_bit[cpu];
	if (store) {
		llc->state[slot].writable = true;
		m->directory[line] = MODIFIED | node;
	}
	return r;
}

struct np_result np_memory_access(struct np_memory *m, unsigned int cpu, uint32_t line,
				  bool store)
{
	struct np_result r = { NP_SERVED_L2, m->config->cpu_node[cpu], { -1, -1 } };
	struct np_private *p = &m->cpu[cpu];
	uint32_t own_set = np_cache_set(&p->l2, line), set = np_cache_set(&m->llc[r.node], line);
	size_t slot;
	uint8_t *stripe;

	np_memory_give_up(p);
	slot = np_cache_find_in(&p->l2, own_set, line);
	if (slot != NP_NO_SLOT && (!store || p->l2.state[slot].writable)) {
		np_cache_use(&p->l2, own_set, slot);
		np_l1_fill(&p->l1, line, store, p->l2.state[slot].writable);
		return r;
	}
	/* All last levels have the same sets, so one lock covers a line in all of them. */
	stripe = &m->stripe[set % NP_STRIPES];
	np_lock(stripe);
	r = last_level(m, cpu, set, line, store);
	np_unlock(stripe);
	np_l1_fill(&p->l1, line, store, store);
	if (p->l2.sets) {
		if (slot == NP_NO_SLOT)
			slot = np_cache_make_room(&p->l2, own_set);
		p->l2.line[slot] = line + 1;
		p->l2.state[slot].writable = store;
	}
	return r;
}

void np_memory_bypass(struct np_memory *m, unsigned int cpu, uint32_t line)
{
	uint8_t *stripe;

	if (__atomic_load_n(&m->directory[line], __ATOMIC_RELAXED) == NOWHERE)
		return;
	stripe = &m->stripe[np_cache_set(&m->llc[m->config->cpu_node[cpu]], line) % NP_STRIPES];
	np_lock(stripe);
	for (unsigned int node = 0; node < m->config->nodes; node++)
		drop_node(m, cpu, node, line);
	m->directory[line] = NOWHERE;
	np_unlock(stripe);
}
