// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables and arrays of a TOML file. What may be added to a table depends on how it was made, which is
 * noted beside it.
 */
#include "toml.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toml_parse.h"

enum how {
	IMPLIED,  /* [a.b] made a; it may have a header of its own once */
	HEADED,	  /* [a] */
	DOTTED,	  /* a.b = 1 made a */
	LISTED,	  /* an array of [[a]] */
	CLOSED,	  /* a value: an inline table or an array */
	ASSIGNED, /* not a value but a key, by the address of its name in the table */
};

struct mark {
	const void *of;
	enum how how;
	unsigned int line;
};

static int compare(const void *a, const void *b)
{
	const char *x = ((const struct mark *)a)->of, *y = ((const struct mark *)b)->of;

	return (x > y) - (x < y);
}

static struct mark *mark_of(void **marks, const void *of)
{
	struct mark key = { .of = of }, **found = tfind(&key, marks, compare);

	return found ? *found : NULL;
}

static bool made_at(struct np_toml *t, const void *of, enum how how, unsigned int line)
{
	struct mark *mark = mark_of(&t->marks, of);

	if (!mark) {
		mark = malloc(sizeof(*mark));
		if (!mark)
			return np_toml_fail(t, "out of memory");
		mark->of = of;
		if (!tsearch(mark, &t->marks, compare)) {
			free(mark);
			return np_toml_fail(t, "out of memory");
		}
	}
	mark->how = how;
	mark->line = line;
	return true;
}

static bool made(struct np_toml *t, const json_t *value, enum how how)
{
	return made_at(t, value, how, t->line);
}

/* A value that is thrown away after an error leaves its mark, which nothing reads any more. */
static bool is_made(struct np_toml *t, const json_t *value, enum how how)
{
	const struct mark *mark = mark_of(&t->marks, value);

	return mark && mark->how == how;
}

static json_t *add_table(struct np_toml *t, json_t *parent, const char *key, enum how how)
{
	json_t *table = json_object();

	if (!table || json_object_set_new(parent, key, table))
		return np_toml_fail(t, "out of memory");
	return made(t, table, how) ? table : NULL;
}

/* The parts of a key, a.b.c, as an array of strings. The tables that they make are freed recursively. */
static json_t *read_path(struct np_toml *t)
{
	json_t *path = json_array(), *key;

	do {
		np_toml_skip_blanks(t);
		if (t->depth + json_array_size(path) == NP_TOML_DEPTH)
			key = np_toml_fail(t, "more than %d tables within each other",
					   NP_TOML_DEPTH);
		else
			key = np_toml_key(t);
		if (!key || json_array_append_new(path, key)) {
			json_decref(path);
			return NULL;
		}
		np_toml_skip_blanks(t);
	} while (np_toml_take(t, '.'));
	return path;
}

static const char *part(const json_t *path, size_t i)
{
	return json_string_value(json_array_get(path, i));
}

/* The table before the last part of a header's path. */
static json_t *find_parent(struct np_toml *t, json_t *table, const json_t *path)
{
	for (size_t i = 0; table && i + 1 < json_array_size(path); i++) {
		json_t *next = json_object_get(table, part(path, i));

		if (next && is_made(t, next, LISTED))
			next = json_array_get(next, json_array_size(next) - 1);
		if (next && (!json_is_object(next) || is_made(t, next, CLOSED)))
			return np_toml_fail(t, "'%s' has a value and cannot be a table",
					    part(path, i));
		table = next ? next : add_table(t, table, part(path, i), IMPLIED);
	}
	return table;
}

static json_t *open_table(struct np_toml *t, json_t *parent, const char *key)
{
	json_t *table = json_object_get(parent, key);

	if (!table)
		return add_table(t, parent, key, HEADED);
	if (!is_made(t, table, IMPLIED))
		return np_toml_fail(t, "'%s' is defined twice", key);
	return made(t, table, HEADED) ? table : NULL;
}

