// SPDX-License-Identifier: GPL-2.0-only
#include "timing.h"
#include "contended.h"

#include <string.h>

#define PORT_LINES 8 /* that may wait at a core's port while it computes */

static void stall(struct np_cpu *cpu, uint64_t ps)
{
	cpu->pending_ps += ps;
	cpu->stall_ps += ps;
}

static void memory_stall(struct np_cpu *cpu, uint64_t ps)
{
	stall(cpu, ps);
	np_write(cpu->memory_stall_ps, cpu->memory_stall_ps + ps);
}

void np_timing_wait(struct np_cpu *cpu, uint64_t ps, bool memory)
{
	if (memory)
		memory_stall(cpu, ps);
	else
		stall(cpu, ps);
}

/* How many lines of memory a CPU waits for at once, for the contention model. */
static void count_wait(struct np_cpu *cpu, uint64_t start_ps, uint64_t ps)
{
	uint64_t end = start_ps + ps,
		 begin = start_ps > cpu->waited_to_ps ? start_ps : cpu->waited_to_ps;

	np_write(cpu->demand_ps, cpu->demand_ps + ps);
	if (end <= begin)
		return;
	np_write(cpu->waited_ps, cpu->waited_ps + end - begin);
	cpu->waited_to_ps = end;
}

/* Where an arrival of the line is noted: lines of one place in their pages are apart, too. */
static struct np_arrival *arrival_of(struct np_cpu *cpu, uint32_t line)
{
	return &cpu->arriving[(line ^ line >> 6 ^ line >> 12) % NP_ARRIVING];
}

static void note_arrival(struct np_cpu *cpu, uint32_t line, uint64_t ps, bool stored)
{
	*arrival_of(cpu,
		    line) = (struct np_arrival) { .ps = ps, .line = line + 1, .stored = stored };
}

/* A store that the CPU does not wait for; it makes no more of them at once than loads. */
static uint64_t post_store(struct np_cpu *cpu, uint32_t line, uint64_t ps)
{
	uint64_t start = np_outstanding_ready(cpu, cpu->load_number);

	note_arrival(cpu, line, start + ps, true);
	stall(cpu, ps / np_sim.config.model.node[cpu->node].core_outstanding);
	return start;
}

/* For how long the access waits for its translation, once. */
static uint64_t take_walk(struct np_cpu *cpu)
{
	uint64_t ps = cpu->walk_ps;

	cpu->walk_ps = 0;
	return ps;
}

/* A line that takes so long: a load's or a store's is on its way, an atomic access waits for it. */
static uint64_t wait_for_line(struct np_cpu *cpu, uint32_t line, enum np_access access, uint64_t ps,
			      bool memory)
{
	uint64_t start;

	ps += take_walk(cpu);
	if (access == NP_STORE)
		return post_store(cpu, line, ps);
	if (access == NP_LOAD) {
		start = np_outstanding_load(cpu, cpu->load_number, ps, memory);
		note_arrival(cpu, line, start + ps, false);
		return start;
	}
	np_outstanding_drain(cpu);
	start = cpu->ps + cpu->pending_ps;
	np_timing_wait(cpu, ps, memory);
	return start;
}

/* Core bandwidth limit: every line that a core moves, of any node, passes its port. */
static void pass_port(struct np_cpu *cpu)
{
	uint64_t now = cpu->ps + cpu->pending_ps, ahead = PORT_LINES * cpu->port_line_ps;

	if (!cpu->port_line_ps)
		return;
	if (cpu->port_ready_ps + ahead < now)
		cpu->port_ready_ps = now - ahead;
	cpu->port_ready_ps += cpu->port_line_ps;
	memory_stall(cpu, cpu->port_ready_ps > now ? cpu->port_ready_ps - now : 0);
}

/*
 * Overlapped lines arrive at the rate that the core's outstanding misses allow. The
 * core computes meanwhile, up to as many lines ahead. The queueing delay is added,
 * also at the core's port: the model adds both.
 */
static void overlap(struct np_cpu *cpu, unsigned int node, enum np_data_source kind)
{
	const struct np_cost *cost = &cpu->cost[node][kind];
	uint64_t service = np_read(cost->service_ps), now = cpu->ps + cpu->pending_ps;
	uint64_t ahead = np_read(cost->latency_ps), extra = np_read(cost->extra_ps);
	uint64_t *ready = &cpu->ready_ps[node][kind];

	if (*ready + ahead < now)
		*ready = now - ahead;
	*ready += service;
	memory_stall(cpu, (*ready > now ? *ready - now : 0) + extra);
	*ready += extra;
	cpu->port_ready_ps += extra;
}

