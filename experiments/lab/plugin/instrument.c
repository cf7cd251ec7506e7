// SPDX-License-Identifier: GPL-2.0-only
/* Which calls QEMU makes of a block that it translates. */
#include "instrument.h"

#include "decode/block_memory.h"
#include "calls.h"
#include "decode/dataflow.h"
#include "decode/decode.h"
#include "marker.h"
#include "timing.h"

#include <stdlib.h>

static bool is_user(uint64_t code)
{
	return !(code >> 63);
}

/* Programs name regions and write notes; what the kernel says of itself no program may. */
static bool may_say(const struct qemu_plugin_insn *insn, unsigned int marker)
{
	return (marker != NP_LAB_SWITCH && marker != NP_LAB_START_ENDS) ||
	       !is_user(qemu_plugin_insn_vaddr(insn));
}

#define CODE_BYTES 16

static void on_accesses(struct qemu_plugin_insn *insn, enum np_accesses kind, unsigned int number)
{
	uint64_t code = qemu_plugin_insn_vaddr(insn);
	bool profiles = np_sim.config.profile[0] && is_user(code);

	qemu_plugin_register_vcpu_mem_cb(insn,
					 (profiles ? np_calls.profiled : np_calls.access)[kind],
					 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 np_calls_word_of_access(code, number, profiles));
}

static void on_entry(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t call, size_t word)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, call, QEMU_PLUGIN_CB_NO_REGS, (void *)word);
}

static void watch_cr3(struct qemu_plugin_insn *insn, const uint8_t *code, size_t len)
{
	int number = np_sim.config.tlb.first[0] && !np_sim.config.counts ?
			     np_decode_cr3(code, len) :
			     -1;

	if (number >= 0)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, np_calls.load_cr3,
						       QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)number);
}

static void on_translate_insn(struct qemu_plugin_insn *insn, unsigned int number, bool drains)
{
	enum np_accesses accesses = NP_ORDINARY;
	uint8_t code[CODE_BYTES];
	size_t len = qemu_plugin_insn_data(insn, code, sizeof(code));
	unsigned int round = np_decode_round(code, len);

	if (drains)
		on_entry(insn, np_calls.drain, 0);
	switch (np_decode_kind(code, len)) {
	case NP_DECODE_NEW_TRANSLATIONS:
		on_entry(insn, np_calls.new_translations, 0);
		watch_cr3(insn, code, len);
		break;
	case NP_DECODE_PAUSE:
		on_entry(insn, np_calls.pause, 0);
		break;
	case NP_DECODE_REP:
		on_entry(insn, np_calls.rep, round);
		accesses = round == 2 ? NP_REP2 : NP_REP1;
		break;
	case NP_DECODE_NONTEMPORAL:
		accesses = NP_NONTEMPORAL;
		break;
	case NP_DECODE_ATOMIC:
		accesses = NP_ATOMICALLY;
		break;
	case NP_DECODE_HALT:
		if (np_sim.config.exact)
			on_entry(insn, np_calls.halt, 0);
		break;
	case NP_DECODE_MARKER:
		if (np_sim.config.profile[0] && may_say(insn, np_decode_marker(code)))
			np_marker_watch(insn, np_decode_marker(code));
		break;
	case NP_DECODE_OTHER:
		break;
	}
	on_accesses(insn, accesses, number);
}

#define MOST 512 /* instructions of a block */

/* Of the block that this thread translates. */
static __thread struct np_dataflow_insn decoded[MOST];
static __thread uint8_t number[MOST];

/* Where accesses take no time, nothing waits for another. */
static struct np_dataflow *make_dataflow(const struct qemu_plugin_tb *tb, size_t n)
{
	struct qemu_plugin_insn *last;
	struct np_dataflow *block;
	uint8_t code[CODE_BYTES];
	bool loops;

	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		decoded[i] = np_sim.config.counts ?
				     (struct np_dataflow_insn) { 0 } :
				     np_dataflow_decode(code, qemu_plugin_insn_data(insn, code,
										    sizeof(code)));
	}
	last = qemu_plugin_tb_get_insn(tb, n - 1);
	loops = decoded[n - 1].jump &&
		qemu_plugin_insn_vaddr(last) + decoded[n - 1].jump ==
			qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	block = np_dataflow_make(decoded, n, np_sim.insn_ps, 1000 * np_sim.config.l1.latency_ns,
				 loops, number);
	if (!block)
		abort();
	return block;
}

void NP_QEMU_BLOCK_CALL(np_instrument)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	qemu_plugin_vcpu_udata_cb_t call = np_calls.block;

	n = n < MOST ? n : MOST;
	if (np_sim.config.profile[0])
		call = is_user(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0))) ?
			       np_calls.user_block :
			       np_calls.kernel_block;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, call, QEMU_PLUGIN_CB_NO_REGS,
					     np_calls_word_of_block(make_dataflow(tb, n)));
	for (size_t i = 0; i < n; i++)
		on_translate_insn(qemu_plugin_tb_get_insn(tb, i), number[i], decoded[i].drains);
}

void NP_QEMU_BLOCK_CALL(np_instrument_start)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint8_t code[CODE_BYTES];

	qemu_plugin_register_vcpu_tb_exec_cb(tb, np_calls.start_block, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)n);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t len = qemu_plugin_insn_data(insn, code, sizeof(code));

		switch (np_decode_kind(code, len)) {
		case NP_DECODE_MARKER:
			if (np_decode_marker(code) == NP_LAB_START_ENDS &&
			    may_say(insn, NP_LAB_START_ENDS))
				on_entry(insn, np_calls.start_end, 0);
			break;
		case NP_DECODE_NEW_TRANSLATIONS:
			watch_cr3(insn, code, len);
			break;
		case NP_DECODE_HALT:
			if (np_sim.config.exact)
				on_entry(insn, np_calls.halt, 0);
			break;
		default:
			break;
		}
	}
}

/* QEMU has dropped all translated code; no CPU runs. */
void NP_QEMU_CALL(np_instrument_forget)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		np_outstanding_drain(&np_sim.cpu[i]);
		np_sim.cpu[i].outstanding.block = NULL;
	}
	np_block_memory_forget();
}
