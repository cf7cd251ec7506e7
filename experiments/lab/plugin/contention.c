// SPDX-License-Identifier: GPL-2.0-only
#include "contention.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PS_PER_NS  1000.0
#define NS_PER_S   1e9
#define MIN_LINES  8	 /* in a window; less traffic makes no flow */
#define MAX_POSTED 0.8	 /* largest posted part of a flow: write-backs stall in the end */
#define DECAY	   0.875 /* of the write-back account per window */

enum np_class { PREFETCHED, DEMAND, CLASSES };

struct seen {
	uint64_t ps, busy_ps, memory_stall_ps, misses, demand_ps, waited_ps, late_ps;
	struct np_traffic traffic[NP_LAB_MAX_NODES][NP_KINDS];
};

/* Activity of a CPU in the window that ends. */
struct activity {
	double busy; /* part of its own window: CPUs' clocks end it a little apart */
	double busy_ns, compute_ns, unloaded_ns, streams;
	double in_flight;   /* demand misses, while there is one */
	double occupied_ns; /* by all its lines together, at the loaded latency */
	struct np_traffic lines[NP_LAB_MAX_NODES][NP_KINDS];
};

/* The CPU, node, kind and class whose cost a flow of the model sets; of joined ones, all CPUs of that node. */
struct origin {
	unsigned int cpu, node;
	enum np_data_source kind;
	enum np_class class;
};

static uint8_t ending; /* a thread is ending the window */
static uint64_t end_ps;
static struct seen *seen; /* [cpus], at the end of the last window */
static struct activity activity[NP_LAB_MAX_CPUS];
static size_t n_flows;
static bool too_many, joins; /* flows; those of a node's CPUs are one flow */
static struct np_model_flow flow[NP_MODEL_FLOWS];
static struct np_model_result result[NP_MODEL_FLOWS];
static struct origin origin[NP_MODEL_FLOWS];
static double loaded_ns[NP_LAB_MAX_NODES][NP_LAB_MAX_NODES][NP_KINDS];

/* Lines that a node's CPUs read of a node's memory, and that their last level wrote back to it. */
static struct account {
	double read, written;
} account[NP_LAB_MAX_NODES][NP_LAB_MAX_NODES];

static double idle_ns(unsigned int from, unsigned int to, enum np_data_source kind)
{
	const struct np_model *m = &np_sim.config.model;

	if (kind == NP_CACHE)
		return np_config_remote_ns(&np_sim.config, from, to);
	return np_model_unloaded_ns(m, from, to);
}

static double stream_lines(unsigned int node)
{
	return np_model_stream_lines(&np_sim.config.model.node[node]);
}

static void set_idle_costs(struct np_cpu *cpu)
{
	double port = np_sim.config.model.node[cpu->node].core_bytes_per_s;

	cpu->port_line_ps = port > 0 && !np_sim.config.counts ?
				    np_sim.config.line_bytes / port * NS_PER_S * PS_PER_NS :
				    0;
	for (unsigned int node = 0; node < np_sim.config.nodes; node++)
		for (int kind = 0; kind < NP_KINDS; kind++) {
			double ns = idle_ns(cpu->node, node, kind);

			cpu->cost[node][kind] = (struct np_cost) {
				.service_ps = ns / stream_lines(cpu->node) * PS_PER_NS,
				.latency_ps = ns * PS_PER_NS,
			};
		}
}

int np_contention_init(void)
{
	seen = calloc(np_sim.config.cpus, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		set_idle_costs(&np_sim.cpu[i]);
	memset(account, 0, sizeof(account));
	end_ps = np_sim.config.window_ns * PS_PER_NS;
	return 0;
}

void np_contention_exit(void)
{
	free(seen);
	seen = NULL;
}

static uint64_t since(const uint64_t *now, uint64_t *then)
{
	uint64_t value = __atomic_load_n(now, __ATOMIC_RELAXED), difference = value - *then;

	*then = value;
	return difference;
}

static double count_streams(const struct np_cpu *cpu, uint64_t misses)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < NP_PREFETCH_STREAMS; i++)
		if (np_read(cpu->prefetcher.equal[i]) >= NP_PREFETCH_TRAINING &&
		    np_read(cpu->prefetcher.used[i]) + misses > np_read(cpu->prefetcher.clock))
			n++;
	return n;
}

