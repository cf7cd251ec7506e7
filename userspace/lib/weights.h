/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages to come of a task whose pages are spread unevenly: the kernel spreads them by weights
 * of its own, one set for the whole machine.
 */
#ifndef NUMAPLACE_LIB_WEIGHTS_H
#define NUMAPLACE_LIB_WEIGHTS_H

#include "planning.h"

/* The memory policy (MPOL_*) for pages to come that a decision to spread asks for. */
int np_spread_mode(const struct np_planning *p, const struct np_decision *d);

/*
 * Fills weight [n_nodes]; root: of /sys, "" but in tests. False when the kernel has none
 * (before Linux 6.9).
 */
bool np_weights_read(const char *root, const struct np_machine *m, uint8_t *weight);

/* {"0": 1, "1": 3}; null where the plan spreads nothing by them or they are not known. */
json_t *np_weights_json(const struct np_planning *p);

/*
 * What is to be known of pages to come: that the kernel's weights are not the plan's, or that it
 * has none. False when there is nothing to say.
 */
bool np_weights_text(const struct np_planning *p, const uint8_t *kernel, char *text, size_t len);

#endif
