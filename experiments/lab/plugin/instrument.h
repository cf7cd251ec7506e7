/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls at the instructions and accesses of translated code. */
#ifndef NP_LAB_INSTRUMENT_H
#define NP_LAB_INSTRUMENT_H

#include <stdbool.h>

#include "qemu_api.h"

/* Whether this QEMU tells loads from stores as the calls take it. */
bool np_instrument_can_tell_stores(void);

/* For qemu_plugin_register_flush_cb(). */
void NP_QEMU_CALL(np_instrument_forget);

/* After np_sim.cpu is there. start_ended: called at the guest's note that the untimed start has ended. */
void np_instrument_begin(void (*start_ended)(void));

/* Sets the calls of a block that is translated: in simulated time, and in the untimed start. */
void NP_QEMU_BLOCK_CALL(np_instrument);
void NP_QEMU_BLOCK_CALL(np_instrument_start);

#endif
