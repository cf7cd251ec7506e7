// SPDX-License-Identifier: GPL-2.0-only
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool np_record_get(const char *line, const char *key, char *value, size_t len)
{
	size_t key_len = strlen(key);

	while (*line && *line != '\n') {
		size_t word = strcspn(line, " \n");

		if (word > key_len && line[key_len] == '=' && !strncmp(line, key, key_len)) {
			size_t n = word - key_len - 1;

			if (n >= len)
				return false;
			memcpy(value, line + key_len + 1, n);
			value[n] = '\0';
			return true;
		}
		line += word;
		line += strspn(line, " ");
	}
	return false;
}

bool np_record_number(const char *line, const char *key, uint64_t *value)
{
	char text[24], *end;

	if (!np_record_get(line, key, text, sizeof(text)) || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return *end == '\0' && errno == 0;
}

const char *np_record_next(const char *line)
{
	line += strcspn(line, "\n");
	return *line && line[1] ? line + 1 : NULL;
}
