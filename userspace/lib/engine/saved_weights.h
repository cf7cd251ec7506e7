/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tasks that use interleave weights written by numaplace, and the kernel's earlier weights, in
 * a file: restoring the last of these tasks writes the earlier weights, also after the tool has
 * exited.
 */
#ifndef NUMAPLACE_LIB_SAVED_WEIGHTS_H
#define NUMAPLACE_LIB_SAVED_WEIGHTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "saved_affinity.h"
#include "undo_scope.h"

/* A process whose pages to come are to be spread by them. */
struct np_weights_user {
	pid_t pid;
	unsigned long long start;
	char by[NP_BY_LEN]; /* as np_saved.by */
	bool added;	    /* by np_weights_take(): it was none before */
};

/*
 * Notes what the kernel has, then writes the weights; weights that others go by and that are
 * in proportion stay. Users that have exited are left out; where all have, nothing is done.
 * root: of /sys and of the file weights.json, "" but in tests. 0, or -errno with one line in
 * err and nothing changed: -EBUSY where another goes by different ones.
 */
int np_weights_take(const char *root, const json_t *weights, struct np_weights_user *user, size_t n,
		    struct np_err *err);

struct np_weights_back {
	size_t users;	/* that were among those asked for */
	char text[256]; /* change of the kernel's weights, one line; "": none */
};

/* Takes users out that which() is true for; after the last the kernel has what it had before. */
int np_weights_drop(const char *root,
		    bool (*which)(const struct np_weights_user *u, const void *arg),
		    const void *arg, struct np_weights_back *back, struct np_err *err);

/* The same for those that are restored. */
int np_weights_give_back(const struct np_whose *whose, struct np_weights_back *back,
			 struct np_err *err);

/* Users that by has placed count as placed by hand: they stay at its end. As np_saved_affinity_leave(). */
int np_weights_leave(const char *root, const char *by, struct np_err *err);

#endif
