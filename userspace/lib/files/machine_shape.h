/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines without a file of their own, by their shape: nodes, CPUs and memory of each. */
#ifndef NUMAPLACE_LIB_MACHINE_SHAPE_H
#define NUMAPLACE_LIB_MACHINE_SHAPE_H

#include <jansson.h>
#include <stdbool.h>

#include "../base/error.h"

/* The machine that comes with numaplace and has all else that a shape does not say. */
#define NP_MACHINE_SHAPE_MODEL "demo-2s"

/* Whether the name is a shape's, well written or not, and never a file's. */
bool np_machine_shape_is(const char *name);

/*
 * NODESxCPUS[:SIZE][+NODES[:SIZE]]: nodes with so many CPUs and so much memory (1G) each, and
 * nodes without CPUs, with as much memory or their own. SIZE is a number with K, M or G. Makes
 * that machine of file, the table of NP_MACHINE_SHAPE_MODEL's file: its nodes are like the model's
 * first, all pairs of them have its link and its distance. 0, or -EINVAL or -ENOMEM with one line
 * in err.
 */
int np_machine_shape_apply(json_t *file, const char *shape, struct np_err *err);

#endif
