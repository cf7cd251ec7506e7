/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a device may be at work for the guest: while all CPUs are halted time then follows the
 * host's, and else goes to the next timer at once.
 */
#ifndef NP_IN_FLIGHT_H
#define NP_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

/* How long a device has, from a request on, until a thread of QEMU's is seen to work at it. */
#define NP_IN_FLIGHT_GRACE_NS 200000

/* The guest has written to a device, in any CPU's thread. */
void np_in_flight_ask(void);

/* For the main loop: it has looked at its files since it was last asked to. */
void np_in_flight_looked(void);

/* For the main loop, which is to look at its files again soon where the answer is true. */
bool np_in_flight_any(void);

#endif