static void fetch(struct np_cpu *cpu, unsigned int node, enum np_data_source kind, uint32_t line,
		  enum np_access access, bool overlapped, uint64_t more_ps)
{
	struct np_traffic *traffic = &cpu->traffic[node][kind];
	uint64_t ps = np_read(cpu->cost[node][kind].latency_ps) + more_ps;

	if (overlapped) {
		np_write(traffic->prefetched, traffic->prefetched + 1);
		overlap(cpu, node, kind);
		memory_stall(cpu, more_ps);
	} else {
		np_write(traffic->demand, traffic->demand + 1);
		count_wait(cpu, wait_for_line(cpu, line, access, ps, true), ps);
	}
	pass_port(cpu);
}

static void count_dram(struct np_cpu *cpu, unsigned int node)
{
	if (node == cpu->node)
		cpu->local_dram++;
	else
		cpu->remote_dram++;
	cpu->dram[node]++;
}

static void write_back(struct np_cpu *cpu, int node)
{
	if (node < 0)
		return;
	cpu->dram_writes++;
	np_write(cpu->traffic[node][NP_DRAM].written, cpu->traffic[node][NP_DRAM].written + 1);
	pass_port(cpu);
}

static void count(struct np_cpu *cpu, const struct np_result *r)
{
	if (r->served == NP_SERVED_L2)
		return;
	cpu->llc_references++;
	if (r->served == NP_SERVED_LLC || r->served == NP_SERVED_NEIGHBOUR)
		return;
	cpu->llc_misses++;
	if (r->served == NP_SERVED_DRAM)
		count_dram(cpu, r->node);
	else if (r->served == NP_SERVED_REMOTE_CACHE)
		cpu->remote_cache++;
	write_back(cpu, r->written_back[0]);
	write_back(cpu, r->written_back[1]);
}

static void count_in_profile(struct np_cpu *cpu, const struct np_result *r, uint64_t vaddr)
{
	if (r->served == NP_SERVED_DRAM)
		np_profile_dram(cpu->profile, vaddr, r->node);
	else if (r->served == NP_SERVED_REMOTE_CACHE)
		np_profile_remote_cache(cpu->profile);
}

/* The prefetcher keeps as many lines in flight as the core can. */
static double llc_ns(const struct np_cpu *cpu, bool overlapped)
{
	const struct np_config *c = &np_sim.config;

	return overlapped ? c->llc.latency_ns / np_model_stream_lines(&c->model.node[cpu->node]) :
			    c->llc.latency_ns;
}

/* A line that another last level of the node has modified: as the file says, or as its memory. */
static uint64_t node_cache_ps(const struct np_cpu *cpu, const struct np_result *r)
{
	double ns = np_sim.config.c2c.node_ns;

	return ns > 0 ? 1000 * ns : np_read(cpu->cost[r->home][NP_DRAM].latency_ps);
}

/* A line that has left another CPU's caches. */
static uint64_t transfer_ps(const struct np_cpu *cpu, const struct np_result *r)
{
	const struct np_config *c = &np_sim.config;
	double ns = 0;

	if (r->taken_from == (int)cpu->node && r->of_other_llc)
		return node_cache_ps(cpu, r);
	if (r->taken_from == (int)cpu->node)
		return 1000 * (c->c2c.local_ns > 0 ? c->c2c.local_ns : c->llc.latency_ns);
	if ((int)r->home != r->taken_from)
		ns = np_config_home_ns(c);
	return np_read(cpu->cost[r->taken_from][NP_CACHE].latency_ps) + 1000 * ns;
}

/*
 * A contended line is taken when its owner has it: a store that the CPU does not wait for costs
 * what it waits for the owner, and arrives later. Returns false where the line is not contended.
 */
static bool take_contended(struct np_cpu *cpu, const struct np_result *r, uint32_t line,
			   enum np_access access)
{
	uint64_t now = cpu->ps + cpu->pending_ps, cost = transfer_ps(cpu, r);
	bool posted = access == NP_STORE, upgraded = posted && r->served == NP_SERVED_LLC;
	uint64_t there = np_contended_take(cpu, line, upgraded ? 0 : cost, access != NP_LOAD);
	struct np_traffic *traffic = &cpu->traffic[r->taken_from][NP_CACHE];
	uint64_t wait_ps, transfer;

