// SPDX-License-Identifier: GPL-2.0-only
#include "arg_units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

static const char *time_text(unsigned int us, char *text, size_t len)
{
	if (us < 1000)
		snprintf(text, len, "%u%s", us, us ? "us" : "");
	else
		snprintf(text, len, us < 1000000 ? "%gms" : "%gs",
			 us < 1000000 ? us / 1e3 : us / 1e6);
	return text;
}

/* In microseconds; negative: it is none. Only 0 needs no unit. */
static double parse_time(const char *text)
{
	static const struct {
		const char *name;
		double us;
	} units[] = { { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 } };
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; isdigit((unsigned char)*text) && i < sizeof(units) / sizeof(units[0]);
	     i++)
		if (!strcmp(end, units[i].name) || (!*end && value == 0))
			return value * units[i].us;
	return -1;
}

int np_arg_microseconds(const char *text, const char *what, unsigned int min, unsigned int max,
			unsigned int *us)
{
	double value = parse_time(text);
	char least[16], most[16];

	if (value >= min && value <= max) {
		*us = (unsigned int)value;
		return 0;
	}
	if (*text && text[strspn(text, "0123456789.")] == '\0' && value < 0)
		return np_failed(ECANCELED, "%s \"%s\" has no unit; give one, as in 5s or 200ms",
				 what, text);
	return np_failed(ECANCELED,
			 "%s \"%s\" is not a time from %s to %s, such as 500us, 20ms or 2s", what,
			 text, time_text(min, least, sizeof(least)),
			 time_text(max, most, sizeof(most)));
}

int np_arg_milliseconds(const char *text, const char *what, unsigned int max, unsigned long *ms)
{
	unsigned int us = 0;
	int e = np_arg_microseconds(text, what, 0, max * 1000, &us);

	*ms = ((unsigned long)us + 999) / 1000;
	return e;
}

int np_arg_seconds(const char *text, const char *what, double *seconds)
{
	unsigned int us = 0;
	int e = np_arg_microseconds(text, what, 1000, 3600000000u, &us);

	*seconds = us / 1e6;
	return e;
}

/* A unit in MiB, 0 when it is none: "", "K", "KiB" and so on, after one blank at most. */
static double unit_mib(const char *unit, size_t len)
{
	static const struct {
		char letter;
		double mib;
	} units[] = { { 'K', 1. / 1024 }, { 'M', 1 }, { 'G', 1024 }, { 'T', 1024 * 1024 } };

	if (len && *unit == ' ')
		unit++, len--;
	if (!len)
		return 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (*unit == units[i].letter &&
		    (len == 1 || (len == 3 && !strncmp(unit + 1, "iB", 2))))
			return units[i].mib;
	return 0;
}

/* Of text, which a suffix such as "/s" may end. */
static bool parse_mib(const char *text, const char *suffix, double max, double *mib)
{
	bool digit = isdigit((unsigned char)*text) || *text == '.';
	size_t len, end_len = strlen(suffix);
	char *end;
	double value = strtod(text, &end), unit;

	len = strlen(end);
	if (end_len && len >= end_len && !strcmp(end + len - end_len, suffix))
		len -= end_len;
	unit = unit_mib(end, len);
	*mib = value * unit;
	return digit && end != text && unit > 0 && *mib <= max;
}

static const char *size_text(double mib, char *text, size_t len)
{
	snprintf(text, len, "%gTiB", mib / (1024 * 1024));
	return text;
}

int np_arg_size(const char *text, const char *what, double max_mib, double *mib)
{
	char most[16];

	if (parse_mib(text, "", max_mib, mib))
		return 0;
	return np_failed(ECANCELED, "%s \"%s\" is not a size from 0 to %s, such as 64MiB or 2GiB",
			 what, text, size_text(max_mib, most, sizeof(most)));
}

int np_arg_rate(const char *text, const char *what, double max_mib, double *mib)
{
	char most[16];

	if (parse_mib(text, "/s", max_mib, mib))
		return 0;
	return np_failed(ECANCELED,
			 "%s \"%s\" is not a rate from 0 to %s/s, such as 64MiB/s or 2GiB/s", what,
			 text, size_text(max_mib, most, sizeof(most)));
}

int np_arg_real(const char *text, const char *what, double max, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if ((isdigit((unsigned char)*text) || *text == '.') && !*end && *value <= max)
		return 0;
	return np_failed(ECANCELED, "%s \"%s\" is not a number from 0 to %g", what, text, max);
}
