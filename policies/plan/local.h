/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks near their pages, and pages near their tasks. */
#ifndef NUMAPLACE_LOCAL_H
#define NUMAPLACE_LOCAL_H

#include "placer.h"

/* Decides the node, or nodes, of every task by the rule of maximum-local. */
void np_place_maximum_local(struct np_placer *p);

/*
 * Sends the pages of every placed task that this brings nearer to its node, or the nearest with
 * memory, or into its nodes. Of nodes that are equally near the one that has most of them. 0 or
 * -ENOMEM.
 */
int np_pages_follow(struct np_placer *p);

enum np_pages_word { NP_PAGES_FOLLOW, NP_PAGES_STAY };
extern const char *const np_pages_words[];

#endif
