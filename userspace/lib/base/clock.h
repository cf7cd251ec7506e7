/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NUMAPLACE_LIB_CLOCK_H
#define NUMAPLACE_LIB_CLOCK_H

#include <stdint.h>
#include <time.h>

/* In seconds. */
double np_clock(clockid_t clock);

uint64_t np_clock_ns(clockid_t clock);

#endif
