// SPDX-License-Identifier: GPL-2.0-only
/* The strings of a TOML file, and its keys. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toml_parse.h"

/* A character of Unicode, in UTF-8. */
static void put_character(FILE *f, unsigned int c)
{
	if (c < 0x80) {
		putc((int)c, f);
		return;
	}
	if (c < 0x800) {
		putc((int)(0xc0 | c >> 6), f);
	} else {
		if (c < 0x10000) {
			putc((int)(0xe0 | c >> 12), f);
		} else {
			putc((int)(0xf0 | c >> 18), f);
			putc((int)(0x80 | (c >> 12 & 0x3f)), f);
		}
		putc((int)(0x80 | (c >> 6 & 0x3f)), f);
	}
	putc((int)(0x80 | (c & 0x3f)), f);
}

/* \uXXXX and \UXXXXXXXX */
static bool read_code(struct np_toml *t, size_t digits, FILE *f)
{
	char hex[9] = "";
	unsigned long c;

	for (size_t i = 0; i < digits; i++) {
		if (!isxdigit((unsigned char)t->at[i]))
			return np_toml_fail(t, "\\%c needs %zu hexadecimal digits", t->at[-1],
					    digits);
		hex[i] = t->at[i];
	}
	c = strtoul(hex, NULL, 16);
	if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return np_toml_fail(t, "\\%c%s is no character that a string may hold", t->at[-1],
				    hex);
	put_character(f, (unsigned int)c);
	t->at += digits;
	return true;
}

/* A backslash at a line's end takes the blanks and lines' ends that follow with it. */
static bool skip_folded(struct np_toml *t)
{
	np_toml_skip_blanks(t);
	if (*t->at != '\n' && strncmp(t->at, "\r\n", 2))
		return np_toml_fail(t,
				    "a backslash before blanks is the last character of its line");
	for (; *t->at && strchr(" \t\r\n", *t->at); t->at++)
		t->line += *t->at == '\n';
	return true;
}

static bool read_escape(struct np_toml *t, bool lines, FILE *f)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	const char *found = *t->at ? strchr(from, *t->at) : NULL;

	if (found) {
		t->at++;
		putc(to[found - from], f);
		return true;
	}
	if (*t->at == 'u' || *t->at == 'U')
		return t->at++, read_code(t, t->at[-1] == 'u' ? 4 : 8, f);
	if (lines && *t->at && strchr(" \t\r\n", *t->at))
		return skip_folded(t);
	return np_toml_fail(
		t, "a backslash may be followed by one of b t n f r u U \" and \\, not by this");
}

/* One character, as it stands there. */
static bool read_plain(struct np_toml *t, bool lines, FILE *f)
{
	unsigned char c = (unsigned char)*t->at;

	if (c == '\r' && t->at[1] == '\n' && lines)
		c = (unsigned char)*++t->at;
	if (c == '\n' && lines)
		t->line++;
	else if (t->at == t->end || c == '\n')
		return np_toml_fail(t, "a string does not end");
	else if ((c < ' ' && c != '\t') || c == 0x7f)
		return np_toml_fail(t, "a string holds the control character 0x%02x", c);
	putc(c, f);
	t->at++;
	return true;
}

/* The closing quotes: of """ up to two more belong to the string. */
static bool closes(struct np_toml *t, char quote, bool lines, FILE *f)
{
	size_t n = 0;

	if (*t->at != quote)
		return false;
	if (!lines)
		return t->at++, true;
	while (n < 5 && t->at[n] == quote)
		n++;
	t->at += n;
	for (size_t i = n >= 3 ? 3 : 0; i < n; i++)
		putc(quote, f);
	return n >= 3;
}

static bool read_characters(struct np_toml *t, char quote, bool lines, FILE *f)
{
	bool ok = true;

	while (ok && !closes(t, quote, lines, f)) {
		if (*t->at == quote)
			continue;
		if (quote == '"' && *t->at == '\\')
			t->at++, ok = read_escape(t, lines, f);
		else
			ok = read_plain(t, lines, f);
	}
	return ok;
}

static json_t *read_string(struct np_toml *t, bool may_have_lines)
{
	char quote = *t->at, *text = NULL;
	bool lines = may_have_lines && t->at[1] == quote && t->at[2] == quote, ok;
	json_t *string = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return np_toml_fail(t, "out of memory");
	t->at += lines ? 3 : 1;
	/* A line's end right after the opening quotes is not part of the string. */
	if (lines && (*t->at == '\n' || !strncmp(t->at, "\r\n", 2))) {
		t->at += *t->at == '\r' ? 2 : 1;
		t->line++;
	}
	ok = read_characters(t, quote, lines, f);
	if (fclose(f))
		np_toml_fail(t, "out of memory");
	else if (ok)
		string = json_stringn(text, len);
	free(text);
	return string;
}

json_t *np_toml_string(struct np_toml *t)
{
	return read_string(t, true);
}

json_t *np_toml_key(struct np_toml *t)
{
	const char *first = t->at;

	if (*t->at == '"' || *t->at == '\'')
		return read_string(t, false);
	while (isalnum((unsigned char)*t->at) || *t->at == '_' || *t->at == '-')
		t->at++;
	if (t->at == first)
		return np_toml_fail(
			t, "a key of letters, digits, '_' and '-', or one in quotes, is missing");
	return json_stringn(first, (size_t)(t->at - first));
}
