/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's files: whether they are there, reading and writing them. */
#ifndef NUMAPLACE_LIB_MODULE_FILES_H
#define NUMAPLACE_LIB_MODULE_FILES_H

#include <sys/types.h>

#include "../../../kmod/uapi/numaplace.h"
#include "../base/error.h"

struct np_module_info {
	char version[32];
	unsigned int abi;
};

/*
 * 0 with *info filled when the module is loaded, of this ABI and accessible.
 * Else -errno and one line in err that says which of these is not so, and what
 * to do: -EOPNOTSUPP (not loaded, no debugfs, lockdown), -EPERM, -EPROTO (ABI).
 */
int np_module_probe(struct np_module_info *info, struct np_err *err);

/* Parses "numaplace=0.1.0 abi=2". 0 or -EINVAL. */
int np_module_version_parse(const char *text, struct np_module_info *info);

/* The whole of one file, which the caller frees; NULL with errno set. */
char *np_module_read(const char *file);

/* Writes one line. 0 or -errno. */
int np_module_write(const char *file, const char *line);

/* Opens one file for reading and writing. A descriptor or -errno. */
int np_module_open(const char *file);

/* Writes why the module refused the action `what` on pid. Returns e. */
int np_module_refused(pid_t pid, const char *what, int e, struct np_err *err);

/* Another folder than NUMAPLACE_DIR, for tests; NULL sets it back. */
void np_module_use_dir(const char *dir);

#endif
