/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs and nodes as numactl writes them: 0-2,5  !1  +0-1  all. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_CPULIST_H
#define NUMAPLACE_LIB_CPULIST_H

#include <numa.h>
#include <stddef.h>

#include "error.h"

#define NP_MAX_CPUS  8192
#define NP_MAX_NODES 1024
#define NP_LIST_LEN  512

/* The numbers that a list may name. */
struct np_list_space {
	const char *what;	       /* "node" or "CPU", for the errors */
	const struct bitmask *exist;   /* those that this machine has */
	const struct bitmask *allowed; /* those that "all", "+" and "!" refer to */
};

/*
 * Parses text by numactl's grammar: [!][+]LIST or "all", LIST = N|N-M[,...].
 * Returns a mask as long as s->exist, which the caller frees, or NULL with
 * one line in err that says which number does not exist and which do.
 */
struct bitmask *np_list_parse(const char *text, const struct np_list_space *s, struct np_err *err);

/*
 * Parses what the kernel prints ("0-3,8\n", or nothing) into mask, which is
 * cleared first. Returns 0, or -EINVAL for anything else.
 */
int np_list_parse_kernel(const char *text, struct bitmask *mask);

/* "0-3,8"; a list that does not fit ends in "...". Returns buf. */
char *np_list_format(const struct bitmask *mask, char *buf, size_t len);

#endif
