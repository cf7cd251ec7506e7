/* SPDX-License-Identifier: GPL-2.0-only */
/* The implementations of struct np_engine_ops. */
#ifndef NUMAPLACE_LIB_ENGINES_H
#define NUMAPLACE_LIB_ENGINES_H

#include "engine.h"

extern const struct np_engine_ops np_engine_module;
extern const struct np_engine_ops np_engine_syscall;
extern const struct np_engine_ops np_engine_auto;

/*
 * Adds to the module's counts what a second engine then moved of the pages that the
 * module had left by their kind, or as busy. asked stays the sum of the counts.
 */
void np_migrate_merge(struct np_migrate_result *out, const struct np_migrate_result *rest);

#endif
