/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest tells by markers of experiments/lab/guest/shared.h. */
#ifndef NP_MARKER_H
#define NP_MARKER_H

#include "qemu_api.h"

/* Has the instruction, a marker of this number, call. */
void np_marker_watch(struct qemu_plugin_insn *insn, unsigned int number);

#endif
