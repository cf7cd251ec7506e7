/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's clock, and how long a thread waited for one of the host's processors. */
#ifndef NP_HOST_TIME_H
#define NP_HOST_TIME_H

#include <stdbool.h>
#include <stdint.h>

uint64_t np_host_ns(void);

/*
 * Nanoseconds that a thread was ready to run and had to wait for a processor,
 * so far; 0 where the kernel does not tell. `fd` is from the functions below.
 */
uint64_t np_host_waited_ns(int fd);
int np_host_open_own(void);	/* of the calling thread */

/* The state of the calling thread, to ask np_host_runnable() for; -1 if there is none. */
int np_host_open_state(void);

/* Whether that thread runs or is ready to run. */
bool np_host_runnable(int fd);
int np_host_open_main(void);	/* of QEMU's main loop, which delivers timers and devices' interrupts */

#endif
