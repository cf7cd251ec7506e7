/* SPDX-License-Identifier: GPL-2.0-only */
/* One-line explanations that are returned with an error number. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_ERROR_H
#define NUMAPLACE_LIB_ERROR_H

#include <stddef.h>

#define NP_ERR_LEN 256

/* Writes the explanation into err (cut to err_len) and returns code. */
int np_fail(char *err, size_t err_len, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
