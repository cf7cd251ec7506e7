/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes the x86-64 instructions that the simulation treats specially. */
#ifndef NP_DECODE_H
#define NP_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum np_insn {
	NP_INSN_OTHER,
	NP_INSN_STORE_PAST_CACHES,	/* non-temporal store */
	NP_INSN_NEW_TRANSLATIONS,	/* loads CR3 or CR4, or drops TLB entries */
	NP_INSN_PAUSE,
	NP_INSN_REP,			/* string instruction with a repeat prefix */
};

enum np_insn np_decode_kind(const uint8_t *code, size_t len);

/* Accesses that a round of such a string instruction makes: 1 or 2. */
unsigned int np_decode_round(const uint8_t *code, size_t len);

#endif
