/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's records: key=value separated by blanks, one record a line. */
#ifndef NUMAPLACE_LIB_RECORD_H
#define NUMAPLACE_LIB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies the value of key in the line (which ends at \n or \0) into value.
 * False when the key is not there or its value does not fit.
 */
bool np_record_get(const char *line, const char *key, char *value, size_t len);

/* The same for an unsigned decimal number; false for anything else. */
bool np_record_number(const char *line, const char *key, uint64_t *value);

/* The line after this one, or NULL at the end. */
const char *np_record_next(const char *line);

#endif