/* The part of its window that a CPU was busy; the clock of one that is halted stands still. */
static double busy_part(const struct np_cpu *cpu, struct seen *s, double busy_ns, uint64_t now_ps)
{
	uint64_t ps = np_read(cpu->busy) ? np_read(cpu->ps) : now_ps;
	double window_ns = (ps > s->ps ? ps - s->ps : 0) / PS_PER_NS;

	s->ps = ps;
	return window_ns > busy_ns ? busy_ns / window_ns : 1;
}

/* Misses that started out of order may have been counted as more than a core has. */
static double count_in_flight(const struct np_cpu *cpu, struct seen *s)
{
	uint64_t all = since(&cpu->demand_ps, &s->demand_ps),
		 waited = since(&cpu->waited_ps, &s->waited_ps);

	double most = np_sim.config.model.node[cpu->node].core_outstanding;

	return waited && all > waited ? fmin((double)all / waited, most) : 1;
}

static void measure_activity(struct np_cpu *cpu, struct seen *s, struct activity *a,
			     uint64_t now_ps)
{
	double stall_ns, demand_ns, loaded_ns, overlapped_ns = 0;

	*a = (struct activity) { .busy_ns = since(&cpu->busy_ps, &s->busy_ps) / PS_PER_NS };
	a->busy = busy_part(cpu, s, a->busy_ns, now_ps);
	stall_ns = since(&cpu->memory_stall_ps, &s->memory_stall_ps) / PS_PER_NS;
	a->compute_ns = fmax(0, a->busy_ns - stall_ns);
	a->in_flight = count_in_flight(cpu, s);
	demand_ns = loaded_ns = since(&cpu->late_ps, &s->late_ps) / PS_PER_NS;
	a->streams = count_streams(cpu, since(&cpu->prefetcher.clock, &s->misses));
	for (unsigned int node = 0; node < np_sim.config.nodes; node++)
		for (int kind = 0; kind < NP_KINDS; kind++) {
			const struct np_traffic *t = &cpu->traffic[node][kind];
			struct np_traffic *then = &s->traffic[node][kind];
			struct np_traffic *l = &a->lines[node][kind];
			double idle = idle_ns(cpu->node, node, kind);
			double load = np_read(cpu->cost[node][kind].latency_ps) / PS_PER_NS;
			double overlapped;

			l->prefetched = since(&t->prefetched, &then->prefetched);
			l->demand = since(&t->demand, &then->demand);
			l->written = since(&t->written, &then->written);
			l->nontemporal = since(&t->nontemporal, &then->nontemporal);
			demand_ns += l->demand * idle / a->in_flight;
			loaded_ns += l->demand * load / a->in_flight;
			overlapped = l->prefetched + l->nontemporal;
			overlapped_ns += overlapped * idle / stream_lines(cpu->node);
			a->occupied_ns += l->demand * load / a->in_flight +
					  overlapped * load / stream_lines(cpu->node);
		}
	/* The CPU computes while misses are on their way: of these it feels what it has waited for. */
	if (loaded_ns > 0)
		demand_ns = fmin(demand_ns, stall_ns * demand_ns / loaded_ns);
	a->unloaded_ns = fmax(a->compute_ns + demand_ns, overlapped_ns);
}

/* The means of a flow's numbers, by their cores. */
static void join(struct np_model_flow *sum, const struct np_model_flow *f)
{
	double part = f->cores / (sum->cores + f->cores);

	sum->cores += f->cores;
	sum->outstanding += part * (f->outstanding - sum->outstanding);
	sum->demand_bytes_per_s += part * (f->demand_bytes_per_s - sum->demand_bytes_per_s);
	sum->write_fraction += part * (f->write_fraction - sum->write_fraction);
	sum->posted_fraction += part * (f->posted_fraction - sum->posted_fraction);
	sum->streams += part * (f->streams - sum->streams);
}

