/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of a placement policy: machine and tasks as input, a plan as output.
 *
 * A policy is a pure function: machine and tasks in, plan out. It does no
 * I/O, reads no clock and draws no random number, so the same input always
 * gives the same plan, on a real machine, in the lab and in a prediction.
 *
 * Nodes are named by index (0 .. n_nodes-1) everywhere in here; node[i].id
 * is the kernel's number, which may be sparse.
 *
 * This header stands alone: a policy in a shared object of its own includes
 * it, links nothing, and ends with NP_POLICY_PLUGIN() (Documentation/tutorials/first-policy.md).
 */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_POLICY_H
#define NUMAPLACE_POLICY_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define NP_NODE_NONE  (-1)
#define NP_FARTHEST   (-1)
#define NP_COMM_LEN   16
#define NP_REASON_LEN 200
#define NP_FAULT_LEN  256
#define NP_MEMORY_LEN 64

/*
 * Changes when a field below means something else. A plug-in that was built with another
 * number, or with structures of other sizes, is refused: see struct np_plugin.
 */
#define NP_POLICY_ABI 5

/* Source of a number. Printed beside every number that a plan rests on. */
enum np_provenance {
	NP_PROVENANCE_NONE,	/* not known: the policy uses its own default */
	NP_PROVENANCE_COUNTERS, /* measured on this machine, by hardware counters */
	NP_PROVENANCE_DECLARED, /* set by the user (--assume) or by an option */
	NP_PROVENANCE_MACHINE,	/* derived from the machine's distances */
	NP_PROVENANCE_RUNS, /* from two runs, one local and one remote (measure-penalty --task) */
	NP_PROVENANCE_FLIP, /* from a short A/B flip of the running task's node */
	NP_PROVENANCE_FIT,  /* predicted from the MPKI by a fit in the machine file */
	NP_PROVENANCE_SAMPLED, /* measured, by sampling accesses or pages */
	NP_PROVENANCE_MODEL,   /* predicted by the contention model */
	NP_PROVENANCE_PENALTY, /* predicted from penalties and distances; no contention */
	NP_PROVENANCE_KERNEL,  /* the kernel's own accounts in /proc */
	NP_PROVENANCE_ASSUMED, /* rests on a constant that was not measured */
	NP_PROVENANCES
};

struct np_known {
	double value; /* means nothing while source is NP_PROVENANCE_NONE */
	enum np_provenance source;
};

struct np_node {
	int id;		   /* the kernel's node number */
	unsigned int cpus; /* online CPUs that tasks may be given; 0: none */
	size_t same_cpus;  /* 1 + index of the first node where that lists the same CPUs, as with
			    * numa=fake; 0: the CPUs are its own */
	bool has_memory;
	uint64_t mem_total;	 /* bytes */
	uint64_t mem_free;	 /* bytes that can be had now */
	struct np_known traffic; /* bytes a second that its controller serves now */
	/* Performance of its memory by firmware (HMAT), from the nearest CPUs; 0: not given. */
	double bandwidth;  /* bytes read a second */
	double latency_ns; /* of a read */
};

/* Origin of a machine's contention model. */
enum np_model_origin {
	NP_MODEL_NONE,	    /* there is none */
	NP_MODEL_FILE,	    /* a machine file (calibrated or from data sheets; it says which) */
	NP_MODEL_DERIVED,   /* from the distance table; what firmware does not say is assumed */
	NP_MODEL_SIMULATOR, /* that by which this simulated machine itself is made slow */
};

struct np_model; /* policies/model/model.h */

struct np_machine {
	char name[64];
	size_t n_nodes;
	struct np_node *node;	      /* [n_nodes] */
	int *distance;		      /* [n_nodes * n_nodes], SLIT units, row = the CPU's node */
	size_t n_cpus;		      /* length of cpu_node: highest CPU number + 1 */
	int *cpu_node;		      /* node index of each CPU, NP_NODE_NONE if offline */
	uint64_t page_size;	      /* bytes */
	const struct np_model *model; /* prepared, its nodes those of node[]; NULL: none */
	enum np_model_origin model_origin;
};

