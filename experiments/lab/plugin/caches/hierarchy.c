// SPDX-License-Identifier: GPL-2.0-only
#include "hierarchy.h"
#include "../lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* State of a line in the directory; the group of CPUs, which have one last level, is in the low bits. */
#define NOWHERE	 0x00
#define ALONE	 0x20 /* unmodified, in this group only */
#define SHARED	 0x40 /* unmodified, in several groups perhaps */
#define MODIFIED 0x80 /* in this group only */
#define GROUP	 0x1f

#define CORE_BITS 16 /* of np_state */

static int init_cpu(struct np_hierarchy *m, unsigned int cpu)
{
	const struct np_config *c = m->config;
	unsigned int group = c->cpu_llc[cpu], n = m->group_cpus[group]++;
	struct np_private *p = &m->cpu[cpu];

	m->group_cpu[group][n] = cpu;
	p->node = c->cpu_node[cpu];
	p->group = group;
	p->llc = &m->llc[group];
	p->core = 1u << n % CORE_BITS;
	np_l1_init(&p->l1, c->l1.ways, c->line_shift);
	return c->l2.bytes ? np_cache_init(&p->l2, c->l2.bytes, c->l2.ways, c->line_bytes) : 0;
}

/* In pieces of the largest power of two of lines that divides every range of memory. */
static int init_home(struct np_hierarchy *m)
{
	const struct np_config *c = m->config;
	uint64_t bounds = c->lines;

	for (unsigned int i = 0; i < c->n_ram; i++)
		bounds |= c->ram[i].first_line;
	m->home_shift = __builtin_ctzll(bounds);
	m->home = malloc(c->lines >> m->home_shift);
	if (!m->home)
		return -ENOMEM;
	for (uint64_t line = 0; line < c->lines; line += 1ull << m->home_shift)
		m->home[line >> m->home_shift] = np_config_line_node(c, line);
	return 0;
}

int np_hierarchy_init(struct np_hierarchy *m, const struct np_config *config)
{
	int ret;

	*m = (struct np_hierarchy) { .config = config };
	m->cpu = aligned_alloc(_Alignof(struct np_private), config->cpus * sizeof(*m->cpu));
	/* Only the pages for lines that the guest uses are allocated. */
	m->directory = mmap(NULL, config->lines, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!m->cpu || m->directory == MAP_FAILED)
		return -ENOMEM;
	memset(m->cpu, 0, config->cpus * sizeof(*m->cpu));
	ret = init_home(m);
	for (unsigned int cpu = 0; cpu < config->cpus; cpu++)
		ret = ret ?: init_cpu(m, cpu);
	for (unsigned int cpu = 0; cpu < config->cpus; cpu++)
		if (m->group_cpus[m->cpu[cpu].group] <= CORE_BITS)
			m->cpu[cpu].own = m->cpu[cpu].core;
	for (unsigned int group = 0; group < config->llcs; group++)
		ret = ret   ?:
			      np_cache_init(&m->llc[group], config->llc.bytes, config->llc.ways,
					    config->line_bytes);
	return ret;
}

