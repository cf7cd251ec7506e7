/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of np-mem. */
#ifndef NP_OPTIONS_H
#define NP_OPTIONS_H

#include "worker.h"

struct np_options {
	struct bitmask *cpus, *nodes;
	double seconds; /* 0: commands on stdin */
	bool pin;
};

/* Fills both, or returns -1 after saying why. --help and --version end the program. */
int np_options_parse(struct np_options *o, struct np_worker *w, int argc, char **argv);

/* CPUs of the list in ascending order, one a thread, for --pin; -1 after saying why. */
int np_options_pin(const struct np_options *o, struct np_worker *w);

#endif
