// SPDX-License-Identifier: GPL-2.0-only
#include "decode.h"
#include "../../guest/shared.h"

#include <stdbool.h>
#include <string.h>

enum { PP_NONE, PP_66, PP_F3, PP_F2 };

struct opcode {
	unsigned int map; /* 0: one byte, 1: 0f, 2: 0f 38 */
	unsigned int pp;  /* prefix that belongs to the opcode */
	uint8_t byte, modrm;
	bool vex, lock;
};

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x66:
	case 0xf2:
	case 0xf3:
	case 0xf0:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x26:
	case 0x64:
	case 0x65:
	case 0x67:
		return true;
	default:
		return byte >> 4 == 4; /* REX */
	}
}

static unsigned int pp_of(uint8_t prefix, unsigned int pp)
{
	return prefix == 0x66 && pp == PP_NONE ? PP_66 :
	       prefix == 0xf3		       ? PP_F3 :
	       prefix == 0xf2		       ? PP_F2 :
						 pp;
}

static bool decode_vex(struct opcode *op, const uint8_t *code, size_t len)
{
	static const uint8_t header[] = { [0] = 2, [1] = 3, [2] = 4 }; /* c5, c4, 62 */
	size_t n = header[code[0] == 0xc5 ? 0 : code[0] == 0xc4 ? 1 : 2];

	if (len < n + 2)
		return false;
	op->vex = true;
	op->map = n == 2 ? 1 : code[1] & (n == 3 ? 0x1f : 0x07);
	op->pp = code[n == 2 ? 1 : 2] & 3;
	op->byte = code[n];
	op->modrm = code[n + 1];
	return true;
}

static bool decode(struct opcode *op, const uint8_t *code, size_t len)
{
	*op = (struct opcode) { 0 };
	for (; len && is_prefix(*code); code++, len--) {
		op->pp = pp_of(*code, op->pp);
		op->lock |= *code == 0xf0;
	}
	if (!len)
		return false;
	if (*code == 0xc5 || *code == 0xc4 || *code == 0x62)
		return decode_vex(op, code, len);
	for (; len && *code == 0x0f && !op->map; code++, len--)
		op->map = 1;
	if (op->map && len && *code == 0x38) {
		op->map = 2;
		code++;
		len--;
	}
	if (!len)
		return false;
	op->byte = code[0];
	op->modrm = len > 1 ? code[1] : 0;
	return true;
}

static bool drops_translations(const struct opcode *op)
{
	unsigned int reg = op->modrm >> 3 & 7;

	if (op->vex)
		return false;
	if (op->map == 1 && op->byte == 0x22) /* mov to a control register */
		return reg == 0 || reg == 3 || reg == 4;
	if (op->map == 1 && op->byte == 0x01) /* invlpg */
		return reg == 7 && op->modrm >> 6 != 3;
	return op->map == 2 && op->pp == PP_66 && op->byte == 0x82; /* invpcid */
}

int np_decode_cr3(const uint8_t *code, size_t len)
{
	struct opcode op;
	bool extends = len && code[0] >> 4 == 4 && code[0] & 1; /* REX.B */

	if (!decode(&op, code, len) || op.vex || op.map != 1 || op.byte != 0x22 ||
	    (op.modrm >> 3 & 7) != 3)
		return -1;
	return (op.modrm & 7) + 8 * extends;
}

static bool is_nontemporal(const struct opcode *op)
{
	if (op->map != 1 || op->modrm >> 6 == 3)
		return false;
	switch (op->byte) {
	case 0x2b: /* movntps, movntpd */
	case 0xe7: /* movntdq, movntq */
		return op->pp == PP_NONE || op->pp == PP_66;
	case 0xc3: /* movnti */
		return !op->vex && op->pp == PP_NONE;
	default:
		return false;
	}
}

/* Accesses of a round, or 0: not a string instruction. */
static unsigned int string_accesses(const struct opcode *op)
{
	if (op->map || op->vex)
		return 0;
	switch (op->byte & 0xfe) {
	case 0xa4: /* movs */
	case 0xa6: /* cmps */
		return 2;
	case 0x6c: /* ins */
	case 0x6e: /* outs */
	case 0xaa: /* stos */
	case 0xac: /* lods */
	case 0xae: /* scas */
		return 1;
	default:
		return 0;
	}
}

static bool repeats(const struct opcode *op)
{
	return (op->pp == PP_F3 || op->pp == PP_F2) && string_accesses(op);
}

unsigned int np_decode_round(const uint8_t *code, size_t len)
{
	struct opcode op;

	return decode(&op, code, len) && repeats(&op) ? string_accesses(&op) : 1;
}

static bool is_atomic(const struct opcode *op)
{
	bool exchange = !op->map && !op->vex && (op->byte & 0xfe) == 0x86;

	return op->lock || (exchange && op->modrm >> 6 != 3);
}

static bool is_marker(const uint8_t *code, size_t len)
{
	const uint8_t marker[] = { NP_LAB_MARKER(len > 3 ? code[3] : 0) };

	return len == sizeof(marker) && code[3] && code[3] < NP_LAB_MARKERS &&
	       !memcmp(code, marker, len);
}

enum np_decoded np_decode_kind(const uint8_t *code, size_t len)
{
	struct opcode op;

	if (is_marker(code, len))
		return NP_DECODE_MARKER;
	if (!decode(&op, code, len))
		return NP_DECODE_OTHER;
	if (repeats(&op))
		return NP_DECODE_REP;
	if (is_atomic(&op))
		return NP_DECODE_ATOMIC;
	if (op.map == 0)
		return op.vex				 ? NP_DECODE_OTHER :
		       op.byte == 0x90 && op.pp == PP_F3 ? NP_DECODE_PAUSE :
		       op.byte == 0xf4			 ? NP_DECODE_HALT :
							   NP_DECODE_OTHER;
	if (drops_translations(&op))
		return NP_DECODE_NEW_TRANSLATIONS;
	return is_nontemporal(&op) ? NP_DECODE_NONTEMPORAL : NP_DECODE_OTHER;
}
