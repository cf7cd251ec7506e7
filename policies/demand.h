/* SPDX-License-Identifier: GPL-2.0-only */
/* What a task would ask of memory: from what is known of it, to the model's terms. */
#ifndef NUMAPLACE_DEMAND_H
#define NUMAPLACE_DEMAND_H

#include "model.h"
#include "plan.h"

struct np_demand {
	double lines;		/* that a core of it keeps in flight */
	double think_ns;	/* of a line's time that no memory takes part in; INFINITY: it
				 * never goes to memory */
	double writes;		/* share of its traffic that is written */
	enum np_source source;	/* what it was made from */
};

/* Local and nearest remote latency of a machine, unloaded, in nanoseconds. */
struct np_latencies {
	double local, remote;
};

struct np_latencies np_latencies(const struct np_model *model);

/*
 * With t the time of a line on a core, thinking included, in order of preference:
 * the measured bandwidth b of a core gives t = lines * line_bytes / b; a penalty
 * p = (think + remote) / (think + local) gives think; an MPKI gives lines a second
 * at the IPC that is known, or 1, and 2.4 GHz; else the penalty that the
 * distances suggest. Lines in flight are those known, else as many as a core
 * can keep. What was measured is taken to be what an otherwise idle machine allowed.
 */
struct np_demand np_demand_of(const struct np_model *model, struct np_latencies l,
			      const struct np_task *t, const struct np_decision *d);

#endif