void np_hierarchy_free(struct np_hierarchy *m)
{
	for (unsigned int cpu = 0; cpu < m->config->cpus; cpu++)
		np_cache_free(&m->cpu[cpu].l2);
	for (unsigned int group = 0; group < m->config->llcs; group++)
		np_cache_free(&m->llc[group]);
	munmap(m->directory, m->config->lines);
	free(m->home);
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

static void protect_now(struct np_private *p, uint32_t line)
{
	size_t slot = np_cache_find(&p->l2, line);

	np_l1_protect(&p->l1, line);
	if (slot != NP_NO_SLOT)
		p->l2.state[slot].writable = false;
}

static void queue_invalidation(struct np_invalidations *t, uint32_t line, uint32_t how)
{
	np_lock(&t->lock);
	if (t->n < NP_INVALIDATIONS) {
		t->line[t->n] = line | how;
		__atomic_store_n(&t->n, t->n + 1, __ATOMIC_RELEASE);
	} else {
		t->all = true;
	}
	np_unlock(&t->lock);
}

static __attribute__((noinline)) void apply_invalidations(struct np_private *p)
{
	struct np_invalidations *t = &p->invalidations;

	np_lock(&t->lock);
	for (unsigned int i = 0; i < t->n; i++)
		if (t->line[i] & NP_PROTECT)
			protect_now(p, t->line[i] & ~NP_PROTECT);
		else
			drop_now(p, t->line[i]);
	if (t->all) {
		np_l1_clear(&p->l1);
		np_cache_clear(&p->l2);
	}
	t->all = false;
	__atomic_store_n(&t->n, 0, __ATOMIC_RELAXED);
	np_unlock(&t->lock);
}

void np_hierarchy_invalidate(struct np_private *p)
{
	if (__atomic_load_n(&p->invalidations.n, __ATOMIC_RELAXED))
		apply_invalidations(p);
}

/*
 * Whether another CPU's private caches have a line. Its thread may be filling in others meanwhile, a
 * word each; this one it fills into the second level under the stripe's lock, and from there into
 * the first without: so the second is searched first.
 */
static bool has_line(const struct np_private *p, uint32_t line)
{
	const struct np_cache *l2 = &p->l2;
	const uint32_t *l1_set = p->l1.set[line & p->l1.set_mask].line;

	return (l2->sets &&
		np_way_search_shared(l2->line + (size_t)np_cache_set(l2, line) * l2->padded,
				     l2->padded, line + 1)) ||
	       np_way_search_shared(l1_set, p->l1.ways, line + 1);
}

/* how: 0, or NP_PROTECT. Returns whether one of them had it. */
static bool take_from_others(struct np_hierarchy *m, const struct np_private *self,
			     unsigned int group, unsigned int cores, uint32_t line, uint32_t how)
{
	bool had = false;

	for (unsigned int i = 0; i < m->group_cpus[group]; i++) {
		struct np_private *p = &m->cpu[m->group_cpu[group][i]];

		if (p == self || !(p->core & cores) || !has_line(p, line))
			continue;
		queue_invalidation(&p->invalidations, line, how);
		had = true;
	}
	return had;
}

/* The own group's private caches lose a line. */
static inline void drop_private(struct np_hierarchy *m, struct np_private *self, unsigned int cores,
				uint32_t line)
{
	if (cores & self->core)
		drop_now(self, line);
	if (cores & ~self->own)
		take_from_others(m, self, self->group, cores, line, 0);
}

/* Returns whether the group had it. */
static bool drop_group(struct np_hierarchy *m, struct np_private *self, unsigned int group,
		       uint32_t line)
{
	struct np_cache *llc = &m->llc[group];
	uint32_t set = np_cache_set(llc, line);
	size_t slot = np_cache_find_in(llc, set, line);

	if (slot == NP_NO_SLOT)
		return false;
	if (group == self->group)
		drop_private(m, self, llc->state[slot].cores, line);
	else
		take_from_others(m, self, group, llc->state[slot].cores, line, 0);
	np_cache_drop(llc, set, slot);
	return true;
}

/* Returns the last of the other groups that had it, or -1. */
static int drop_elsewhere(struct np_hierarchy *m, struct np_private *self, uint32_t line)
{
	unsigned int state = m->directory[line];
	int had = -1;

	if (state == NOWHERE || (state != SHARED && (state & GROUP) == self->group))
		return -1;
	for (unsigned int other = 0; other < m->config->llcs; other++)
		if (other != self->group && drop_group(m, self, other, line))
			had = other;
	return had;
}

/* A CPU of another group has lost the line; group -1: none has. */
static void note_taken(const struct np_hierarchy *m, struct np_result *r, int group)
{
	if (group < 0)
		return;
	r->taken_from = m->config->llc_node[group];
	r->of_other_llc = true;
}

/* A group reads a line that another has modified: the holder keeps it unmodified, memory gets it. */
static void downgrade(struct np_hierarchy *m, const struct np_private *self, unsigned int holder,
		      uint32_t line)
{
	struct np_cache *llc = &m->llc[holder];
	size_t slot = np_cache_find(llc, line);

	if (slot == NP_NO_SLOT)
		return;
	take_from_others(m, self, holder, llc->state[slot].cores, line, NP_PROTECT);
	llc->state[slot].writable = llc->state[slot].owned = false;
}

/* The slot's line leaves the group; returns the node that it is written back to, or -1. */
static int evict(struct np_hierarchy *m, struct np_private *self, size_t slot)
{
	struct np_state state = self->llc->state[slot];
	uint32_t line = self->llc->line[slot] - 1;

	if (!self->llc->line[slot])
		return -1;
	drop_private(m, self, state.cores, line);
	if (m->directory[line] != SHARED)
		m->directory[line] = NOWHERE;
	return state.writable ? (int)np_hierarchy_home(m, line) : -1;
}

static struct np_result miss(struct np_hierarchy *m, struct np_private *self, uint32_t line,
			     bool store)
{
	unsigned int state = m->directory[line];
	struct np_result r = {
		NP_SERVED_DRAM,
		np_hierarchy_home(m, line),
		np_hierarchy_home(m, line),
		{ -1, -1 },
		-1,
		false,
	};

	if (state & MODIFIED && (state & GROUP) != self->group) {
		if (!store) {
			downgrade(m, self, state & GROUP, line);
			r.written_back[0] = r.node;
			note_taken(m, &r, state & GROUP);
		}
		r.node = m->config->llc_node[state & GROUP];
		r.served = r.node == self->node ? NP_SERVED_NODE_CACHE : NP_SERVED_REMOTE_CACHE;
	}
	if (store)
		note_taken(m, &r, drop_elsewhere(m, self, line));
	else
		m->directory[line] = state == NOWHERE ? ALONE | self->group : SHARED;
	return r;
}

/* Cores share bits in a large node, and evict lines without a word: who has the line is looked up. */
static bool take_from_neighbours(struct np_hierarchy *m, struct np_private *self,
				 struct np_state *state, uint32_t line, bool store)
{
	if (!(state->cores & ~self->own) || !(store || state->owned))
		return false;
	return take_from_others(m, self, self->group, state->cores, line, store ? 0 : NP_PROTECT);
}

static struct np_result hit(struct np_hierarchy *m, struct np_private *self, struct np_state *state,
			    uint32_t line, bool store)
{
	bool taken = take_from_neighbours(m, self, state, line, store), owned = state->owned;
	struct np_result r = {
		taken && owned ? NP_SERVED_NEIGHBOUR : NP_SERVED_LLC,
		self->node,
		np_hierarchy_home(m, line),
		{ -1, -1 },
		taken ? (int)self->node : -1,
		false,
	};

	if (!store) {
		state->owned &= !(state->cores & ~self->own);
		return r;
	}
	if (!taken && m->directory[line] != SHARED && np_l1_find(&self->l1, line) >= 0)
		r.served = NP_SERVED_UPGRADE;
	state->cores = 0;
	if (m->directory[line] == SHARED)
		note_taken(m, &r, drop_elsewhere(m, self, line));
	return r;
}

static inline struct np_result last_level(struct np_hierarchy *m, struct np_private *self,
					  uint32_t set, uint32_t line, bool store)
{
	struct np_cache *llc = self->llc;
	size_t slot = np_cache_find_in(llc, set, line);
	struct np_result r;

	if (slot != NP_NO_SLOT) {
		np_cache_use(llc, set, slot);
		r = hit(m, self, &llc->state[slot], line, store);
	} else {
		r = miss(m, self, line, store);
		slot = np_cache_replace(llc, set);
		r.written_back[1] = evict(m, self, slot);
		llc->line[slot] = line + 1;
		llc->state[slot] = (struct np_state) { 0 };
	}
	llc->state[slot].cores |= self->core;
	if (store) {
		llc->state[slot].writable = llc->state[slot].owned = true;
		m->directory[line] = MODIFIED | self->group;
	}
	return r;
}

struct np_result np_hierarchy_access(struct np_hierarchy *m, unsigned int cpu, uint32_t line,
				     bool store)
{
	struct np_private *p = &m->cpu[cpu];
	struct np_result r = { NP_SERVED_L2, p->node, p->node, { -1, -1 }, -1, false };
	uint32_t own_set = np_cache_set(&p->l2, line), set = np_cache_set(p->llc, line);
	size_t slot;
	uint8_t *stripe;

	np_hierarchy_invalidate(p);
	slot = np_cache_find_in(&p->l2, own_set, line);
	if (slot != NP_NO_SLOT && (!store || p->l2.state[slot].writable)) {
		np_cache_use(&p->l2, own_set, slot);
		np_l1_fill(&p->l1, line, store, p->l2.state[slot].writable);
		return r;
	}
	/* All last levels have the same sets, so one lock covers a line in all of them. */
	stripe = &m->stripe[set % NP_STRIPES];
	np_lock(stripe);
	r = last_level(m, p, set, line, store);
	/* Under the lock: another CPU that takes the line looks for it here first. */
	np_l1_fill(&p->l1, line, store, store);
	if (p->l2.sets) {
		if (slot == NP_NO_SLOT)
			slot = np_cache_replace(&p->l2, own_set);
		np_way_set(&p->l2.line[slot], line + 1);
		p->l2.state[slot].writable = store;
	}
	np_unlock(stripe);
	return r;
}

void np_hierarchy_bypass(struct np_hierarchy *m, unsigned int cpu, uint32_t line)
{
	struct np_private *self = &m->cpu[cpu];
	uint8_t *stripe;

	if (__atomic_load_n(&m->directory[line], __ATOMIC_RELAXED) == NOWHERE)
		return;
	stripe = &m->stripe[np_cache_set(self->llc, line) % NP_STRIPES];
	np_lock(stripe);
	for (unsigned int group = 0; group < m->config->llcs; group++)
		drop_group(m, self, group, line);
	m->directory[line] = NOWHERE;
	np_unlock(stripe);
}
