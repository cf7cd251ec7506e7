/* SPDX-License-Identifier: GPL-2.0-only */
/* The bpftrace scripts of userspace/tracing: where they are and what each is for. */
#ifndef NUMAPLACE_SCRIPTS_H
#define NUMAPLACE_SCRIPTS_H

#include <limits.h>
#include <stddef.h>

struct np_script {
	char name[64]; /* "migrations" */
	char path[PATH_MAX];
	char summary[128]; /* from the script's first comment */
};

struct np_scripts {
	struct np_script *script; /* by name */
	size_t n;
};

/*
 * Those beside this program: of the source tree that it was built in, or
 * installed with it. 0 or -errno; np_scripts_free() is right after either.
 */
int np_scripts_find(struct np_scripts *scripts);
void np_scripts_free(struct np_scripts *scripts);

/* NULL if there is none of that name. */
const struct np_script *np_scripts_get(const struct np_scripts *scripts, const char *name);

#endif
