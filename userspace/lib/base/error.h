/* SPDX-License-Identifier: GPL-2.0-only */
/* One-line explanations that are returned with an error number. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_ERROR_H
#define NUMAPLACE_LIB_ERROR_H

#define NP_ERR_LEN 256

struct np_err {
	char text[NP_ERR_LEN];
};

/* Writes the explanation into err, cut to NP_ERR_LEN and printable, and returns code. */
int np_fail(struct np_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
