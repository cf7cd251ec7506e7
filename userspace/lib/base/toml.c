// SPDX-License-Identifier: GPL-2.0-only
/* The reader. Strings and numbers are jansson's; tables, and the lines of all keys, are noted here. */
#include "toml.h"

#include <ctype.h>
#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays and tables within each other: jansson frees them recursively. */
#define DEPTH 64

enum how {
	IMPLIED,  /* [a.b] made a; it may have a header of its own once */
	HEADED,	  /* [a] */
	LISTED,	  /* an array of [[a]] */
	ASSIGNED, /* a value; also its key, by the address of the name in the table */
};

struct mark {
	const void *of;
	enum how how;
	unsigned int line;
};

struct reader {
	const char *path, *at;
	unsigned int line, depth;
	void *marks;
	struct np_err *err;
};

/* Writes "PATH:LINE: .." and returns NULL. */
__attribute__((format(printf, 2, 3))) static void *fail(struct reader *r, const char *format, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	np_fail(r->err, 0, "%s:%u: %s", r->path, r->line, what);
	return NULL;
}

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

static bool set_mark(struct reader *r, const void *of, enum how how, unsigned int line)
{
	struct mark *mark = mark_of(&r->marks, of);

	if (!mark) {
		mark = malloc(sizeof(*mark));
		if (!mark)
			return fail(r, "out of memory");
		mark->of = of;
		if (!tsearch(mark, &r->marks, compare)) {
			free(mark);
			return fail(r, "out of memory");
		}
	}
	mark->how = how;
	mark->line = line;
	return true;
}

/* A value that is thrown away after an error leaves its mark, which nothing reads any more. */
static bool is_made(struct reader *r, const json_t *value, enum how how)
{
	const struct mark *mark = mark_of(&r->marks, value);

	return mark && mark->how == how;
}

static bool take(struct reader *r, char c)
{
	r->at += strspn(r->at, " \t\r");
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* Blanks, comments and lines' ends. */
static void skip_lines(struct reader *r)
{
	for (;;) {
		if (take(r, '#'))
			r->at += strcspn(r->at, "\n");
		if (*r->at != '\n')
			return;
		r->at++;
		r->line++;
	}
}

/* A string in one line; 'one' without escapes, "one" with those of JSON. */
static json_t *read_string(struct reader *r)
{
	const char *first = r->at++;
	json_t *string;

	if (first[1] == *first && first[2] == *first)
		return fail(r, "a string has one line, and one quote on each side");
	while (*r->at && *r->at != '\n' && *r->at != *first)
		r->at += *first == '"' && *r->at == '\\' && r->at[1] ? 2 : 1;
	if (*r->at++ != *first)
		return fail(r, "a string does not end");
	string = *first == '"' ? json_loadb(first, (size_t)(r->at - first), JSON_DECODE_ANY, NULL) :
				 json_stringn(first + 1, (size_t)(r->at - first) - 2);
	return string ? string :
			fail(r, "%.*s is not UTF-8, or has an escape that JSON does not have",
			     (int)(r->at - first), first);
}

static json_t *read_key(struct reader *r)
{
	const char *first = (r->at += strspn(r->at, " \t"));

	if (*first == '"' || *first == '\'')
		return read_string(r);
	while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '-')
		r->at++;
	if (r->at == first)
		return fail(r,
			    "a key of letters, digits, '_' and '-', or one in quotes, is missing");
	return json_stringn(first, (size_t)(r->at - first));
}

/* A number or a boolean. */
static json_t *read_word(struct reader *r)
{
	size_t n = strcspn(r->at, " \t\r\n,]}#");
	json_t *value = json_loadb(r->at, n, JSON_DECODE_ANY, NULL);

	if (!n)
		return fail(r, "a value is missing");
	if (!json_is_number(value) && !json_is_boolean(value)) {
		json_decref(value);
		return fail(r,
			    "'%.*s' is not true, false or a number of 64 bits such as 12 or -1.5e3; "
			    "text is written in quotes",
			    (int)n, r->at);
	}
	r->at += n;
	return value;
}

static json_t *add_table(struct reader *r, json_t *parent, const char *key, enum how how)
{
	json_t *table = json_object();

	if (!table || json_object_set_new(parent, key, table))
		return fail(r, "out of memory");
	return set_mark(r, table, how, r->line) ? table : NULL;
}

/* The table of that key on the way of a header. */
static json_t *enter_table(struct reader *r, json_t *table, const char *key)
{
	json_t *next = json_object_get(table, key);

	if (!next)
		return add_table(r, table, key, IMPLIED);
	if (is_made(r, next, LISTED))
		next = json_array_get(next, json_array_size(next) - 1);
	if (!json_is_object(next) || is_made(r, next, ASSIGNED))
		return fail(r, "'%s' has a value and cannot be a table", key);
	return next;
}

static json_t *open_table(struct reader *r, json_t *parent, const char *key)
{
	json_t *table = json_object_get(parent, key);

	if (!table)
		return add_table(r, parent, key, HEADED);
	if (!is_made(r, table, IMPLIED))
		return fail(r, "'%s' is defined twice", key);
	return set_mark(r, table, HEADED, r->line) ? table : NULL;
}