/* Use of a node that a task's cpuset and cgroup allow. */
#define NP_MAY_RUN  1 /* on its CPUs */
#define NP_MAY_HOLD 2 /* pages in its memory */

struct np_task {
	pid_t pid;
	char comm[NP_COMM_LEN];
	unsigned int threads;  /* in the thread group, >= 1 */
	unsigned int cores;    /* CPUs that it keeps busy, >= 1 */
	int node;	       /* that its CPUs belong to; NP_NODE_NONE if several */
	const uint64_t *pages; /* [n_nodes] resident pages by node: its own and of shared memory */
	const uint64_t *shm_pages; /* [n_nodes] of pages[], those of shared memory: no plan
				 * moves them; NULL: none */
	double penalty;		   /* CPI with memory remote / CPI local, >= 1 */
	enum np_provenance penalty_source;
	int penalty_distance; /* between CPU and memory that it was measured at, SLIT units; 0: the
				 * machine's nearest remote one; NP_FARTHEST: its farthest */
	double mpki;	      /* last-level-cache misses per 1000 instructions */
	enum np_provenance mpki_source;
	struct np_known ipc;	      /* instructions per cycle */
	struct np_known cycles;	      /* a second, all its cores */
	struct np_known bandwidth;    /* DRAM bytes a second, all cores, placed as it is now */
	struct np_known local_access; /* share of its DRAM accesses to the CPU's own node, 0..1 */
	struct np_known writes;	      /* share of its DRAM traffic that is written, 0..1 */
	struct np_known outstanding;  /* lines that a core of it keeps in flight, >= 1 */
	struct np_known age_s;	      /* seconds since it started */
	const double *accesses;	      /* [n_nodes] DRAM accesses a second by the node that holds the
				 * page, NULL: not known, taken as its pages lie */
	enum np_provenance accesses_source;
	uint64_t shared_pages; /* of its own, those mapped by others too: no plan moves them */
	const uint8_t *may;    /* [n_nodes] NP_MAY_*; NULL: everything, everywhere */
	const uint8_t
		*on; /* [n_nodes] not 0: it has CPUs of the node; NULL: as node says, else all */
	/* Memory policy that was chosen for most of its pages, "interleave:0-1"; "": none. */
	char memory[NP_MEMORY_LEN];
};

/* The memory policy for pages that a task allocates from now on. */
enum np_mem_policy {
	NP_MEM_AUTO,	   /* pages_to: preferred; even spread: interleave; else weighted */
	NP_MEM_LEAVE,	   /* as it is */
	NP_MEM_PREFERRED,  /* pages_to first */
	NP_MEM_INTERLEAVE, /* the nodes of the spread in turn */
	NP_MEM_WEIGHTED,   /* the same by the weights in sysfs, which are the machine's */
};

/*
 * The decision about one task. One decision per task, in the order of tasks[].
 * np_policy_plan() fills every field before it calls the policy, so that
 * a policy sets only what it decides: to or nodes, pages_to or spread, mem, reason.
 * np_policy_plan() fills the members after "afterwards", except nodes, when the policy returns.
 */
struct np_decision {
	int from;	/* node index it runs on, NP_NODE_NONE if several */
	int to;		/* node index to run on, NP_NODE_NONE: leave alone */
	int home;	/* node index holding most of its pages */
	int pages_to;	/* node index that its pages go to, NP_NODE_NONE: stay */
	bool if_nearer; /* of its pages only those go there that it brings nearer to node to */
	int spread;	/* row of plan->spread that its pages are spread by;
				 * NP_NODE_NONE: not spread. Either this or pages_to */
	enum np_mem_policy mem;
	double penalty; /* to reckon with, at the machine's nearest remote distance: the
				 * task's, the option's or the machine's */
	enum np_provenance penalty_source;
	double bonus; /* assumed speed-up for what no prediction knows (caches), 1: none */
	/* afterwards */
	uint64_t pages_to_move;	 /* pages that change their node */
	double cost;		 /* estimated seconds for the pages' move */
	struct np_known traffic; /* DRAM bytes a second predicted of it as it is placed now */
	double gain;		 /* expected speed-up, 1.0 = none */
	enum np_provenance gain_source;
	char reason[NP_REASON_LEN];
	/*
	 * The policy's again, for a task that no node is large enough for: row of plan->spread
	 * whose nodes (weight not 0) it runs on; NP_NODE_NONE: not said. Either this or to.
	 */
	int nodes;
};

