/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NUMAPLACE_LAB_H
#define _NUMAPLACE_LAB_H

#include "shared.h"

/* clock.c: time of day, timers and sleeps follow simulated time. */
int numaplace_lab_clock_register(const struct np_lab_shared *shared);
void numaplace_lab_clock_unregister(void);

/* ticks.c: fewer timer interrupts. */
int numaplace_lab_ticks_slow(void);
void numaplace_lab_ticks_restore(void);

/* ticks_count.c: lets the plugin tell an idle CPU's timer interrupt from a wake-up. */
int numaplace_lab_ticks_count(struct np_lab_shared *shared);
void numaplace_lab_ticks_forget(void);

/* counters.c: /sys/kernel/debug/numaplace_lab/counters */
void numaplace_lab_counters_create(const struct np_lab_shared *shared);
void numaplace_lab_counters_remove(void);

#endif