static json_t *open_element(struct np_toml *t, json_t *parent, const char *key)
{
	json_t *array = json_object_get(parent, key), *table = json_object();

	if (!array) {
		array = json_array();
		if (json_object_set_new(parent, key, array) || !made(t, array, LISTED)) {
			json_decref(table);
			return np_toml_fail(t, "out of memory");
		}
	}
	if (!is_made(t, array, LISTED)) {
		json_decref(table);
		return np_toml_fail(t, "'%s' is defined twice, and not as [[%s]] before", key, key);
	}
	if (json_array_append_new(array, table) || !made(t, table, HEADED))
		return np_toml_fail(t, "out of memory");
	return table;
}

/* [a.b] or [[a.b]]: the table that the following lines belong to. */
static json_t *read_header(struct np_toml *t, json_t *root)
{
	bool element = t->at[1] == '[';
	json_t *path, *table = NULL;

	t->at += element ? 2 : 1;
	path = read_path(t);
	if (!path)
		return NULL;
	if (!np_toml_take(t, ']') || (element && !np_toml_take(t, ']')))
		np_toml_fail(t, "a table's name ends with '%s'", element ? "]]" : "]");
	else
		table = find_parent(t, root, path);
	if (table)
		table = (element ? open_element :
				   open_table)(t, table, part(path, json_array_size(path) - 1));
	json_decref(path);
	return table;
}

/* The table before the last part of a dotted key; one that a header made is not added to by dots. */
static json_t *find_dotted(struct np_toml *t, json_t *table, const json_t *path)
{
	for (size_t i = 0; table && i + 1 < json_array_size(path); i++) {
		json_t *next = json_object_get(table, part(path, i));

		if (!next)
			next = add_table(t, table, part(path, i), DOTTED);
		else if (!json_is_object(next) || is_made(t, next, CLOSED) ||
			 is_made(t, next, HEADED))
			next = np_toml_fail(t, "'%s' is defined twice", part(path, i));
		else if (!made(t, next, DOTTED))
			next = NULL;
		table = next;
	}
	return table;
}

/* Numbers and booleans may be one value in many places; the name of a key is in one. */
static const char *name_in(json_t *table, const char *key)
{
	return json_object_iter_key(json_object_iter_at(table, key));
}

static json_t *read_value(struct np_toml *t);

/* KEY = VALUE into the table; dotted keys make tables. False with the error written. */
static bool assign(struct np_toml *t, json_t *table)
{
	unsigned int line = t->line;
	json_t *path = read_path(t), *value;
	const char *key;
	bool ok = false;

	if (!path)
		return false;
	key = part(path, json_array_size(path) - 1);
	table = find_dotted(t, table, path);
	if (table && json_object_get(table, key))
		np_toml_fail(t, "'%s' is defined twice", key);
	else if (table && !np_toml_take(t, '='))
		np_toml_fail(t, "'%s' has no '=' after it", key);
	else if (table) {
		np_toml_skip_blanks(t);
		t->depth += json_array_size(path) - 1;
		value = read_value(t);
		t->depth -= json_array_size(path) - 1;
		ok = value && !json_object_set_new(table, key, value) &&
		     made_at(t, name_in(table, key), ASSIGNED, line);
	}
	json_decref(path);
	return ok;
}

static json_t *read_array(struct np_toml *t)
{
	json_t *array = json_array(), *value;

	for (;;) {
		if (!array || !np_toml_skip_lines(t))
			break;
		if (np_toml_take(t, ']'))
			return array;
		value = read_value(t);
		if (!value || json_array_append_new(array, value) || !np_toml_skip_lines(t))
			break;
		if (!np_toml_take(t, ',') && *t->at != ']') {
			np_toml_fail(t, "a ',' or ']' is missing in an array");
			break;
		}
	}
	json_decref(array);
	return NULL;
}

static json_t *read_inline_table(struct np_toml *t)
{
	json_t *table = json_object();

	np_toml_skip_blanks(t);
	if (np_toml_take(t, '}'))
		return table;
	while (table && assign(t, table)) {
		np_toml_skip_blanks(t);
		if (np_toml_take(t, '}'))
			return table;
		if (!np_toml_take(t, ',')) {
			np_toml_fail(
				t,
				"a ',' or '}' is missing in an inline table, which is written in one line");
			break;
		}
		np_toml_skip_blanks(t);
	}
	json_decref(table);
	return NULL;
}

