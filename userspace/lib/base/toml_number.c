// SPDX-License-Identifier: GPL-2.0-only
/* The numbers and booleans of a TOML file. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "toml_parse.h"

#define NUMBER_MAX 64

/* Digits with single underscores between them; what follows them, or NULL. */
static const char *skip_digits(const char *c, int (*is_digit)(int))
{
	do {
		if (!is_digit((unsigned char)*c))
			return NULL;
		while (is_digit((unsigned char)*c))
			c++;
	} while (*c == '_' && c++);
	return c;
}

static int is_octal(int c)
{
	return c >= '0' && c <= '7';
}

static int is_binary(int c)
{
	return c == '0' || c == '1';
}

/* The base of 0x, 0o or 0b; 10 where there is none of them. */
static int base_of(const char *word, int (**is_digit)(int))
{
	static const struct {
		char letter;
		int base;
		int (*is_digit)(int);
	} bases[] = { { 'x', 16, isxdigit }, { 'o', 8, is_octal }, { 'b', 2, is_binary } };

	*is_digit = isdigit;
	for (size_t i = 0; word[0] == '0' && i < sizeof(bases) / sizeof(bases[0]); i++)
		if (word[1] == bases[i].letter) {
			*is_digit = bases[i].is_digit;
			return bases[i].base;
		}
	return 10;
}

/*
 * Whether the word is a decimal number as TOML writes it, and whether it has a point or an
 * exponent.
 */
static bool is_decimal(const char *word, bool *real)
{
	const char *c = word + (*word == '+' || *word == '-'), *first = c;

	c = skip_digits(c, isdigit);
	if (!c || (*first == '0' && c > first + 1))
		return false;
	*real = *c == '.' || *c == 'e' || *c == 'E';
	if (*c == '.' && !(c = skip_digits(c + 1, isdigit)))
		return false;
	if (*c == 'e' || *c == 'E') {
		c++;
		c = skip_digits(c + (*c == '+' || *c == '-'), isdigit);
	}
	return c && !*c;
}

static void drop_underscores(char *word)
{
	char *to = word;

	for (const char *c = word; *c; c++)
		if (*c != '_')
			*to++ = *c;
	*to = '\0';
}

static json_t *read_word(struct np_toml *t, char *word)
{
	int (*is_digit)(int), base = base_of(word, &is_digit);
	const char *end = base == 10 ? NULL : skip_digits(word + 2, is_digit);
	bool real = false;
	long long whole;
	double value;

	if (base == 10 ? !is_decimal(word, &real) : !end || *end)
		return np_toml_fail(
			t,
			"'%s' is not a number, true or false; text is written in quotes, and dates, "
			"inf and nan are not taken",
			word);
	drop_underscores(word);
	errno = 0;
	if (real) {
		value = strtod(word, NULL);
		return isfinite(value) ? json_real(value) :
					 np_toml_fail(t, "%s is too large", word);
	}
	whole = strtoll(base == 10 ? word : word + 2, NULL, base);
	return errno ? np_toml_fail(t, "%s does not fit 64 bits", word) : json_integer(whole);
}

json_t *np_toml_number(struct np_toml *t)
{
	size_t n = strcspn(t->at, " \t\r\n,]}#");
	char word[NUMBER_MAX];

	if (!n)
		return np_toml_fail(t, "a value is missing");
	if (n >= sizeof(word))
		return np_toml_fail(t, "'%.20s..' is not a number", t->at);
	memcpy(word, t->at, n);
	word[n] = '\0';
	t->at += n;
	if (!strcmp(word, "true") || !strcmp(word, "false"))
		return json_boolean(*word == 't');
	return read_word(t, word);
}
