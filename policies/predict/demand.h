/* SPDX-License-Identifier: GPL-2.0-only */
/* A task's demand for memory bandwidth in the model's terms, from the inputs that are known. */
#ifndef NUMAPLACE_DEMAND_H
#define NUMAPLACE_DEMAND_H

#include "../model/model.h"
#include "../policy.h"

struct np_demand {
	double lines;		   /* that a core of it keeps in flight */
	double think_ns;	   /* of a line's time that no memory takes part in; INFINITY: it
				 * never goes to memory */
	double writes;		   /* share of its traffic that is written */
	enum np_provenance source; /* what it was made from */
	/* Measurements that lines and think_ns must explain, see present.c. */
	double bytes_per_s;	 /* that it moves now, all cores; 0: not known */
	double most_lines;	 /* that a core of it can keep in flight, or does */
	double penalty_think_ns; /* what its penalty says of think_ns; INFINITY: nothing */
};

/* Local and nearest remote latency of a machine, unloaded, in nanoseconds. */
struct np_latencies {
	double local, remote;
};

struct np_latencies np_latencies(const struct np_model *model);

/* Unloaded latency of t's average line where its pages are; local when it is on no node. */
double np_latency_idle(const struct np_model *model, const struct np_task *t, double local);

/* Part of a core's lines in flight that no core waits for. */
double np_demand_posted(const struct np_demand *d);

/*
 * With t the time of a line on a core, thinking included, lines * line_bytes / t is
 * what the core moves. Where the task's traffic is known (its bandwidth, else its MPKI
 * and IPC with its cycles a second, else 2.4 GHz a core), the answer is the greediest demand:
 * np_predict_present() reduces it to what explains that traffic at the present
 * placement. A penalty p = (think + remote) / (think + local), measured on an otherwise
 * idle machine with its memory at the distance that it carries, gives think; the
 * traffic then gives the lines. With a penalty alone, or with nothing but the one that the
 * distances suggest, the lines are those known, else assumed: the geometric mean of a
 * pointer chase's one line and the most that a core keeps. An MPKI alone is traffic at an
 * IPC of 1.
 */
struct np_demand np_demand_of(const struct np_machine *m, struct np_latencies l,
			      const struct np_task *t, const struct np_decision *d);

#endif
