// SPDX-License-Identifier: GPL-2.0-only
#include "window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PS_PER_NS 1000.0
#define NS_PER_S  1e9
#define FEWEST	  8	/* lines: what moves less in a window is no flow */
#define POSTED_MOST 0.8	/* write-backs to a node that nothing is read from still hold up something */

/* What a CPU did in the window that ends. */
struct share {
	double busy_ns, compute_ns;
	double foreseen, waited, posted, past;	/* lines, of the flow at hand */
};

struct seen {
	uint64_t busy_ps, memory_stall_ps, misses;
	struct np_traffic traffic[NP_LAB_MAX_NODES][NP_KINDS];
};

enum np_class { FORESEEN, WAITED, CLASSES };

/* A flow of the model and whose cost it decides. */
struct origin {
	unsigned short cpu;
	unsigned char node, kind, class;
};

static uint8_t ending;		/* a thread is at it */
static uint64_t end_ps;
static struct seen *seen;	/* [cpus], at the end of the last window */
static struct np_model_flow flow[NP_MODEL_FLOWS];
static struct np_model_grant grant[NP_MODEL_FLOWS];
static struct origin origin[NP_MODEL_FLOWS];
static size_t n_flows;
