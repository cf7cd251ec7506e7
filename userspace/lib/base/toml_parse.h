/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the TOML reader: the text, the position in it, and the first error. */
#ifndef NUMAPLACE_LIB_TOML_PARSE_H
#define NUMAPLACE_LIB_TOML_PARSE_H

#include <jansson.h>
#include <stdbool.h>

#include "error.h"

/* Arrays and inline tables within each other; deeper ones are refused before the stack is. */
#define NP_TOML_DEPTH 64

struct np_toml {
	const char *path;
	const char *at; /* the text ends with '\0', at `end` */
	const char *end;
	unsigned int line, depth;
	void *marks; /* how each table came to be, and lines: toml_tables.c */
	struct np_err *err;
};

/* Writes "PATH:LINE: .." and returns NULL. */
__attribute__((format(printf, 2, 3))) void *np_toml_fail(struct np_toml *t, const char *format,
							 ...);

bool np_toml_skip_blanks(struct np_toml *t); /* spaces, tabs; true always */
bool np_toml_end_of_line(
	struct np_toml *t); /* blanks, a comment, a line's end: false where there is more */
bool np_toml_skip_lines(
	struct np_toml *t); /* blanks, comments and lines' ends: false if a comment is wrong */
bool np_toml_take(struct np_toml *t, char c); /* the character, if it is next */

json_t *np_toml_key(struct np_toml *t);	   /* one part of a key, a string */
json_t *np_toml_string(struct np_toml *t); /* of any of the four kinds */
json_t *np_toml_number(struct np_toml *t); /* or a boolean */

#endif
