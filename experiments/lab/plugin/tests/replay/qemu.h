/* SPDX-License-Identifier: GPL-2.0-only */
/* QEMU's side of the plugin interface, as replay has it: what the plugin asked to be called for. */
#ifndef REPLAY_QEMU_H
#define REPLAY_QEMU_H

#include "../../qemu_api.h"

#include <stdbool.h>
#include <stddef.h>

#define LOAD  (1u << 16) /* of QEMU's description of an access */
#define STORE (2u << 16)
#define INSNS 12 /* of a block, at most */

extern struct replay_qemu {
	/* Which block is translated: a program's, or one of the guest with the marker that its start has ended. */
	const char *code; /* 3 bytes an instruction; what it lacks are NOPs */
	size_t instructions;
	bool translates_marker;
	bool of_kernel;
	/* What the plugin asked for, each with its argument. */
	qemu_plugin_vcpu_tb_trans_cb_t translate;
	qemu_plugin_vcpu_udata_cb_t run_block;
	void *block_word;
	qemu_plugin_vcpu_mem_cb_t access_memory[INSNS]; /* by instruction, as the following three */
	void *slot[INSNS];
	qemu_plugin_vcpu_udata_cb_t enter[INSNS];
	void *entry_word[INSNS];
	size_t slots; /* how many instructions it has asked for */
	qemu_plugin_vcpu_udata_cb_t run_marker;
	qemu_plugin_simple_cb_t when_reset;
} replay_qemu;

void replay_translate(void);
void replay_reset(void);

#endif
