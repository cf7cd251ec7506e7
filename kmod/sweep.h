/* SPDX-License-Identifier: GPL-2.0-only */
/* Schedules the sweep, which does the work that is pending for records of tasks. */
#ifndef _NUMAPLACE_SWEEP_H
#define _NUMAPLACE_SWEEP_H

#include <linux/types.h>

int numaplace_sweep_init(bool (*act)(void));
void numaplace_sweep_exit(void);
void numaplace_sweep_later(void);
void numaplace_sweep_now(void);

#endif
