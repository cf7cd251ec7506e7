// SPDX-License-Identifier: GPL-2.0-only
#include "sourced.h"

#include <stdio.h>
#include <string.h>

static const char *const origins[] = { "paper", "data sheet", "calibrated", "assumed" };

static size_t origin_length(const char *source)
{
	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		size_t n = strlen(origins[i]);

		if (!strncmp(source, origins[i], n) && !strncmp(source + n, ": ", 2))
			return n;
	}
	return 0;
}

int np_sourced_read(const struct np_toml_table *t, const char *key, double min, double max,
		    double *value)
{
	json_t *entry = json_object_get(t->json, key), *number = json_object_get(entry, "value");
	const char *source = json_string_value(json_object_get(entry, "source"));

	if (!number || json_object_size(entry) != 2 || !json_object_get(entry, "source"))
		return np_toml_wrong(t, key,
				     "write it as { value = NUMBER, source = \"ORIGIN: ...\" }");
	*value = json_number_value(number);
	if (!json_is_number(number) || *value < 0)
		return np_toml_wrong(t, key, "%s is not a number from 0",
				     np_toml_show(number).text);
	if (!source || !origin_length(source))
		return np_toml_wrong(t, key,
				     "the source must begin with one of 'paper: ', 'data sheet: ', "
				     "'calibrated: ', 'assumed: '");
	if (*value < min || *value > max)
		return np_toml_wrong(t, key, "%s is outside %g to %g", np_toml_show(number).text,
				     min, max);
	return 0;
}

const char *np_sourced_origin(const json_t *entry, char *word, size_t len)
{
	const char *source = json_string_value(json_object_get(entry, "source"));

	snprintf(word, len, "%.*s", source ? (int)origin_length(source) : 0, source ? source : "");
	return word;
}