	if (!there)
		return false;
	if (r->taken_from != (int)cpu->node) {
		np_write(traffic->demand, traffic->demand + 1);
		pass_port(cpu);
	}
	if (posted) {
		note_arrival(cpu, line, there, true);
		there = there - now > cost ? there - cost : now;
	}
	/* What the other CPU takes is no time of the memory's. */
	wait_ps = there - now;
	transfer = wait_ps < cost ? wait_ps : cost;
	stall(cpu, wait_ps - transfer);
	if (r->taken_from == (int)cpu->node)
		stall(cpu, transfer);
	else
		memory_stall(cpu, transfer);
	return true;
}

static void take_time(struct np_cpu *cpu, const struct np_result *r, uint64_t vaddr, uint32_t line,
		      enum np_access access)
{
	const struct np_config *c = &np_sim.config;
	enum np_data_source kind = r->served == NP_SERVED_DRAM ? NP_DRAM : NP_CACHE;
	bool prefetched = np_prefetch_miss(&cpu->prefetcher, vaddr >> c->line_shift);
	bool posted = access == NP_STORE;

	if (r->served == NP_SERVED_L2) {
		if (!prefetched)
			wait_for_line(cpu, line, access, c->l2.latency_ns * 1000, false);
		return;
	}
	if (r->taken_from >= 0 && np_contended_changed(cpu, line))
		np_outstanding_drain(cpu);
	if (r->taken_from >= 0 && take_contended(cpu, r, line, access))
		return;
	if (r->taken_from < 0 && np_contended_is(line))
		stall(cpu, np_contended_find(cpu, line) - cpu->ps - cpu->pending_ps);
	if (r->served == NP_SERVED_NEIGHBOUR && c->c2c.local_ns > 0) {
		wait_for_line(cpu, line, access, 1000 * c->c2c.local_ns, false);
		return;
	}
	if (r->served == NP_SERVED_NODE_CACHE) {
		wait_for_line(cpu, line, access, node_cache_ps(cpu, r), false);
		return;
	}
	if (r->served == NP_SERVED_LLC || r->served == NP_SERVED_NEIGHBOUR) {
		uint64_t ps = 1000 * llc_ns(cpu, prefetched || posted);

		if (prefetched || posted)
			stall(cpu, ps);
		else
			wait_for_line(cpu, line, access, ps, false);
		return;
	}
	if (posted && !prefetched)
		note_arrival(cpu, line,
			     np_outstanding_ready(cpu, cpu->load_number) +
				     np_read(cpu->cost[r->node][kind].latency_ps),
			     true);
	fetch(cpu, r->node, kind, line, access, prefetched || posted,
	      kind == NP_CACHE && r->home != r->node ? 1000 * np_config_home_ns(c) : 0);
}

/* Once where several loads wait at the same time. */
static void count_late(struct np_cpu *cpu, uint64_t start_ps, uint64_t end_ps)
{
	uint64_t begin = start_ps > cpu->late_to_ps ? start_ps : cpu->late_to_ps;

	if (end_ps <= begin)
		return;
	np_write(cpu->late_ps, cpu->late_ps + end_ps - begin);
	cpu->late_to_ps = end_ps;
}

bool np_timing_arrives(struct np_cpu *cpu, uint32_t line, bool waits)
{
	struct np_arrival *a = arrival_of(cpu, line);
	uint64_t now = cpu->ps + cpu->pending_ps, start;

	if (a->line != line + 1 || a->ps <= now)
		return false;
	if (!waits)
		return true;
	start = np_outstanding_ready(cpu, cpu->load_number);
	if (a->stored)
		count_late(cpu, start, a->ps);
	np_outstanding_wait_for(cpu, cpu->load_number, a->ps, a->stored);
	a->stored = false; /* it is counted, and holds the window, once */
	return a->ps > cpu->ps + cpu->pending_ps;
}

void np_timing_access(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, enum np_access access)
{
	struct np_result r = np_hierarchy_access(&np_sim.hierarchy, cpu->index, line,
						 access != NP_LOAD);

	if (!np_sim.config.counts && r.served != NP_SERVED_UPGRADE)
		take_time(cpu, &r, vaddr, line, access);
	if (np_contended_is(line)) {
		np_l1_set_contended(cpu->l1, line, true);
		np_l1_new_epoch(cpu->l1); /* voids the records of hits, which skip this lookup */
	}
	if (r.served == NP_SERVED_UPGRADE)
		return;
	count(cpu, &r);
	if (cpu->profile)
		count_in_profile(cpu, &r, vaddr);
}

