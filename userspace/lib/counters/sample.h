/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of tasks between two moments, in the fields that policies read. */
#ifndef NUMAPLACE_LIB_SAMPLE_H
#define NUMAPLACE_LIB_SAMPLE_H

#include "counters.h"
#include "node_traffic.h"

struct np_counter_sample {
	struct np_counters counters;
	struct np_subject *subject;	     /* [n] */
	struct np_reading *before, *counted; /* [n] counted: filled by np_counter_sample_end() */
	struct np_node_traffic dram, dram_before;
	double seconds; /* between begin and end */
	size_t n;
};

/* Begins with these thread groups; m must outlive it. 0, or -errno with one line in err. */
int np_counter_sample_begin(struct np_counter_sample *c, const struct np_machine *m,
			    const pid_t *pids, size_t n, struct np_err *err);
void np_counter_sample_end(struct np_counter_sample *c);
void np_counter_sample_free(struct np_counter_sample *c);

/*
 * Sets ipc, mpki, bandwidth, local_access and writes of task, the i-th, which may
 * use these CPUs, and its accesses by node into room [n_nodes]; what was not
 * counted stays. accesses needs a machine of two nodes and a task on one of them,
 * or the lab.
 */
void np_counter_sample_fill(const struct np_counter_sample *c, size_t i, const struct np_machine *m,
			    const struct bitmask *cpus, struct np_task *task, double *room);

/* Sets the traffic of m's nodes where it was counted. */
void np_counter_sample_traffic(const struct np_counter_sample *c, struct np_machine *m);

#endif