/* One step of a plan's page moves; steps are carried out in their order. */
struct np_page_move {
	size_t task;
	int from, to; /* node indices */
	uint64_t pages;
};

struct np_plan {
	size_t n;		      /* = number of tasks */
	struct np_decision *decision; /* [n] */
	uint64_t *pages_after;	      /* [n * n_nodes] pages of each task by node afterwards */
	uint8_t *spread;	      /* [n_spreads * n_nodes] weights, see np_plan_spread() */
	size_t n_spreads, spread_room;
	/* Predictions for all tasks together, before and after; see predict.h. */
	struct np_known throughput[2]; /* sum over cores of speed / speed alone and local */
	struct np_known fairness[2];   /* the slowest task's speed / its speed alone and local */
	/* Filled by np_plan_order(). */
	struct np_page_move *move; /* [n_moves] */
	size_t n_moves;
	uint64_t unordered; /* pages for which no order exists that overfills no node */
	/*
	 * The policy's again: the predicted throughput afterwards / now that its plan must have,
	 * else every task is left alone; 0: whatever it has. Means nothing without a contention
	 * model.
	 */
	double least_gain;
	double asked_gain; /* the same, asked for by the caller of np_policy_plan() */
	char fault[NP_FAULT_LEN]; /* one line on why plan() failed, where the number alone does not say it */
};

enum np_option_type { NP_OPT_DOUBLE, NP_OPT_INT, NP_OPT_BOOL, NP_OPT_ENUM };

/* One option of a policy: parsing, help and documentation come from here. */
struct np_option {
	const char *name;
	enum np_option_type type;
	double def;		  /* default; for an enum the index of the word */
	double min, max;	  /* inclusive; ignored for bool and enum */
	const char *const *words; /* of an enum, NULL-terminated */
	const char *unit;	  /* "" if none */
	const char *meaning;
};

#define NP_OPTIONS_MAX 16

struct np_options {
	double value[NP_OPTIONS_MAX]; /* in the order of the policy's option table */
};

struct np_policy {
	const char *name;
	const char *summary;		/* one line */
	const char *origin;		/* paper or "control" */
	const char *needs;		/* what it must know: "nothing", "penalty, mpki" */
	const struct np_option *option; /* ends with name == NULL; may be NULL */
	/*
	 * Sets out->decision[0..n-1], whose fields hold "leave alone" before.
	 * Returns 0, -ENOMEM, -EINVAL (the machine or the tasks make no sense)
	 * or -EOPNOTSUPP (it needs something that is not there).
	 * Options called "penalty" and "rate" mean what NP_OPTION_PENALTY and
	 * NP_OPTION_RATE say, and np_policy_plan() acts on them; on "files", NP_OPTION_FILES,
	 * whoever asks for the plan.
	 */
	int (*plan)(const struct np_machine *m, const struct np_task *tasks, size_t n,
		    const struct np_options *o, struct np_plan *out);
	/*
	 * Optional. Asked with what the finished plan is predicted to bring, [2]: now, then,
	 * after free memory has limited which pages move. NULL: the plan stands; else
	 * every task is left alone, for this reason.
	 */
	const char *(*reject)(const struct np_options *o, const struct np_known *throughput,
			      const struct np_known *fairness);
	/*
	 * Optional, called instead of plan(): the same for a policy that is more than its
	 * functions.
	 */
	int (*plan_as)(const struct np_policy *self, const struct np_machine *m,
		       const struct np_task *tasks, size_t n, const struct np_options *o,
		       struct np_plan *out);
};

/* The symbol `numaplace_plugin` of a shared object, and the header that it was built with. */
struct np_plugin {
	uint32_t abi;	   /* NP_POLICY_ABI */
	uint32_t sizes[7]; /* NP_SIZES */
	const struct np_policy *policy;
};

/* Bytes of the structures that a policy and numaplace hand each other. */
/* clang-format off */
#define NP_SIZES { \
	sizeof(struct np_machine), sizeof(struct np_node), sizeof(struct np_task), \
	sizeof(struct np_decision), sizeof(struct np_plan), sizeof(struct np_option), \
	sizeof(struct np_policy) }

