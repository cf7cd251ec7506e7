// SPDX-License-Identifier: GPL-2.0-only
#include "size.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int np_size_parse(const char *text, uint64_t *bytes)
{
	static const struct {
		const char *name;
		unsigned int shift;
	} units[] = { { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "TiB", 40 } };
	unsigned long long count;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	count = strtoull(text, &end, 10);
	if (errno)
		return -EINVAL;
	*bytes = count;
	if (!*end)
		return count ? -EINVAL : 0;
	end += *end == ' ';
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		*bytes = count << units[i].shift;
		return *bytes >> units[i].shift == count ? 0 : -EINVAL;
	}
	return -EINVAL;
}
