/* SPDX-License-Identifier: GPL-2.0-only */
/* The grammar of lines written to the files: key=value pairs with blanks between them. */
#ifndef _NUMAPLACE_PARSE_H
#define _NUMAPLACE_PARSE_H

#include <linux/types.h>

/**
 * struct numaplace_key - one key that a line may hold
 * @name: the word before the equals sign
 * @parse: turns the value into the field; value is NULL for a bare word
 * @offset: of the field in the request
 * @required: the line is refused without it
 */
struct numaplace_key {
	const char *name;
	int (*parse)(char *value, void *field);
	size_t offset;
	bool required;
};

int numaplace_parse_line(char *line, const struct numaplace_key *keys, void *request);

int numaplace_parse_flag(char *value, void *field);
int numaplace_parse_bool(char *value, void *field);
int numaplace_parse_pid(char *value, void *field);
int numaplace_parse_u32(char *value, void *field);
int numaplace_parse_u64(char *value, void *field);
int numaplace_parse_node(char *value, void *field);
int numaplace_parse_nodes(char *value, void *field);
int numaplace_parse_cpus(char *value, void *field);
int numaplace_parse_word(const char *value, const char *const *words, void *field);

#endif
