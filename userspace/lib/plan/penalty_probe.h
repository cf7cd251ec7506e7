/* SPDX-License-Identifier: GPL-2.0-only */
/* A running task's penalty, from running it for a moment away from its memory. */
#ifndef NUMAPLACE_LIB_PENALTY_PROBE_H
#define NUMAPLACE_LIB_PENALTY_PROBE_H

#include <signal.h>

#include "../host/topology.h"

/* Cycles an instruction in two places, counted the same way. */
struct np_cpi_pair {
	int home, away;	      /* node indices: of what stays, and of what is remote for a while */
	double local, remote; /* CPI */
	double mpki;	      /* with memory local */
	const char *source;   /* of the counts: "perf", "lab" */
};

/*
 * From the CPUs to the remote memory. A flip keeps the memory on the home node and
 * moves the CPUs away; two runs (NP_PROVENANCE_RUNS) keep the CPUs and have remote memory.
 */
int np_cpi_pair_distance(const struct np_machine *m, const struct np_cpi_pair *p,
			 enum np_provenance method);

#define NP_FLIP_MIN_MS 10
#define NP_FLIP_MAX_MS 10000

/*
 * Runs pid on the node of its memory, away from it, away and home again, ms
 * milliseconds each, and counts; then gives every thread its CPUs back. The
 * state file holds the CPUs meanwhile, so `restore` does that if this program is
 * killed. away: node index, or NP_NODE_NONE for the farthest. Ends early, with
 * -ECANCELED, once *stop is set. 0, or -errno with one line in err.
 */
int np_penalty_probe(const struct np_machine *m, pid_t pid, int away, unsigned int ms,
		     const volatile sig_atomic_t *stop, struct np_cpi_pair *out,
		     struct np_err *err);

/* Moves the measuring process off the measured node, if other nodes have CPUs. */
void np_penalty_probe_leave(const struct np_machine *m, int node);

/* Allows it all CPUs again. */
void np_penalty_probe_return(const struct np_machine *m);

/* The farthest node with CPUs from those of node home, or NP_NODE_NONE. */
int np_penalty_probe_away(const struct np_machine *m, int home);

#endif