static_assert(NP_LAB_MAX_NODES *NP_LAB_MAX_NODES *NP_KINDS *CLASSES <= NP_MODEL_FLOWS,
	      "joined flows fit");
size_t np_contention_flows = NP_MODEL_FLOWS;

static void keep_flow(const struct origin *o, const struct np_model_flow *f)
{
	static size_t at[NP_LAB_MAX_NODES][NP_LAB_MAX_NODES][NP_KINDS][CLASSES];
	size_t *mine = &at[f->from][o->node][o->kind][o->class];

	if (joins && *mine < n_flows && origin[*mine].node == o->node &&
	    flow[*mine].from == f->from && origin[*mine].kind == o->kind &&
	    origin[*mine].class == o->class) {
		join(&flow[*mine], f);
		return;
	}
	if (!joins && n_flows == np_contention_flows) {
		too_many = true;
		return;
	}
	*mine = n_flows;
	origin[n_flows] = *o;
	flow[n_flows++] = *f;
}

static void add_flow(const struct np_cpu *cpu, const struct activity *a, const struct origin *o,
		     double nonposted, double posted, double nontemporal)
{
	double in_flight = o->class == DEMAND ? a->in_flight : stream_lines(cpu->node);
	double load = np_read(cpu->cost[o->node][o->kind].latency_ps) / PS_PER_NS;
	double part = fmax(nonposted, 1) * load / in_flight / fmax(a->occupied_ns, 1);
	double lines = nonposted + posted, bytes = lines * np_sim.config.line_bytes;

	if (lines < MIN_LINES)
		return;
	part = fmin(1, part);
	keep_flow(o, &(struct np_model_flow) {
			     .from = cpu->node,
			     .to = o->node,
			     .cores = a->busy * part,
			     .outstanding = o->class == DEMAND ? a->in_flight : 0,
			     .demand_bytes_per_s = bytes / (a->unloaded_ns * part) * NS_PER_S,
			     .write_fraction = fmin(1, (posted + nontemporal) / lines),
			     .posted_fraction = fmin(MAX_POSTED, posted / lines),
			     .streams = o->class == PREFETCHED ? a->streams * part : 0,
			     .from_cache = o->kind == NP_CACHE,
		     });
}

static void add_flows_of(const struct np_cpu *cpu, const struct activity *a)
{
	for (unsigned int node = 0; node < np_sim.config.nodes; node++)
		for (int kind = 0; kind < NP_KINDS; kind++) {
			const struct np_traffic *l = &a->lines[node][kind];
			double overlapped = l->prefetched + l->nontemporal;
			bool with_demand = l->demand > overlapped;
			struct origin o = { cpu->index, node, kind, PREFETCHED };

			add_flow(cpu, a, &o, overlapped, with_demand ? 0 : l->written,
				 l->nontemporal);
			o.class = DEMAND;
			add_flow(cpu, a, &o, l->demand, with_demand ? l->written : 0, 0);
		}
}

static void add_flows(void)
{
	n_flows = 0;
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		if (activity[i].busy_ns > 0)
			add_flows_of(&np_sim.cpu[i], &activity[i]);
}

/* Exponential smoothing (1/2) damps the traffic/latency feedback. */
static void approach(uint32_t *cost, double ns)
{
	__atomic_store_n(cost, (uint32_t)((np_read(*cost) + ns * PS_PER_NS) / 2), __ATOMIC_RELAXED);
}

static void set_cost(struct np_cpu *cpu, unsigned int node, enum np_data_source kind,
		     const double class_ns[CLASSES])
{
	struct np_cost *cost = &cpu->cost[node][kind];
	double idle = idle_ns(cpu->node, node, kind), other = loaded_ns[cpu->node][node][kind];
	double overlapped = class_ns[PREFETCHED] ?: other, demand = class_ns[DEMAND] ?: other;

	approach(&cost->extra_ps, fmax(0, overlapped - idle) / stream_lines(cpu->node));
	approach(&cost->latency_ps, fmax(idle, demand));
}

