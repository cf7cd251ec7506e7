/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NUMAPLACE_LIB_CLOCK_H
#define NUMAPLACE_LIB_CLOCK_H

#include <time.h>

/* In seconds. */
double np_clock(clockid_t clock);

#endif
