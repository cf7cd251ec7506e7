/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines that CPUs take from each other. The host's threads run one after the other what the
 * machine's CPUs do at once, so a contended line carries the time from which it can be taken, and
 * a CPU that has used one goes on when no other CPU may still use it earlier.
 *
 * A line is contended from its second change of hands within NP_CONTENDED_PS, until it has stayed
 * where it is for as long. First levels know which of their lines are (l1.h), and no use of one
 * passes unseen.
 */
#ifndef NP_CONTENDED_H
#define NP_CONTENDED_H

#include "cpu.h"

#define NP_CONTENDED_PS 100000000ull /* of a machine at full speed, as the others */

/* Whether the line has changed hands a short time ago: by the next change it is contended. */
bool np_contended_changed(const struct np_cpu *cpu, uint32_t line);

/*
 * The CPU takes a line from another one that is `cost_ps` away. Returns when the line is there, by
 * the CPU's clock; 0 where the line is not contended.
 */
uint64_t np_contended_take(struct np_cpu *cpu, uint32_t line, uint64_t cost_ps, bool store);

/*
 * When a copy of a line can be read that no CPU has the right to write any more: not before it was
 * written, whichever reader is the first.
 */
uint64_t np_contended_find(struct np_cpu *cpu, uint32_t line);

/* Whether the line is contended. */
bool np_contended_is(uint32_t line);

/*
 * The CPU has used a contended line: its clock is brought up to date, and it waits for CPUs that
 * are behind. hit: its first level had the line, so that a load has found what it found before.
 */
void np_contended_use(struct np_cpu *cpu, uint32_t line, bool store, bool hit);

/* No line is contended any more. For tests. */
void np_contended_forget(void);

#endif
