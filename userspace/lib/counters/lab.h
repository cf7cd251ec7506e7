/* SPDX-License-Identifier: GPL-2.0-only */
/* The simulated lab's counters, one line of them for each CPU. */
#ifndef NUMAPLACE_LIB_LAB_H
#define NUMAPLACE_LIB_LAB_H

#include "counters.h"

#define NP_LAB_COUNTERS "/sys/kernel/debug/numaplace_lab/counters"

/* One line of numaplace_lab/counters. False when it is none. */
bool np_lab_line(const char *line, int *cpu, double total[NP_EVENTS]);

#endif
