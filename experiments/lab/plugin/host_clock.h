/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of a machine in which times mean nothing: the host's, without what is skipped while all CPUs are halted. */
#ifndef NP_HOST_CLOCK_H
#define NP_HOST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* QEMU starts or stops the machine. For holders of QEMU's lock. */
void np_host_clock_run(bool running);

/* In ns. For any thread. */
uint64_t np_host_clock_now(void);

/* The same for the main loop, with QEMU's lock: goes to the next timer where nothing can happen before. */
uint64_t np_host_clock_of_main_loop(void);

#endif