static json_t *open_element(struct reader *r, json_t *parent, const char *key)
{
	json_t *array = json_object_get(parent, key), *table = json_object();

	if (!array) {
		array = json_array();
		if (json_object_set_new(parent, key, array) || !set_mark(r, array, LISTED, r->line))
			array = NULL;
	}
	if (array && !is_made(r, array, LISTED)) {
		json_decref(table);
		return fail(r, "'%s' is defined twice, and not as [[%s]] before", key, key);
	}
	if (json_array_append_new(array, table) || !set_mark(r, table, HEADED, r->line))
		return fail(r, "out of memory");
	return table;
}

/* [a.b] or [[a.b]]: the table that the following lines belong to. */
static json_t *read_header(struct reader *r, json_t *table)
{
	bool element = *++r->at == '[';
	size_t depth = 0;
	json_t *key;

	r->at += element;
	while (table && (key = read_key(r))) {
		const char *name = json_string_value(key);
		bool more = take(r, '.');

		if (more && ++depth == DEPTH)
			table = fail(r, "more than %d tables within each other", DEPTH);
		else if (more)
			table = enter_table(r, table, name);
		else if (!take(r, ']') || (element && *r->at++ != ']'))
			table = fail(r, "a table's name ends with '%s'", element ? "]]" : "]");
		else
			table = (element ? open_element : open_table)(r, table, name);
		json_decref(key);
		if (!more)
			return table;
	}
	return NULL;
}

static json_t *read_value(struct reader *r);

/* KEY = VALUE into the table. False with the error written. */
static bool assign(struct reader *r, json_t *table)
{
	unsigned int line = r->line;
	json_t *key = read_key(r), *value = NULL;
	const char *name = json_string_value(key);

	if (key && json_object_get(table, name))
		fail(r, "'%s' is defined twice", name);
	else if (key && !take(r, '='))
		fail(r, "'%s' has no '=' after it", name);
	else if (key)
		value = read_value(r);
	if (value && !json_object_set_new(table, name, value)) {
		/* A number may be one value in many places; the name of a key is in one. */
		void *place = json_object_iter_at(table, name);

		if (!set_mark(r, json_object_iter_key(place), ASSIGNED, line))
			value = NULL;
	}
	json_decref(key);
	return value;
}

static json_t *read_array(struct reader *r)
{
	json_t *array = json_array(), *value;

	for (;;) {
		skip_lines(r);
		if (take(r, ']'))
			return array;
		value = read_value(r);
		if (!value || json_array_append_new(array, value))
			break;
		skip_lines(r);
		if (!take(r, ',') && *r->at != ']') {
			fail(r, "a ',' or ']' is missing in an array");
			break;
		}
	}
	json_decref(array);
	return NULL;
}

static json_t *read_inline_table(struct reader *r)
{
	json_t *table = json_object();

	if (take(r, '}'))
		return table;
	while (assign(r, table)) {
		if (take(r, '}'))
			return table;
		if (!take(r, ',')) {
			fail(r,
			     "a ',' or '}' is missing in an inline table, which is written in one line");
			break;
		}
	}
	json_decref(table);
	return NULL;
}

static json_t *read_value(struct reader *r)
{
	json_t *value;

	r->at += strspn(r->at, " \t");
	if (*r->at == '"' || *r->at == '\'')
		return read_string(r);
	if (*r->at != '[' && *r->at != '{')
		return read_word(r);
	if (r->depth == DEPTH)
		return fail(r, "more than %d arrays and tables within each other", DEPTH);
	r->depth++;
	value = *r->at++ == '[' ? read_array(r) : read_inline_table(r);
	r->depth--;
	if (value && !set_mark(r, value, ASSIGNED, r->line)) {
		json_decref(value);
		return NULL;
	}
	return value;
}

static bool read_document(struct reader *r, json_t *root)
{
	json_t *table = root;

	for (skip_lines(r); *r->at; skip_lines(r)) {
		unsigned int line;

		if (*r->at == '[')
			table = read_header(r, root);
		else if (!assign(r, table))
			table = NULL;
		if (!table)
			return false;
		line = r->line;
		skip_lines(r);
		if (*r->at && r->line == line)
			return fail(r, "there is more after the end: a line has one key or one "
				       "table's name");
	}
	return true;
}

/* The text of the file, for the caller to free; NULL and errno. */
static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t n;
	int e;

	if (!f)
		return NULL;
	errno = 0;
	n = getdelim(&text, &room, '\0', f);
	e = n > 0 && !text[n - 1] ? EILSEQ : errno; /* it holds a NUL, or cannot be read */
	fclose(f);
	if (n > 0 && !e)
		return text;
	free(text);
	errno = e;
	return e ? NULL : strdup("");
}

unsigned int np_toml_line(void *lines, json_t *table, const char *key)
{
	void *place = key ? json_object_iter_at(table, key) : NULL;
	const struct mark *mark = place ? mark_of(&lines, json_object_iter_key(place)) : NULL;

	if (!mark && place)
		mark = mark_of(&lines, json_object_iter_value(place));
	if (!mark)
		mark = mark_of(&lines, table);
	return mark ? mark->line : 1;
}

void np_toml_release(struct np_toml_file *file)
{
	json_decref(file->root);
	tdestroy(file->lines, free);
}

int np_toml_open(struct np_toml_file *file)
{
	struct reader r = { .path = file->path, .line = 1, .err = file->err };
	char *text = read_text(file->path);
	bool ok;

	file->root = NULL;
	file->lines = NULL;
	if (!text)
		return np_fail(file->err, -errno, "%s cannot be read: %s", file->path,
			       strerror(errno));
	r.at = text;
	file->root = json_object();
	ok = read_document(&r, file->root);
	file->lines = r.marks;
	free(text);
	return ok ? 0 : -EINVAL;
}
