// SPDX-License-Identifier: GPL-2.0-only
#include "cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

/* Reads a decimal number, LONG_MAX where it is larger; leaves *p after it. -1 if there is none. */
static long read_number(const char **p)
{
	return isdigit((unsigned char)**p) ? strtol(*p, (char **)p, 10) : -1;
}

/* Reads "N" or "N-M". Returns false if it is neither. */
static bool read_range(const char **p, long *first, long *last)
{
	*first = *last = read_number(p);
	if (*first < 0)
		return false;
	if (**p == '-') {
		(*p)++;
		*last = read_number(p);
	}
	return *last >= *first;
}

int np_list_parse_kernel(const char *text, struct bitmask *mask)
{
	long first, last;

	numa_bitmask_clearall(mask);
	while (isspace((unsigned char)*text))
		text++;
	if (!*text)
		return 0;
	for (;;) {
		if (!read_range(&text, &first, &last) || last >= (long)mask->size)
			return -EINVAL;
		for (; first <= last; first++)
			numa_bitmask_setbit(mask, (unsigned int)first);
		if (*text != ',')
			break;
		text++;
	}
	while (isspace((unsigned char)*text))
		text++;
	return *text ? -EINVAL : 0;
}

/* The number that is n-th in the allowed ones ("+0" is the first), or -1. */
static long relative(const struct bitmask *allowed, long n)
{
	for (unsigned long i = 0; i < allowed->size; i++)
		if (numa_bitmask_isbitset(allowed, (unsigned int)i) && n-- == 0)
			return (long)i;
	return -1;
}

static int no_such(const struct np_list_space *s, long n, bool is_relative, struct np_err *err)
{
	const struct bitmask *known = is_relative ? s->allowed : s->exist;
	char have[NP_LIST_LEN];

	return np_fail(err, -EINVAL, "%s %s%ld does not exist; %s %s%s %s", s->what,
		       is_relative ? "+" : "", n,
		       is_relative ? "counted from those allowed here," : "this machine has",
		       s->what, numa_bitmask_weight(known) == 1 ? "" : "s",
		       np_list_format(known, have, sizeof(have)));
}

static int set_range(const struct np_list_space *s, long first, long last, bool is_relative,
		     struct bitmask *mask, struct np_err *err)
{
	for (; first <= last; first++) {
		long n = is_relative ? relative(s->allowed, first) : first;

		if (n < 0 || n >= (long)s->exist->size ||
		    !numa_bitmask_isbitset(s->exist, (unsigned int)n))
			return no_such(s, first, is_relative, err);
		numa_bitmask_setbit(mask, (unsigned int)n);
	}
	return 0;
}

static int parse_ranges(const char *list, const char *text, const struct np_list_space *s,
			bool is_relative, struct bitmask *mask, struct np_err *err)
{
	for (;;) {
		long first, last;
		int r;

		if (!read_range(&list, &first, &last))
			break;
		r = set_range(s, first, last, is_relative, mask, err);
		if (r)
			return r;
		if (!*list)
			return 0;
		if (*list++ != ',')
			break;
	}
	return np_fail(err, -EINVAL,
		       "\"%s\" is not a list of %ss; write it as 0-1,3 or !1 or +0 or all", text,
		       s->what);
}

static void invert(struct bitmask *mask, const struct bitmask *within)
{
	for (unsigned int i = 0; i < mask->size; i++) {
		if (numa_bitmask_isbitset(within, i) && !numa_bitmask_isbitset(mask, i))
			numa_bitmask_setbit(mask, i);
		else
			numa_bitmask_clearbit(mask, i);
	}
}

struct bitmask *np_list_parse(const char *text, const struct np_list_space *s, struct np_err *err)
{
	struct bitmask *mask = numa_bitmask_alloc((unsigned int)s->exist->size);
	const char *list = text;
	bool inverse = *list == '!';
	bool is_relative;

	list += inverse;
	is_relative = *list == '+';
	list += is_relative;
	if (!strcmp(list, "all") && !is_relative) {
		copy_bitmask_to_bitmask((struct bitmask *)s->allowed, mask);
	} else if (parse_ranges(list, text, s, is_relative, mask, err)) {
		numa_bitmask_free(mask);
		return NULL;
	}
	if (inverse)
		invert(mask, s->allowed);
	if (numa_bitmask_weight(mask) == 0) {
		np_fail(err, -EINVAL, "\"%s\" names no %s", text, s->what);
		numa_bitmask_free(mask);
		return NULL;
	}
	return mask;
}

#define WORD (8 * sizeof(unsigned long))

char *np_list_format(const struct bitmask *mask, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < mask->size; i++) {
		char item[32];
		unsigned int first = i;
		int n;

		if (i % WORD == 0 && !mask->maskp[i / WORD]) {
			i += WORD - 1;
			continue;
		}
		if (!numa_bitmask_isbitset(mask, i))
			continue;
		while (i + 1 < mask->size && numa_bitmask_isbitset(mask, i + 1))
			i++;
		n = snprintf(item, sizeof(item), i > first ? "%s%u-%u" : "%s%u", used ? "," : "",
			     first, i);
		if (used + (size_t)n + sizeof("...") > len) {
			snprintf(buf + used, len - used, "...");
			break;
		}
		memcpy(buf + used, item, (size_t)n + 1);
		used += (size_t)n;
	}
	return buf;
}