/* A flow that starts next gets the latency of the flows between the same nodes now. */
static void set_costs(void)
{
	static double ns[NP_LAB_MAX_CPUS][NP_LAB_MAX_NODES][NP_KINDS][CLASSES];

	for (unsigned int from = 0; from < np_sim.config.nodes; from++)
		for (unsigned int to = 0; to < np_sim.config.nodes; to++)
			for (int kind = 0; kind < NP_KINDS; kind++)
				loaded_ns[from][to][kind] = idle_ns(from, to, kind);
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		memset(ns[i], 0, sizeof(ns[i]));
	for (size_t i = 0; i < n_flows; i++) {
		const struct origin *o = &origin[i];
		double *loaded = &loaded_ns[flow[i].from][o->node][o->kind];

		*loaded = fmax(*loaded, result[i].latency_ns);
		ns[o->cpu][o->node][o->kind][o->class] = result[i].latency_ns;
		for (unsigned int cpu = 0; joins && cpu < np_sim.config.cpus; cpu++)
			if ((int)np_sim.cpu[cpu].node == flow[i].from)
				ns[cpu][o->node][o->kind][o->class] = result[i].latency_ns;
	}
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		for (unsigned int node = 0; node < np_sim.config.nodes; node++)
			for (int kind = 0; kind < NP_KINDS; kind++)
				set_cost(&np_sim.cpu[i], node, kind, ns[i][node][kind]);
}

static uint64_t read_lines(const struct np_traffic *l)
{
	return l->prefetched + l->demand;
}

/* Returns the lines that were read in this window. */
static uint64_t keep_account(struct account *sum, unsigned int from, unsigned int to)
{
	uint64_t read = 0, written = 0;

	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		const struct np_traffic *l = &activity[i].lines[to][NP_DRAM];

		if (np_sim.cpu[i].node == from) {
			written += l->written;
			read += read_lines(l);
		}
	}
	sum->written = sum->written * DECAY + written;
	sum->read = sum->read * DECAY + read;
	return read;
}

/*
 * A miss in the shared last level evicts a line that any CPU may have modified: a CPU
 * may cause many write-backs to a node that it never reads, and its neighbour none.
 * So write-backs are attributed to the CPUs in proportion to their reads of the node's
 * memory, averaged over several windows: eviction in exact order writes an array back
 * in one burst, which a real cache, with hashed sets and hardly an order, does not.
 * Write-backs in a window without reads, as after a page migration, stay as they are.
 */
static void share_writes(unsigned int from, unsigned int to)
{
	struct account *sum = &account[from][to];

	if (!keep_account(sum, from, to)) {
		*sum = (struct account) { 0 };
		return;
	}
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		struct np_traffic *l = &activity[i].lines[to][NP_DRAM];

		if (np_sim.cpu[i].node == from)
			l->written = sum->written * read_lines(l) / sum->read;
	}
}

static void end(uint64_t now_ps)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		measure_activity(&np_sim.cpu[i], &seen[i], &activity[i], now_ps);
	for (unsigned int from = 0; from < np_sim.config.nodes; from++)
		for (unsigned int to = 0; to < np_sim.config.nodes; to++)
			share_writes(from, to);
	too_many = joins = false;
	add_flows();
	joins = too_many;
	if (joins)
		add_flows();
	if (!np_model_solve(&np_sim.config.model, flow, n_flows, result))
		set_costs();
}

void np_contention_advance(uint64_t now_ps)
{
	if (np_sim.config.counts)
		return;
	if (now_ps < np_read(end_ps) || __atomic_exchange_n(&ending, 1, __ATOMIC_ACQUIRE))
		return;
	if (now_ps >= end_ps) {
		end(now_ps);
		np_write(end_ps, now_ps + (uint64_t)(np_sim.config.window_ns * PS_PER_NS));
	}
	__atomic_store_n(&ending, 0, __ATOMIC_RELEASE);
}
