/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks that keep more CPUs busy than a node has: the fewest nodes that together have enough. */
#ifndef NUMAPLACE_NODE_SET_H
#define NUMAPLACE_NODE_SET_H

#include "placer.h"

/*
 * Places task i, which fits on no node, on the smallest set of nodes that it may run on: the
 * one with most of its pages where there is room for it, else the one with most room; of equal
 * ones the one whose nodes are nearest to each other. False, and nothing is decided, where it
 * would need all that it may use.
 */
bool np_place_on_fewest(struct np_placer *p, size_t i);

/*
 * Pages that lie outside task i's nodes come to these, as many to each; the others stay
 * where its threads have put them, and so do those to come. 0 or -ENOMEM.
 */
int np_pages_into_nodes(struct np_placer *p, size_t i);

/* "0, 1 and 4": the kernel's numbers of the nodes that are not 0. Returns text. */
const char *np_nodes_text(const struct np_machine *m, const uint8_t *in, char *text,
			  size_t text_len);

#endif