static json_t *read_value(struct np_toml *t)
{
	json_t *value;

	if (*t->at == '"' || *t->at == '\'')
		return np_toml_string(t);
	if (*t->at != '[' && *t->at != '{')
		return np_toml_number(t);
	if (t->depth >= NP_TOML_DEPTH)
		return np_toml_fail(t, "more than %d arrays and tables within each other",
				    NP_TOML_DEPTH);
	t->depth++;
	value = *t->at++ == '[' ? read_array(t) : read_inline_table(t);
	t->depth--;
	if (value && !made(t, value, CLOSED)) {
		json_decref(value);
		return NULL;
	}
	return value;
}

static bool read_document(struct np_toml *t, json_t *root)
{
	json_t *table = root;

	if (!strncmp(t->at, "\xef\xbb\xbf", 3))
		t->at += 3;
	while (np_toml_skip_lines(t)) {
		if (t->at == t->end)
			return true;
		if (*t->at == '[')
			table = read_header(t, root);
		else if (!assign(t, table))
			table = NULL;
		if (!table || !np_toml_end_of_line(t))
			return false;
	}
	return false;
}

/* TOML is UTF-8; jansson checks the encoding. */
static bool is_utf8(struct np_toml *t)
{
	const char *line = t->at;

	for (t->line = 1; line < t->end; t->line++) {
		const char *next = memchr(line, '\n', (size_t)(t->end - line));
		json_t *text = json_stringn(line, (size_t)((next ? next : t->end) - line));

		json_decref(text);
		if (!text)
			return np_toml_fail(t, "is not UTF-8");
		line = next ? next + 1 : t->end;
	}
	t->line = 1;
	return true;
}

/* The text of the file with a '\0' after it, or NULL and errno. */
static char *read_text(const char *path, size_t *len)
{
	FILE *in = fopen(path, "re"), *out;
	char *text = NULL, part[4096];
	size_t n;
	int e = 0;

	if (!in)
		return NULL;
	out = open_memstream(&text, len);
	while (out && (n = fread(part, 1, sizeof(part), in)))
		fwrite(part, 1, n, out);
	if (ferror(in))
		e = errno;
	if (!out || fclose(out))
		e = ENOMEM;
	fclose(in);
	if (!e)
		return text;
	free(text);
	errno = e;
	return NULL;
}

unsigned int np_toml_line(void *lines, json_t *table, const char *key)
{
	json_t *value = key ? json_object_get(table, key) : NULL;
	const struct mark *mark = value ? mark_of(&lines, name_in(table, key)) : NULL;

	if (!mark && value)
		mark = mark_of(&lines, value);
	if (!mark)
		mark = mark_of(&lines, table);
	return mark ? mark->line : 1;
}

void np_toml_lines_free(void *lines)
{
	tdestroy(lines, free);
}

json_t *np_toml_read_lines(const char *path, void **lines, struct np_err *err)
{
	struct np_toml t = { .path = path, .err = err };
	json_t *root = NULL;
	size_t len;
	char *text = read_text(path, &len);

	*lines = NULL;
	if (!text) {
		int e = errno;

		np_fail(err, 0, "%s cannot be read: %s", path, strerror(e));
		errno = e;
		return NULL;
	}
	t.at = text;
	t.end = text + len;
	err->text[0] = '\0';
	root = is_utf8(&t) ? json_object() : NULL;
	if (root && !read_document(&t, root)) {
		json_decref(root);
		root = NULL;
	}
	*lines = t.marks;
	free(text);
	if (!root && !*err->text)
		np_fail(err, 0, "%s: out of memory", path);
	if (!root)
		errno = EINVAL;
	return root;
}

json_t *np_toml_read(const char *path, struct np_err *err)
{
	void *lines;
	json_t *root = np_toml_read_lines(path, &lines, err);
	int e = errno;

	np_toml_lines_free(lines);
	errno = e;
	return root;
}
