/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds machine files: those that come with numaplace, and the one of this machine. */
#ifndef NUMAPLACE_LIB_MACHINE_FIND_H
#define NUMAPLACE_LIB_MACHINE_FIND_H

#include <stddef.h>

#include "../base/error.h"

/* The path of the file of that name, or -ENOENT with one line in err. */
int np_machine_file_find(const char *name, char *path, size_t len, struct np_err *err);

/*
 * The file of the machine that this runs on: the one that $NUMAPLACE_MACHINE_FILE
 * names, else, but not in the lab, /etc/numaplace/machine.toml below root ("" but in tests). 1
 * when it is there, 0 when the latter is not, -ENOENT with one line in err when the former is not.
 */
int np_machine_file_here(const char *root, char *path, size_t len, struct np_err *err);

/* The file that $NUMAPLACE_MACHINE_FILE names, which has to fit; NULL: none. */
const char *np_machine_file_named(void);

#endif
