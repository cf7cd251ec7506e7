/* SPDX-License-Identifier: GPL-2.0-only */
/* TOML files, read by toml++, as the JSON values that the rest of the library works with. */
#ifndef NUMAPLACE_LIB_TOML_H
#define NUMAPLACE_LIB_TOML_H

#include <jansson.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The file's table as a JSON object, which the caller releases; NULL with one
 * line in err that says where the file is wrong ("F:12: ..."), and errno.
 */
json_t *np_toml_read(const char *path, char *err, size_t err_len);

#ifdef __cplusplus
}
#endif

#endif
