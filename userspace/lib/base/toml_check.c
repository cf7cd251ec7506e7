// SPDX-License-Identifier: GPL-2.0-only
/* The tables of a TOML file are checked here. */
#include "toml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

struct np_toml_table np_toml_top(const struct np_toml_file *file)
{
	return (struct np_toml_table) { .file = file, .json = file->root };
}

/* "a" and "b" are "a.b"; of a name that is too long the beginning. */
static void join(char *to, size_t len, const char *a, const char *b)
{
	if (snprintf(to, len, "%s%s%s", a, *a && *b ? "." : "", b) < 0)
		*to = '\0';
}

struct np_toml_table np_toml_sub(const struct np_toml_table *t, const char *key)
{
	struct np_toml_table sub = { .file = t->file, .json = json_object_get(t->json, key) };

	join(sub.name, sizeof(sub.name), t->name, key);
	return sub;
}

struct np_toml_table np_toml_element(const struct np_toml_table *t, const char *key, size_t i)
{
	struct np_toml_table sub = np_toml_sub(t, key);
	size_t n = strlen(sub.name);

	snprintf(sub.name + n, sizeof(sub.name) - n, "[%zu]", i);
	sub.json = json_array_get(sub.json, i);
	return sub;
}

int np_toml_wrong(const struct np_toml_table *t, const char *key, const char *format, ...)
{
	char name[128], why[NP_ERR_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	join(name, sizeof(name), t->name, key ? key : "");
	return np_fail(t->file->err, -EINVAL, "%s:%u: %s%s%s", t->file->path,
		       np_toml_line(t->file->lines, t->json, key), name, *name ? ": " : "", why);
}

struct np_toml_shown np_toml_show(const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
	struct np_toml_shown shown;

	snprintf(shown.text, sizeof(shown.text), "%s", text ? text : "");
	free(text);
	return shown;
}

static bool are_tables(const json_t *value)
{
	json_t *element;
	size_t i;

	json_array_foreach(value, i, element)
		if (!json_is_object(element))
			return false;
	return json_is_array(value);
}

static int check_kind(const struct np_toml_table *t, const struct np_toml_key *key)
{
	const json_t *value = json_object_get(t->json, key->name);
	struct np_toml_table sub = np_toml_sub(t, key->name);
	const struct {
		bool fits;
		const char *what;
	} kinds[] = {
		[NP_TOML_ANY] = { true, "" },
		[NP_TOML_TEXT] = { json_is_string(value), "a text" },
		[NP_TOML_WHOLE] = { json_is_integer(value), "a whole number" },
		[NP_TOML_NUMBER] = { json_is_number(value), "a number" },
		[NP_TOML_LIST] = { json_is_array(value), "a list" },
		[NP_TOML_TABLE] = { json_is_object(value), "a table" },
	};

	if (key->kind == NP_TOML_TABLES)
		return are_tables(value) ?
			       0 :
			       np_toml_wrong(t, key->name,
					     "write each as a table of its own, [[%s]]", sub.name);
	if (kinds[key->kind].fits)
		return 0;
	return np_toml_wrong(t, key->name, "%s is not %s", np_toml_show(value).text,
			     kinds[key->kind].what);
}

static int unknown(const struct np_toml_table *t, const char *name, const struct np_toml_key *keys)
{
	char known[NP_ERR_LEN] = "";

	for (size_t n = 0; keys->name && n < sizeof(known); keys++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "",
				      keys->name);
	return np_toml_wrong(t, name, "unknown %s; known are %s",
			     json_is_object(json_object_get(t->json, name)) ? "table" : "field",
			     known);
}

int np_toml_check(const struct np_toml_table *t, const struct np_toml_key *keys)
{
	const struct np_toml_key *key;
	const char *name;
	json_t *value;
	int e = 0;

	json_object_foreach(t->json, name, value) {
		for (key = keys; key->name && strcmp(key->name, name);)
			key++;
		e = key->name ? check_kind(t, key) : unknown(t, name, keys);
		if (e)
			return e;
	}
	for (key = keys; key->name; key++)
		if (!key->optional && !json_object_get(t->json, key->name))
			return np_toml_wrong(t, NULL, "the field '%s' is missing", key->name);
	return 0;
}

int np_toml_check_each(const struct np_toml_table *t, const char *key,
		       const struct np_toml_key *keys)
{
	size_t n = json_array_size(json_object_get(t->json, key));
	int e = 0;

	for (size_t i = 0; !e && i < n; i++) {
		struct np_toml_table sub = np_toml_element(t, key, i);

		e = np_toml_check(&sub, keys);
	}
	return e;
}
