/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contention. The traffic of every CPU is counted over a window of simulated
 * time; the contention model grants each flow a bandwidth and a latency; the
 * delay is charged in the next window.
 */
#ifndef NP_CONTENTION_H
#define NP_CONTENTION_H

#include "cpu.h"

/* Sets the costs of an idle machine. Returns 0 or -ENOMEM. */
int np_contention_init(void);
void np_contention_exit(void); /* for tests: the plugin ends with QEMU */

/* More flows than these in a window are joined, those of a node's CPUs to one; tests have fewer. */
extern size_t np_contention_flows;

/* Ends the window if it is over. Any thread may call it at any time. */
void np_contention_advance(uint64_t now_ps);

#endif
