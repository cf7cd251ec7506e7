/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks that mean the same on every machine. In the simulated lab the kernel
 * accounts CPU time by the host's clock, which runs many times faster than the
 * simulated one by which everything else goes.
 */
#ifndef NUMAPLACE_LIB_CLOCK_H
#define NUMAPLACE_LIB_CLOCK_H

#include <time.h>

/* All in seconds. */
double np_clock(clockid_t clock);

/* The clock by which the ticks of user and system time in /proc come. */
double np_clock_of_ticks(void);

/*
 * Runs while this process works: its CPU time; in the simulated lab the time, so
 * take it at both ends of a stretch without sleep.
 */
double np_clock_of_work(void);

/* The CPU time of this process so far; worked: what its stretches add up to. */
double np_clock_worked(double worked);

#endif
