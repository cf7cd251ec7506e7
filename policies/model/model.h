/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contention model: bandwidth and latency of memory traffic on a described machine.
 *
 * A pure, deterministic function: a machine and its flows in, the bandwidth
 * and the loaded latency of every flow out. No I/O, no allocation, no global
 * state; it may be called from several threads at once. Three users share it:
 * the `measured` policy, `predict`, and the lab's QEMU plugin, which calls it
 * once per window of simulated time.
 *
 * Each core is a closed customer: it keeps a bounded number of lines in
 * flight, so a longer latency means less bandwidth. A line passes its own
 * node's request port, the links on its way and the controller of the node
 * that holds it; each of them makes it wait the longer the busier it is.
 * Documentation/explanation/lab-model.md argues the model and says what it leaves out.
 *
 * Bandwidth is DRAM traffic: every line read, every line fetched before it is
 * written, every line written back. A triad without non-temporal stores that
 * reports 3 lines an element block moves 4.
 *
 * Nodes are named by index, as in policy.h.
 */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_MODEL_H
#define NUMAPLACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define NP_MODEL_NODES 64
#define NP_MODEL_LINKS 512
#define NP_MODEL_HOPS  4    /* links on the longest route */
#define NP_MODEL_FLOWS 4096 /* of one call; what one call needs of its stack is 2 MB at most */

/* The members, with their units, are the rows of fields.def. A rate of 0 means "no limit here". */
struct np_model_node {
#define NP_NODE_FIELD(member, ...) double member;
#include "fields.def"
};

struct np_model_link {
	int node[2];
#define NP_LINK_FIELD(member, ...) double member;
#include "fields.def"
};

struct np_model {
	char name[64];
#define NP_LINE_FIELD(member, ...) double member;
#include "fields.def"
	size_t n_nodes, n_links;
	struct np_model_node node[NP_MODEL_NODES];
	struct np_model_link link[NP_MODEL_LINKS];

	/* Filled by np_model_prepare(). */
	double link_ns[NP_MODEL_NODES][NP_MODEL_NODES]; /* added by the route */
	unsigned char hops[NP_MODEL_NODES][NP_MODEL_NODES];
	unsigned short route[NP_MODEL_NODES][NP_MODEL_NODES]
			    [NP_MODEL_HOPS]; /* 2 * link + direction */
};

/* Some cores of one node that do the same to the memory of one node. */
struct np_model_flow {
	int from;	    /* the cores' node */
	int to;		    /* the node that holds the lines */
	double cores;	    /* may be a fraction: the part of the window they were busy with it */
	double outstanding; /* lines each core keeps in flight: 1 for a pointer chase; 0: as many as
			       it can */
	double demand_bytes_per_s; /* of each core, were the machine idle; 0: as much as it can */
	double write_fraction;	   /* of the traffic that is written to memory */
	double posted_fraction;	   /* of the traffic that no core waits for: write-backs; <=
				      write_fraction */
	double streams;		   /* sequential streams of each core; triad 3 */
	bool from_cache;	   /* served by the last-level cache of `to`, not by its DRAM */
};

struct np_model_result {
	double bytes_per_s; /* all cores of the flow together */
	double latency_ns;  /* of one line that a core waits for */
};

/* Lines that a core of the node keeps in flight where it knows which come next. */
static inline double np_model_stream_lines(const struct np_model_node *node)
{
	return node->core_stream_lines > 0 ? node->core_stream_lines : node->core_outstanding;
}

/*
 * Checks a machine and finds the routes (fewest links, then least latency).
 * Returns 0, or -EINVAL with a one-line explanation in err. Call it once
 * after filling or changing a machine; the functions below need it.
 */
int np_model_prepare(struct np_model *m, char *err, size_t err_len);

/*
 * Fills and prepares a machine from its text form:
 *
 *	machine name=demo-2s line_bytes=64
 *	node 0 core_outstanding=10 dram_bytes_per_s=2.0e10 ..
 *	link 0 1 bytes_per_s=1.0e10 latency_ns=40 ..
 *
 * Keys are the members' names; a member that is 0 may be left out. Same errors as
 * np_model_prepare().
 */
int np_model_parse(struct np_model *m, const char *text, char *err, size_t err_len);

/* Prints the text form that np_model_parse() reads. */
void np_model_print(const struct np_model *m, FILE *f);

/* Unloaded latency in nanoseconds of a line of node `to`, or 0 if it has no memory. */
double np_model_unloaded_ns(const struct np_model *m, int from, int to);

/*
 * Bytes a second that the narrowest of the port of `from`, the route and the controller of `to`
 * can pass, or 0 if `to` has no memory.
 */
double np_model_route_bytes_per_s(const struct np_model *m, int from, int to);

/*
 * Grants every flow its bandwidth and its latency. flow and result hold n
 * entries. Returns 0, or -EINVAL: too many flows, a node that does not exist,
 * has no cores or no memory, a number that is negative or not finite.
 */
int np_model_solve(const struct np_model *m, const struct np_model_flow *flow, size_t n,
		   struct np_model_result *result);

#endif
