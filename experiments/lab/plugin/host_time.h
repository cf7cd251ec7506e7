/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's clock, and whether a thread of the host could go on. */
#ifndef NP_HOST_TIME_H
#define NP_HOST_TIME_H

#include <stdbool.h>
#include <stdint.h>

uint64_t np_host_ns(void);

/* The state of the calling thread, to ask np_host_runnable() for; -1 if there is none. */
int np_host_open_state(void);

/* Whether that thread runs or is ready to run. */
bool np_host_runnable(int fd);

#endif
