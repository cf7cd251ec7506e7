// SPDX-License-Identifier: GPL-2.0-only
#include "unknown_option.h"

#include <stdbool.h>
#include <string.h>

static bool is_last(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc;
}

static bool known_long(const struct argp_option *o, const char *name)
{
	size_t len = strcspn(name, "=");

	for (; o && !is_last(o); o++)
		if (o->name && !strncmp(o->name, name, len))
			return true;
	return false;
}

static const struct argp_option *find_letter(const struct argp_option *o, char letter)
{
	for (; o && !is_last(o); o++)
		if (o->key == (unsigned char)letter)
			return o;
	return NULL;
}

/* The first letter of "bn5" that is no option; what follows one with an argument is that. */
static char unknown_letter(const struct argp_option *options, const char *letters)
{
	for (; *letters; letters++) {
		const struct argp_option *o = find_letter(options, *letters);

		if (!o)
			return *letters;
		if (o->arg)
			return 0;
	}
	return 0;
}

char **np_unknown_option(const struct argp *argp, char **argv)
{
	for (char **word = argv + 1; *word && strcmp(*word, "--"); word++) {
		const char *text = *word;
		char letter = 0;

		if (text[0] != '-' || !text[1])
			continue;
		if (text[1] != '-')
			letter = unknown_letter(argp->options, text + 1);
		if (letter || (text[1] == '-' && !known_long(argp->options, text + 2)))
			return word;
	}
	return NULL;
}
