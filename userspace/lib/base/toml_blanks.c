// SPDX-License-Identifier: GPL-2.0-only
/* What stands between the values of a TOML file: blanks, comments, lines' ends; and its errors. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "toml_parse.h"

void *np_toml_fail(struct np_toml *t, const char *format, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	np_fail(t->err, 0, "%s:%u: %s", t->path, t->line, what);
	return NULL;
}

bool np_toml_skip_blanks(struct np_toml *t)
{
	t->at += strspn(t->at, " \t");
	return true;
}

bool np_toml_take(struct np_toml *t, char c)
{
	if (*t->at != c || t->at == t->end)
		return false;
	t->at++;
	return true;
}

static bool skip_comment(struct np_toml *t)
{
	if (*t->at != '#')
		return true;
	while (*t->at != '\n' && strncmp(t->at, "\r\n", 2) && t->at < t->end) {
		unsigned char c = (unsigned char)*t->at++;

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return np_toml_fail(t, "a comment holds the control character 0x%02x", c);
	}
	return true;
}

static bool take_newline(struct np_toml *t)
{
	if (*t->at == '\r' && t->at[1] == '\n')
		t->at++;
	if (!np_toml_take(t, '\n'))
		return false;
	t->line++;
	return true;
}

bool np_toml_end_of_line(struct np_toml *t)
{
	np_toml_skip_blanks(t);
	if (!skip_comment(t))
		return false;
	if (t->at == t->end || take_newline(t))
		return true;
	return np_toml_fail(t,
			    "there is more after the end: a line has one key or one table's name");
}

bool np_toml_skip_lines(struct np_toml *t)
{
	do {
		np_toml_skip_blanks(t);
		if (!skip_comment(t))
			return false;
	} while (take_newline(t));
	return true;
}
