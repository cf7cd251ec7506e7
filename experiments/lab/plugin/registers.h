/* SPDX-License-Identifier: GPL-2.0-only */
/* General registers of the guest, by their numbers in instructions: rax 0, rcx 1, .. r15 15. */
#ifndef NP_LAB_REGISTERS_H
#define NP_LAB_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { NP_RAX, NP_RCX, NP_REGISTERS = 16 };

/* Where a CPU begins. Returns false where this QEMU names them in another way. */
bool np_registers_find(void);

/* Of the CPU that calls, in a call with QEMU_PLUGIN_CB_R_REGS. */
uint64_t np_registers_read(unsigned int number);

#endif
