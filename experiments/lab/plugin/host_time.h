/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's clock, and the run delay of a thread: time in which it waited for a processor. */
#ifndef NP_HOST_TIME_H
#define NP_HOST_TIME_H

#include <stdbool.h>
#include <stdint.h>

uint64_t np_host_ns(void);

/*
 * Run delay of a thread so far, from schedstat; 0 if the kernel has none. `fd` is from
 * the functions below.
 */
uint64_t np_host_run_delay_ns(int fd);
int np_host_open_own(void); /* of the calling thread */

/* The state of the calling thread, to ask np_host_runnable() for; -1 if there is none. */
int np_host_open_state(void);

/* Whether that thread runs or is ready to run. */
bool np_host_runnable(int fd);

/* Of QEMU's main loop, which delivers timers and devices' interrupts. */
int np_host_open_main(void);

#endif
