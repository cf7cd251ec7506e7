/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages to come of a task whose pages are spread unevenly: the kernel spreads them by weights
 * of its own, one set for the whole machine.
 */
#ifndef NUMAPLACE_LIB_SPREAD_WEIGHTS_H
#define NUMAPLACE_LIB_SPREAD_WEIGHTS_H

#include "request.h"

#define NP_WEIGHTS_LEN 512 /* room for a line about them, with the command for 8 nodes */

/* The memory policy (MPOL_*) for pages to come that a decision to spread asks for. */
int np_spread_mode(const struct np_request *p, const struct np_decision *d);

/*
 * Fills weight [n_nodes]; root: of /sys, "" but in tests. False when the kernel has none
 * (before Linux 6.9).
 */
bool np_weights_read(const char *root, const struct np_machine *m, uint8_t *weight);

/* {"0": 1, "1": 3}, without nodes of weight 0. */
json_t *np_weights_row_json(const struct np_machine *m, const uint8_t *weight);

/*
 * Adds "kernel_weights" and "wanted_weights", the plan's: of its first task that the kernel's do
 * not serve, if there is one. null: the plan spreads nothing by them, or the kernel's are not
 * known.
 */
void np_weights_add_json(const struct np_request *p, json_t *object);

/*
 * A note on pages to come: the kernel's weights are not the plan's, with the command that sets
 * these, or it has none. Where text [NP_WEIGHTS_LEN at least] has no room for the command, the note
 * says where the weights are. False without a note.
 */
bool np_weights_text(const struct np_request *p, const uint8_t *kernel, char *text, size_t len);

/* The same of this machine's kernel, now. */
bool np_weights_note(const struct np_request *p, char *text, size_t len);

#endif
