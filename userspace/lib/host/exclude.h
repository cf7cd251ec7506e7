/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks that are left out, by number or by name. */
#ifndef NUMAPLACE_LIB_EXCLUDE_H
#define NUMAPLACE_LIB_EXCLUDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Each word a process id, or a pattern of a name as the shell has them: "redis*". */
struct np_exclude {
	const char *const *word;
	size_t n;
};

/* The name holds the text, or, where the text has *, ? or [, is like that pattern. */
bool np_name_matches(const char *text, const char *comm);

bool np_excluded(const struct np_exclude *x, pid_t pid, const char *comm);

#endif