uint64_t np_timing_read(struct np_cpu *cpu, uint32_t line)
{
	const struct np_config *c = &np_sim.config;
	struct np_traffic *traffic;
	struct np_result r;
	enum np_data_source kind;
	bool writable;
	uint64_t ps;

	if (np_l1_hit(cpu->l1, line, false, &writable))
		return 1000 * c->l1.latency_ns;
	r = np_hierarchy_access(&np_sim.hierarchy, cpu->index, line, false);
	count(cpu, &r);
	if (r.served == NP_SERVED_L2)
		return 1000 * c->l2.latency_ns;
	if (r.served == NP_SERVED_LLC || r.served == NP_SERVED_NEIGHBOUR)
		return 1000 * c->llc.latency_ns;
	if (r.served == NP_SERVED_NODE_CACHE)
		return node_cache_ps(cpu, &r);
	kind = r.served == NP_SERVED_DRAM ? NP_DRAM : NP_CACHE;
	traffic = &cpu->traffic[r.node][kind];
	ps = np_read(cpu->cost[r.node][kind].latency_ps);
	np_write(traffic->demand, traffic->demand + 1);
	count_wait(cpu, cpu->ps + cpu->pending_ps, ps);
	pass_port(cpu);
	return ps;
}

/* Whether the first level has a line; of a contended one, whether no other CPU has taken it since. */
static bool hits(struct np_cpu *cpu, uint32_t line, bool store, bool *writable)
{
	if (!np_l1_hit(cpu->l1, line, store, writable))
		return false;
	if (!np_l1_is_contended(cpu->l1, line))
		return true;
	np_hierarchy_invalidate(&np_sim.hierarchy.cpu[cpu->index]);
	return np_l1_hit(cpu->l1, line, store, writable);
}

/*
 * Nothing else of the access is waited for. A load of a line that the first level has needs its
 * translation; of lines that are fetched ahead, and of stores, several are on their way at once.
 */
static __attribute__((noinline)) void wait_for_translation(struct np_cpu *cpu,
							   enum np_access access, bool hit)
{
	uint64_t ps = take_walk(cpu);

	if (access == NP_ATOMIC)
		np_timing_wait(cpu, ps, false);
	else if (access == NP_LOAD && hit)
		np_outstanding_wait_for(cpu, cpu->load_number,
					np_outstanding_ready(cpu, cpu->load_number) + ps, true);
	else
		stall(cpu, ps / np_sim.config.model.node[cpu->node].core_outstanding);
}

bool np_timing_use(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, enum np_access access,
		   bool *writable)
{
	bool store = access != NP_LOAD, hit = hits(cpu, line, store, writable), arrives;

	if (access == NP_ATOMIC || np_contended_is(line))
		np_outstanding_drain(cpu);
	if (!hit) {
		np_timing_access(cpu, vaddr, line, access);
		*writable = store;
	}
	if (__builtin_expect(cpu->walk_ps != 0, false))
		wait_for_translation(cpu, access, hit);
	/* Until it has arrived, uses of the line have to come here. */
	arrives = np_timing_arrives(cpu, line, hit && access != NP_STORE);
	if (!np_l1_is_contended(cpu->l1, line))
		return !arrives;
	np_contended_use(cpu, line, store, hit);
	return false;
}

void np_timing_nontemporal(struct np_cpu *cpu, uint32_t line)
{
	unsigned int node = np_hierarchy_home(&np_sim.hierarchy, line);

	for (unsigned int i = 0; i < NP_COMBINING; i++)
		if (cpu->open_line[i] == line + 1ull)
			return;
	cpu->open_line[cpu->next_open] = line + 1ull;
	cpu->next_open = (cpu->next_open + 1) % NP_COMBINING;
	np_hierarchy_bypass(&np_sim.hierarchy, cpu->index, line);
	cpu->dram_writes++;
	if (np_sim.config.counts)
		return;
	np_write(cpu->traffic[node][NP_DRAM].nontemporal,
		 cpu->traffic[node][NP_DRAM].nontemporal + 1);
	if (cpu->walk_ps)
		wait_for_translation(cpu, NP_STORE, false);
	overlap(cpu, node, NP_DRAM);
	pass_port(cpu);
}
