/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps this program off the CPUs that are being measured. */
#ifndef NUMAPLACE_LIB_STEP_ASIDE_H
#define NUMAPLACE_LIB_STEP_ASIDE_H

#include "../host/topology.h"

/* Runs on CPUs of other nodes than this one from now on, where there are any. */
void np_step_aside(const struct np_machine *m, int node);

/* Runs everywhere again. */
void np_step_back(const struct np_machine *m);

#endif
