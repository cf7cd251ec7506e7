/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes the x86-64 instructions that the simulation treats specially. */
#ifndef NP_DECODE_H
#define NP_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum np_decoded {
	NP_DECODE_OTHER,
	NP_DECODE_NONTEMPORAL,	    /* store */
	NP_DECODE_ATOMIC,	    /* with a lock prefix, or an exchange with memory */
	NP_DECODE_NEW_TRANSLATIONS, /* load of CR3 or CR4, or a TLB flush */
	NP_DECODE_PAUSE,
	NP_DECODE_REP, /* string instruction with a repeat prefix */
	NP_DECODE_HALT,
	NP_DECODE_MARKER, /* NP_LAB_MARKER */
};

enum np_decoded np_decode_kind(const uint8_t *code, size_t len);

/* The register that such a load of CR3 takes its value from, or -1: it loads none. */
int np_decode_cr3(const uint8_t *code, size_t len);

/* The number of a marker, of experiments/lab/guest/shared.h. */
static inline unsigned int np_decode_marker(const uint8_t *code)
{
	return code[3];
}

/* Accesses that a round of such a string instruction makes: 1 or 2. */
unsigned int np_decode_round(const uint8_t *code, size_t len);

#endif
