/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TOML files as the JSON values that the rest of the library works with: TOML 1.0 but for what JSON
 * or C cannot hold (dates and times, inf and nan, the character U+0000), which is refused by its
 * line. Debian has no TOML library for C.
 */
#ifndef NUMAPLACE_LIB_TOML_H
#define NUMAPLACE_LIB_TOML_H

#include <jansson.h>

#include "error.h"

/*
 * The file's table as a JSON object, which the caller releases; NULL with one
 * line in err that says where the file is wrong ("F:12: ..."), and errno.
 */
json_t *np_toml_read(const char *path, struct np_err *err);

/*
 * The same for a file whose contents are checked: *lines, which the caller frees, tells
 * where each key and each table stands, as long as the object is not changed.
 */
json_t *np_toml_read_lines(const char *path, void **lines, struct np_err *err);
void np_toml_lines_free(void *lines);

/* The line of the key; of the table when it has no such key, or when key is NULL. */
unsigned int np_toml_line(void *lines, json_t *table, const char *key);

#endif
