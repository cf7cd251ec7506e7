/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the part of TOML that machine files and task sets need, as JSON values, and checks the tables of a
 * file. A fault is one line: file, line, field, why. Debian has no TOML library for C.
 *
 * Taken: tables, arrays of tables, inline tables, arrays, strings of one line, and numbers and escapes as
 * JSON writes them. Refused by its line: dates, strings of several lines, dotted keys before '=', inf, nan,
 * and numbers with '_', '+', 0x, 0o or 0b.
 */
#ifndef NUMAPLACE_LIB_TOML_H
#define NUMAPLACE_LIB_TOML_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

struct np_toml_file {
	const char *path;
	json_t *root;
	void *lines; /* where each key and each table stands, as long as root is not changed */
	struct np_err *err;
};

struct np_toml_table {
	const struct np_toml_file *file;
	json_t *json;
	char name[96]; /* as in "node[1]"; "" of the whole file */
};

/* NP_TOML_TABLES is an array of tables, NP_TOML_ANY is checked by its reader. */
enum np_toml_kind {
	NP_TOML_ANY,
	NP_TOML_TEXT,
	NP_TOML_WHOLE,
	NP_TOML_NUMBER,
	NP_TOML_LIST,
	NP_TOML_TABLE,
	NP_TOML_TABLES
};

struct np_toml_key {
	const char *name;
	enum np_toml_kind kind;
	bool optional;
};

/* Reads the file at file->path. 0, or -errno with a line in err; np_toml_release() in either case. */
int np_toml_open(struct np_toml_file *file);
void np_toml_release(struct np_toml_file *file);

/* The line of the key; of the table when it has no such key, or when key is NULL. */
unsigned int np_toml_line(void *lines, json_t *table, const char *key);

/* The whole file, a table in a table, an element of an array of tables. */
struct np_toml_table np_toml_top(const struct np_toml_file *file);
struct np_toml_table np_toml_sub(const struct np_toml_table *t, const char *key);
struct np_toml_table np_toml_element(const struct np_toml_table *t, const char *key, size_t i);

/* "m.toml:12: node[1].cpus: ..."; of the table itself when key is NULL. Returns -EINVAL. */
int np_toml_wrong(const struct np_toml_table *t, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The value as the error about it shows it. */
struct np_toml_shown {
	char text[48];
};
struct np_toml_shown np_toml_show(const json_t *value);

/*
 * Whether the table has the keys that it must have, no others, and of these kinds. The last key has
 * no name.
 */
int np_toml_check(const struct np_toml_table *t, const struct np_toml_key *keys);

/* The same of each element of the array of tables, which may be left out. */
int np_toml_check_each(const struct np_toml_table *t, const char *key,
		       const struct np_toml_key *keys);

#endif
