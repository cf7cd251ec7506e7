/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated CPU. Its own thread writes it; other threads read the members marked
 * so, for which a slightly old value is as good as a new one.
 *
 * Time is in picoseconds: 2^64 of them are 213 days.
 */
#ifndef NP_CPU_H
#define NP_CPU_H

#include "caches/hierarchy.h"
#include "outstanding.h"
#include "translation_cache.h"
#include "rounds.h"
#include "caches/prefetch.h"
#include "profile.h"
#include "tlb.h"

#define NP_COMBINING 10 /* lines that non-temporal stores may have open */

/* Lines that a CPU moved to or from a node, since the start. Others read. */
struct np_traffic {
	uint64_t prefetched;  /* read ahead by the prefetcher, or for stores: no stall */
	uint64_t demand;      /* read by demand misses */
	uint64_t written;     /* written back */
	uint64_t nontemporal; /* written by non-temporal stores */
};

/* Present cost of a line for a CPU. Another thread sets it once per window. */
struct np_cost {
	uint32_t service_ps; /* between two prefetched lines, on an idle machine */
	uint32_t extra_ps;   /* queueing delay of a prefetched line */
	uint32_t latency_ps; /* of a demand miss */
};

enum np_data_source { NP_DRAM, NP_CACHE, NP_KINDS };

#define NP_ARRIVING \
	256 /* lines: many more than a core keeps in flight, which share places seldom */

/* A line that was missed, and that is in the first level before it is there. */
struct np_arrival {
	uint64_t ps;
	uint32_t line; /* running number + 1 */
	bool stored;   /* by a store, and not by a load, which is counted itself */
};

struct np_cpu {
	struct np_l1 *l1;
	struct np_translation_cache translations;
	struct np_profile *profile;	    /* NULL: nobody asks */
	uint64_t pending_ps;		    /* of time, not yet in ps */
	NP_LAB_COUNTERS(NP_LAB_MEMBER)	    /* cycles and times: as last published */
	uint64_t ps;			    /* its clock. Others read */
	uint64_t busy_ps;		    /* not halted, since the start. Others read */
	uint64_t stall_ps, memory_stall_ps; /* the second: others read */
	uint64_t sync_ps;		    /* when to compare clocks again */
	uint64_t step_ps;		    /* when its next step is due, where lines hold it */
	uint64_t close_ps;		    /* until when its clock is kept close to the others' */
	uint64_t unheld_ps;		    /* until when no line holds it */
	uint32_t read_line;   /* contended, its number + 1, that it used last, and only read */
	uint32_t reads;	      /* of it, one after the other */
	uint64_t read_ps;     /* the last of them */
	uint32_t spins_on;    /* the same line where it waits for it. Others read, and end it */
	uint32_t waits;	      /* for slower CPUs: which (clock_sync.c). Others read, and end it */
	int state;	      /* its thread's, np_host_open_state(); 0: not opened yet */
	uint64_t wait_end_ps; /* slowest clock at which its wait ends. Others read */
	uint64_t dram[NP_LAB_MAX_NODES];
	uint64_t ready_ps[NP_LAB_MAX_NODES][NP_KINDS]; /* when its prefetcher can take one more */
	uint64_t port_ready_ps;			       /* when its port can take one more */
	uint32_t port_line_ps; /* that a line occupies it; 0: it is never the limit */
	struct np_prefetcher prefetcher;
	struct np_arrival arriving[NP_ARRIVING];
	struct np_outstanding outstanding;
	unsigned int load_number; /* of the access that the CPU makes, in its block */
	uint64_t walk_ps;	  /* that it waits for its translation */
	struct np_tlb tlb;
	uint64_t demand_ps; /* of all demand misses, one after the other. Others read */
	uint64_t waited_ps; /* in which one at least was on its way. Others read */
	uint64_t waited_to_ps;
	uint64_t late_to_ps;
	uint64_t late_ps; /* in which loads waited for a line that a store had missed. Others read */
	uint64_t open_line[NP_COMBINING]; /* running number + 1 */
	unsigned int next_open;
	struct np_rounds rounds; /* of the repeated instruction that it is in */
	unsigned int index, node;
	bool spins; /* has executed a PAUSE since it last read the others' clocks */
	bool busy;  /* Others read */
	bool woken; /* by a CPU that waits for it: starts at wake_ps. Others write both */
	bool woke;  /* others, for which it is to wait */
	uint64_t wake_ps;
	bool asked;	  /* to leave the block, and has not yet */
	uint64_t drop_ps; /* when QEMU drops its translations again */
	struct np_traffic traffic[NP_LAB_MAX_NODES][NP_KINDS];
	struct np_cost cost[NP_LAB_MAX_NODES][NP_KINDS];
} __attribute__((aligned(128)));

struct np_machine_state {
	struct np_config config;
	struct np_hierarchy hierarchy;
	struct np_cpu *cpu;
	struct np_lab_shared *shared;
	uint32_t insn_ps; /* of an instruction that uses no memory */
	uint32_t step_ps; /* a CPU brings its clock up to date at least this often */
	bool booting; /* until the guest's marker: no caches, no memory, no CPU waits for another */
};

extern struct np_machine_state np_sim;

#define np_read(word)	    __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define np_write(word, new) __atomic_store_n(&(word), new, __ATOMIC_RELAXED)

#endif
