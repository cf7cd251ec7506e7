/* SPDX-License-Identifier: GPL-2.0-only */
/* A new file that replaces another atomically. */
#ifndef NUMAPLACE_LIB_REPLACE_FILE_H
#define NUMAPLACE_LIB_REPLACE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct np_fresh {
	FILE *f;	     /* to write to */
	char path[PATH_MAX]; /* beside the file, until it takes its place */
};

/*
 * Opens a new file beside path: never an existing one, never through a link, since the
 * folder may belong to a user with fewer rights. It gets the mode of the file
 * that it will replace. 0 or -errno: -EINVAL when path is there and no regular file
 * or link.
 */
int np_fresh_open(struct np_fresh *n, const char *path);

/* Puts it in path's place, durable: on the disk first; or removes it. 0 or -errno. */
int np_fresh_keep(struct np_fresh *n, const char *path, bool durable);
void np_fresh_drop(struct np_fresh *n);

#endif
