/* SPDX-License-Identifier: GPL-2.0-only */
/* Which calls QEMU makes of a block that it translates. */
#ifndef NP_LAB_INSTRUMENT_H
#define NP_LAB_INSTRUMENT_H

#include "qemu_api.h"

/* For qemu_plugin_register_flush_cb(). */
void NP_QEMU_CALL(np_instrument_forget);

/* Sets the calls of a block that is translated: in simulated time, and in the untimed start. */
void NP_QEMU_BLOCK_CALL(np_instrument);
void NP_QEMU_BLOCK_CALL(np_instrument_start);

#endif
