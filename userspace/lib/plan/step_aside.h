/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps the measuring process off the measured CPUs. */
#ifndef NUMAPLACE_LIB_STEP_ASIDE_H
#define NUMAPLACE_LIB_STEP_ASIDE_H

#include "../host/topology.h"

/* Moves the measuring process off the measured node, if other nodes have CPUs. */
void np_penalty_probe_leave(const struct np_machine *m, int node);

/* Allows it all CPUs again. */
void np_penalty_probe_return(const struct np_machine *m);

#endif
