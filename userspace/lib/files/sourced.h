/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of a machine file with their origin:
 * { value = NUMBER, source = "ORIGIN: ..." }.
 */
#ifndef NUMAPLACE_LIB_SOURCED_H
#define NUMAPLACE_LIB_SOURCED_H

#include "../base/toml.h"

/*
 * The number of the key, which is there, from min to max. 0, or -EINVAL with the fault in the
 * file's err.
 */
int np_sourced_read(const struct np_toml_table *t, const char *key, double min, double max,
		    double *value);

/* The origin in the source of such a number, "paper" or another. Returns word. */
const char *np_sourced_origin(const json_t *entry, char *word, size_t len);

#endif
