// SPDX-License-Identifier: GPL-2.0-only
/* Options of a policy: one table, from which parsing and printing come. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

size_t np_options_count(const struct np_policy *p)
{
	size_t n = 0;

	while (p->option && p->option[n].name)
		n++;
	return n;
}

void np_options_defaults(const struct np_policy *p, struct np_options *o)
{
	memset(o, 0, sizeof(*o));
	for (size_t i = 0; i < np_options_count(p); i++)
		o->value[i] = p->option[i].def;
}

const char *np_option_text(const struct np_option *option, double value, char *text,
			   size_t text_len)
{
	switch (option->type) {
	case NP_OPT_BOOL:
		snprintf(text, text_len, "%s", value != 0 ? "on" : "off");
		break;
	case NP_OPT_ENUM:
		snprintf(text, text_len, "%s", option->words[(size_t)value]);
		break;
	default:
		snprintf(text, text_len, "%g", value);
	}
	return text;
}

/* Appends to err, which stays terminated when it is full. */
static void append(char *err, size_t err_len, const char *format, ...)
{
	size_t used = strnlen(err, err_len);
	va_list args;

	if (used >= err_len)
		return;
	va_start(args, format);
	vsnprintf(err + used, err_len - used, format, args);
	va_end(args);
}

static int parse_number(const struct np_option *option, const char *text, double *value)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !isfinite(v) || v < option->min || v > option->max)
		return -EINVAL;
	if (option->type == NP_OPT_INT && v != floor(v))
		return -EINVAL;
	*value = v;
	return 0;
}

static int parse_bool(const char *text, double *value)
{
	static const char *const on[] = { "on", "yes", "true", "1", NULL };
	static const char *const off[] = { "off", "no", "false", "0", NULL };

	for (size_t i = 0; on[i]; i++)
		if (!strcmp(text, on[i]))
			return *value = 1, 0;
	for (size_t i = 0; off[i]; i++)
		if (!strcmp(text, off[i]))
			return *value = 0, 0;
	return -EINVAL;
}

static int parse_enum(const struct np_option *option, const char *text, double *value)
{
	for (size_t i = 0; option->words[i]; i++)
		if (!strcmp(text, option->words[i]))
			return *value = (double)i, 0;
	return -EINVAL;
}

static int parse_value(const struct np_option *option, const char *text, double *value)
{
	switch (option->type) {
	case NP_OPT_BOOL:
		return parse_bool(text, value);
	case NP_OPT_ENUM:
		return parse_enum(option, text, value);
	default:
		return parse_number(option, text, value);
	}
}

static void say_range(const struct np_policy *p, const struct np_option *option, const char *text,
		      char *err, size_t err_len)
{
	append(err, err_len, "option %s of policy %s cannot be \"%s\": use ", option->name, p->name,
	       text);
	switch (option->type) {
	case NP_OPT_BOOL:
		append(err, err_len, "on or off");
		break;
	case NP_OPT_ENUM:
		for (size_t i = 0; option->words[i]; i++)
			append(err, err_len, "%s%s", i ? ", " : "", option->words[i]);
		break;
	default:
		append(err, err_len, "%s from %g to %g%s%s",
		       option->type == NP_OPT_INT ? "a whole number" : "a number", option->min,
		       option->max, *option->unit ? " " : "", option->unit);
	}
}

static void say_names(const struct np_policy *p, const char *name, int name_len, char *err,
		      size_t err_len)
{
	append(err, err_len, "policy %s has no option \"%.*s\": ", p->name, name_len, name);
	if (!np_options_count(p)) {
		append(err, err_len, "it has none at all");
		return;
	}
	append(err, err_len, "use ");
	for (size_t i = 0; i < np_options_count(p); i++)
		append(err, err_len, "%s%s", i ? ", " : "", p->option[i].name);
}

int np_options_set(const struct np_policy *p, struct np_options *o, const char *assignment,
		   char *err, size_t err_len)
{
	const char *equals = strchr(assignment, '=');
	size_t name_len = equals ? (size_t)(equals - assignment) : strlen(assignment);

	if (err_len)
		err[0] = '\0';
	for (size_t i = 0; i < np_options_count(p); i++) {
		const struct np_option *option = &p->option[i];

		if (strlen(option->name) != name_len || strncmp(option->name, assignment, name_len))
			continue;
		if (equals && !parse_value(option, equals + 1, &o->value[i]))
			return 0;
		say_range(p, option, equals ? equals + 1 : "", err, err_len);
		return -EINVAL;
	}
	say_names(p, assignment, (int)name_len, err, err_len);
	return -EINVAL;
}
