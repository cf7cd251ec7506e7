/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a placement policy sees and what it answers.
 *
 * A policy is a pure function: machine and tasks in, plan out. It does no
 * I/O, reads no clock and draws no random number, so the same input always
 * gives the same plan, on a real machine, in the lab and on paper.
 *
 * Nodes are named by index (0 .. n_nodes-1) everywhere in here; node[i].id
 * is the kernel's number, which may be sparse.
 */
#ifndef NUMAPLACE_POLICY_H
#define NUMAPLACE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NP_NODE_NONE (-1)
#define NP_COMM_LEN 16
#define NP_REASON_LEN 200

/* Where a number comes from. Printed beside every penalty and MPKI. */
enum np_source {
	NP_SOURCE_NONE,		/* not known: the policy uses its own default */
	NP_SOURCE_COUNTERS,	/* measured on this machine */
	NP_SOURCE_DECLARED,	/* said by the user (--assume) */
	NP_SOURCE_MACHINE,	/* derived from the machine's distances */
};

struct np_node {
	int id;			/* the kernel's node number */
	unsigned int cpus;	/* online CPUs; 0 for a CPU-less node */
	bool has_memory;
	uint64_t mem_total;	/* bytes */
	uint64_t mem_free;	/* bytes that can be had now */
};

struct np_machine {
	char name[64];
	size_t n_nodes;
	struct np_node *node;	/* [n_nodes] */
	int *distance;		/* [n_nodes * n_nodes], SLIT units, row = the CPU's node */
	size_t n_cpus;		/* length of cpu_node: highest CPU number + 1 */
	int *cpu_node;		/* node index of each CPU, NP_NODE_NONE if offline */
	uint64_t page_size;	/* bytes */
};

struct np_task {
	pid_t pid;
	char comm[NP_COMM_LEN];
	unsigned int threads;	/* in the thread group, >= 1 */
	unsigned int cores;	/* CPUs that it keeps busy, >= 1 */
	int node;		/* that its CPUs belong to; NP_NODE_NONE if several */
	const uint64_t *pages;	/* [n_nodes] resident anonymous pages by node */
	double penalty;		/* CPI with memory remote / CPI local, >= 1 */
	enum np_source penalty_source;
	double mpki;		/* last-level-cache misses per 1000 instructions */
	enum np_source mpki_source;
};

/* What to do with one task. One decision per task, in the order of tasks[]. */
struct np_decision {
	int from;		/* node index it runs on, NP_NODE_NONE if several */
	int to;			/* node index to run on, NP_NODE_NONE: leave alone */
	int home;		/* node index holding most of its pages */
	int pages_to;		/* node index that its pages go to, NP_NODE_NONE: stay */
	uint64_t pages_to_move;	/* pages that are not yet on pages_to */
	double cost;		/* estimated seconds for the pages' move */
	double gain;		/* expected speed-up, 1.0 = none; 0: no estimate */
	double penalty;		/* that the policy reckoned with */
	enum np_source penalty_source;
	char reason[NP_REASON_LEN];
};

struct np_plan {
	size_t n;		/* = number of tasks */
	struct np_decision *decision;	/* [n], owned by the caller */
};

enum np_option_type { NP_OPT_DOUBLE, NP_OPT_INT, NP_OPT_BOOL, NP_OPT_ENUM };

/* One option of a policy: parsing, help and documentation come from here. */
struct np_option {
	const char *name;
	enum np_option_type type;
	double def;		/* default; for an enum the index of the word */
	double min, max;	/* inclusive; ignored for bool and enum */
	const char *const *words;	/* of an enum, NULL-terminated */
	const char *unit;	/* "" if none */
	const char *meaning;
};

#define NP_OPTIONS_MAX 16

struct np_options {
	double value[NP_OPTIONS_MAX];	/* in the order of the policy's option table */
};

struct np_policy {
	const char *name;
	const char *summary;	/* one line */
	const char *origin;	/* paper or "control" */
	const char *needs;	/* what it must know: "nothing", "penalty, mpki" */
	const struct np_option *option;	/* ends with name == NULL; may be NULL */
	/*
	 * Fills out->decision[0..n-1]. Returns 0, or -ENOMEM / -EINVAL.
	 * Every decision is filled even if it is "leave alone".
	 */
	int (*plan)(const struct np_machine *m, const struct np_task *tasks,
		    size_t n, const struct np_options *o, struct np_plan *out);
};

/* The built-in policies, NULL-terminated. */
extern const struct np_policy *const np_policies[];

/* The policy of that name, or NULL. */
const struct np_policy *np_policy_find(const char *name);

/* Number of options in p's table. */
size_t np_options_count(const struct np_policy *p);

/* Sets every option to its default. p->option may be NULL. */
void np_options_defaults(const struct np_policy *p, struct np_options *o);

/*
 * Sets one option from "name=value". Returns 0, or -EINVAL with a one-line
 * explanation in err (which lists the right names or the right range).
 */
int np_options_set(const struct np_policy *p, struct np_options *o,
		   const char *assignment, char *err, size_t err_len);

/*
 * The value of option i as the user would write it: "0.05", "on", "follow".
 * Returns text.
 */
const char *np_option_text(const struct np_option *option, double value,
			   char *text, size_t text_len);

/* The value of the option called name; the name must be in p's table. */
double np_options_get(const struct np_policy *p, const struct np_options *o,
		      const char *name);

/*
 * Runs p->plan after checking that machine, tasks and options make sense.
 * out->decision must hold n decisions. Returns 0, -EINVAL or -ENOMEM.
 */
int np_policy_plan(const struct np_policy *p, const struct np_machine *m,
		   const struct np_task *tasks, size_t n,
		   const struct np_options *o, struct np_plan *out);

/* Node index that holds most of t's pages (lowest index on a tie), or
 * NP_NODE_NONE if it has none. */
int np_task_home(const struct np_machine *m, const struct np_task *t);

#endif
