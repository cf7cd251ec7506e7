/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters where the processor has none, or that are refused: perf_event_open(2) opens the kernel's
 * task clock, or fails. Also built for LD_PRELOAD, as build/tests/fake_pmu.so, which always fakes.
 */
#ifndef NUMAPLACE_TESTS_FAKE_COUNTERS_H
#define NUMAPLACE_TESTS_FAKE_COUNTERS_H

#include <stdbool.h>

extern bool fake_counters;	     /* instead of the machine's */
extern int fake_counters_refuse;     /* with this errno; 0: not */
extern bool fake_counters_of_kernel; /* some that were opened count the kernel's work too */

#endif