#define NP_POLICY_PLUGIN(the_policy) \
	__attribute__((visibility("default"))) const struct np_plugin numaplace_plugin = { \
		.abi = NP_POLICY_ABI, .sizes = NP_SIZES, .policy = &(the_policy) }
/* clang-format on */

/*
 * Pages that one CPU moves in a second, in MiB: 0.98 GB/s for 512 pages of 4 KiB
 * a call between two E5-2640v3 sockets, as measured in Linux commit 88aaa2a1.
 * Newer kernels and CPUs reach three times that, so the estimate is on the safe side.
 */
#define NP_MIGRATION_RATE_MIB 935

/* Options with the same meaning in every policy that has them. */
/* clang-format off */
#define NP_OPTION_PENALTY { \
	.name = "penalty", .type = NP_OPT_DOUBLE, .def = 0, .min = 0, .max = 100, \
	.unit = "", \
	.meaning = "NUMA penalty of a task for which none is known; " \
		   "0: this machine's nearest remote distance / local distance" }

#define NP_OPTION_RATE { \
	.name = "rate", .type = NP_OPT_DOUBLE, .def = NP_MIGRATION_RATE_MIB, \
	.min = 0.1, .max = 1e6, .unit = "MiB/s", \
	.meaning = "speed at which pages move, for the estimate of a plan's cost" }

#define NP_OPTION_FILES { \
	.name = "files", .type = NP_OPT_BOOL, .unit = "", \
	.meaning = "count the pages of files and of shared memory that a task maps as its own, and bring " \
		   "them to where the plan has those that map them" }
/* clang-format on */

/* Helpers without a library, for plug-ins too. */

/* The value of the option called name, which must be in the table; else NaN. */
static inline double np_options_get(const struct np_policy *p, const struct np_options *o,
				    const char *name)
{
	for (size_t i = 0; p->option && p->option[i].name; i++)
		if (!strcmp(p->option[i].name, name))
			return o->value[i];
	return NAN;
}

static inline int np_distance(const struct np_machine *m, int cpu_node, int mem_node)
{
	return m->distance[(size_t)cpu_node * m->n_nodes + (size_t)mem_node];
}

static inline bool np_may_run(const struct np_machine *m, const struct np_task *t, int node)
{
	return m->node[node].cpus && (!t->may || t->may[node] & NP_MAY_RUN);
}

static inline bool np_may_hold(const struct np_machine *m, const struct np_task *t, int node)
{
	return m->node[node].has_memory && (!t->may || t->may[node] & NP_MAY_HOLD);
}

/*
 * The row of plan->spread for these weights [n_nodes], of which one is not 0: a
 * new one unless the last row is the same. Pages end up on node i in the
 * proportion weight[i] / sum. Returns NP_NODE_NONE when there is no memory.
 */
static inline int np_plan_spread(struct np_plan *plan, size_t n_nodes, const uint8_t *weight)
{
	if (plan->n_spreads &&
	    !memcmp(plan->spread + (plan->n_spreads - 1) * n_nodes, weight, n_nodes))
		return (int)plan->n_spreads - 1;
	if (plan->n_spreads == plan->spread_room) {
		size_t room = plan->spread_room ? plan->spread_room * 2 : 8;
		uint8_t *bigger = (uint8_t *)realloc(plan->spread, room * n_nodes);

		if (!bigger)
			return NP_NODE_NONE;
		plan->spread = bigger;
		plan->spread_room = room;
	}
	memcpy(plan->spread + plan->n_spreads * n_nodes, weight, n_nodes);
	return (int)plan->n_spreads++;
}

static inline __attribute__((format(printf, 2, 3))) void np_reason(struct np_decision *d,
								   const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->reason, sizeof(d->reason), format, args);
	va_end(args);
}

static inline __attribute__((format(printf, 2, 3))) void np_reason_more(struct np_decision *d,
									const char *format, ...)
{
	size_t used = strlen(d->reason);
	va_list args;

	va_start(args, format);
	vsnprintf(d->reason + used, sizeof(d->reason) - used, format, args);
	va_end(args);
}

#endif
