/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs beside this one: numaplace-NAME. */
#ifndef NUMAPLACE_CMD_BESIDE_H
#define NUMAPLACE_CMD_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Path of the program numaplace-NAME; false if there is none. */
bool np_beside_find(const char *name, char *path, size_t len);

/*
 * Becomes the program at that path, with these arguments behind its own name. Returns an exit
 * status after printing why it cannot.
 */
int np_beside_run(const char *name, const char *path, char **argv);

#endif
