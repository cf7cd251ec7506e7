/* SPDX-License-Identifier: GPL-2.0-only */
/* What QEMU calls while translated code runs: at a block, at an instruction, at an access. */
#ifndef NP_LAB_CALLS_H
#define NP_LAB_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/dataflow.h"
#include "qemu_api.h"

/* How an instruction makes its accesses. */
enum np_accesses { NP_ORDINARY, NP_ATOMICALLY, NP_REP1, NP_REP2, NP_NONTEMPORAL, NP_ACCESSES };

/* The word of a call is 0 where no other is named. */
extern const struct np_calls {
	/* Word: np_calls_word_of_block(). The two others keep a profile. */
	qemu_plugin_vcpu_udata_cb_t block, user_block, kernel_block;
	/* In the untimed start. Word: how many instructions the block has. */
	qemu_plugin_vcpu_udata_cb_t start_block;
	/* Of an instruction. Word of rep: the accesses of a round. */
	qemu_plugin_vcpu_udata_cb_t start_end, drain, new_translations, pause, halt, rep;
	/* Of a load of CR3, with QEMU_PLUGIN_CB_R_REGS. Word: the register that it is loaded from. */
	qemu_plugin_vcpu_udata_cb_t load_cr3;
	/* Word: np_calls_word_of_access(), with profiles for the second. */
	qemu_plugin_vcpu_mem_cb_t access[NP_ACCESSES], profiled[NP_ACCESSES];
} np_calls;

void *np_calls_word_of_block(struct np_dataflow *block);

/* code: the instruction's address; number: of its load in the block's dataflow. In block memory where it profiles. */
void *np_calls_word_of_access(uint64_t code, unsigned int number, bool profiles);

/* Whether this QEMU tells loads from stores as the calls take it. */
bool np_calls_can_tell_stores(void);

/* After np_sim.cpu is there. start_ended: called at the guest's note that the untimed start has ended. */
void np_calls_begin(void (*start_ended)(void));

#endif
