/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NUMAPLACE_LAB_H
#define _NUMAPLACE_LAB_H

#include "shared.h"

/* counters.c: /sys/kernel/debug/numaplace_lab/counters */
void numaplace_lab_counters_create(const struct np_lab_shared *shared);
void numaplace_lab_counters_remove(void);

/* tasks.c: tells the plugin which task each CPU runs, with the parameter tasks=1 only */
int numaplace_lab_tasks_begin(void);
void numaplace_lab_tasks_end(void);

#endif
