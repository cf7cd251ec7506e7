// SPDX-License-Identifier: GPL-2.0-only
#include "marker.h"
#include "cpu.h"
#include "qemu_clock.h"
#include "registers.h"

#include <string.h>

#define MOST_BYTES 4095 /* of a text */

/* The text at the operands' place, without line breaks; false: it cannot be read. */
static bool read_text(char *text)
{
	uint64_t address = np_registers_read(NP_RAX), len = np_registers_read(NP_RCX);
	GByteArray *bytes = g_byte_array_new();
	bool found;

	len = len < MOST_BYTES ? len : MOST_BYTES;
	found = len && qemu_plugin_read_memory_vaddr(address, bytes, len);
	if (found) {
		memcpy(text, bytes->data, len);
		text[len] = '\0';
		for (char *c = text; *c; c++)
			*c = *c == '\n' ? ' ' : *c;
	}
	g_byte_array_free(bytes, true);
	return found;
}

static struct np_profile *profile_of(unsigned int vcpu)
{
	return np_sim.cpu[np_sim.config.exact ? np_qemu_clock_switch() : vcpu].profile;
}

static void on_switch(unsigned int vcpu, void *data)
{
	np_profile_switch(profile_of(vcpu), np_registers_read(NP_RAX), np_registers_read(NP_RCX));
}

static void on_region(unsigned int vcpu, void *enters)
{
	char text[MOST_BYTES + 1];

	if (!read_text(text))
		return;
	text[NP_REGION_NAME - 1] = '\0';
	np_profile_region(profile_of(vcpu), text, enters);
}

static void on_note(unsigned int vcpu, void *data)
{
	char text[MOST_BYTES + 1];

	if (read_text(text))
		np_profile_note(text);
}

void np_marker_watch(struct qemu_plugin_insn *insn, unsigned int number)
{
	qemu_plugin_vcpu_udata_cb_t call = number == NP_LAB_SWITCH ? on_switch :
					   number == NP_LAB_NOTE   ? on_note :
								     on_region;

	if (number != NP_LAB_START_ENDS)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, call, QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)(number ==
									   NP_LAB_REGION_BEGIN));
}
