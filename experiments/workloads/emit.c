// SPDX-License-Identifier: GPL-2.0-only
#include "emit.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void np_emit(json_t *event)
{
	if (!event || json_dumpf(event, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12)) ||
	    putchar('\n') == EOF || fflush(stdout)) {
		np_fail("cannot write a result: %s", strerror(errno));
		exit(1);
	}
	json_decref(event);
}

int np_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

int np_read_words(char **words, size_t max)
{
	static char line[256];
	char *save, *word;
	size_t n = 0;

	if (!fgets(line, sizeof(line), stdin))
		return -1;
	for (word = strtok_r(line, " \t\n", &save); word && n < max;
	     word = strtok_r(NULL, " \t\n", &save))
		words[n++] = word;
	return n;
}

int np_parse_double(const char *text, double min, double max, double *value)
{
	char *end;

	errno = 0;
	*value = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(*value))
		return -1;
	return *value < min || *value > max ? -1 : 0;
}

int np_parse_count(const char *text, unsigned long long max, unsigned long long *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text) || *end)
		return -1;
	return *value > max ? -1 : 0;
}

int np_parse_bytes(const char *text, size_t *bytes)
{
	static const char units[] = "KMG";
	unsigned long long number;
	const char *unit;
	char *end;
	int shift = 0;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text))
		return -1;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return -1;
		shift = 10 * (unit - units + 1);
	}
	if (!number || number > SIZE_MAX >> shift)
		return -1;
	*bytes = (size_t)number << shift;
	return 0;
}

double np_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void np_sleep_until(double when)
{
	struct timespec t = { .tv_sec = (time_t)when };

	t.tv_nsec = (long)((when - t.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}
