/* SPDX-License-Identifier: GPL-2.0-only */
/* Spreading a process's pages over several nodes, page by page. */
#ifndef NUMAPLACE_LIB_SPREAD_PAGES_H
#define NUMAPLACE_LIB_SPREAD_PAGES_H

#include "engine.h"

/*
 * With move_pages(2), which takes a node for each page: a move by ranges would
 * put one half of an array here and the other there, which a loop over it would
 * then reach one after the other. Along every range, and so in every array, each
 * node gets its share of the pages; a page that is where it may be stays.
 * Huge pages move whole. Pages of files and of shared memory stay unless the request names them.
 */
int np_spread_pages(const struct np_migrate_request *r, struct np_migrate_result *out,
		    struct np_err *err);

/*
 * For n pages that are on node[] (negative: none of them): to[i] is the node that
 * page i should go to, -1: it stays. placed[j] pages of those before are on node j,
 * of done in all; share[j] is what node j should have of all, nodes of them.
 */
void np_spread_choose(const int *node, size_t n, const double *share, const double *placed,
		      double done, size_t nodes, int *to);

#endif
