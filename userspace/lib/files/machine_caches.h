/* SPDX-License-Identifier: GPL-2.0-only */
/* The [[cache]] tables of a machine file. */
#ifndef NUMAPLACE_LIB_MACHINE_CACHES_H
#define NUMAPLACE_LIB_MACHINE_CACHES_H

#include "../base/toml.h"

/*
 * Whether they are caches that the lab's simulation can build. 0, or -EINVAL with one line in the
 * file's err.
 */
int np_machine_file_caches(const struct np_toml_table *file);

#endif
