// SPDX-License-Identifier: GPL-2.0-only
/* The limits are those of experiments/lab/plugin/config.c. */
#include "machine_caches.h"

#include <stdint.h>

#include "../base/size.h"

#define BYTES_MIN 4096
#define BYTES_MAX 1000000000
#define WAYS_MAX  64
#define LEVEL_MAX 4
#define PAGE	  4096 /* the first level is indexed within a page */
#define FIRST_MAX 65536

static const struct np_toml_key keys[] = {
	/* clang-format off */
	{ "level", NP_TOML_WHOLE, false },
	{ "size", NP_TOML_TEXT, false },
	{ "ways", NP_TOML_WHOLE, false },
	{ "line_bytes", NP_TOML_WHOLE, false },
	{ "shared_by_cpus", NP_TOML_WHOLE, false },
	{ "latency_ns", NP_TOML_NUMBER, true },
	{ "source", NP_TOML_TEXT, false },
	{ 0 },
	/* clang-format on */
};

static long long whole(const struct np_toml_table *t, const char *key)
{
	return json_integer_value(json_object_get(t->json, key));
}

static int check_size(const struct np_toml_table *t)
{
	const char *text = json_string_value(json_object_get(t->json, "size"));
	uint64_t size;

	if (np_size_parse(text, &size))
		return np_toml_wrong(t, "size", "'%s' is not a size such as '512 KiB'", text);
	if (size < BYTES_MIN || size > BYTES_MAX)
		return np_toml_wrong(t, "size", "a cache has %d to %d bytes", BYTES_MIN, BYTES_MAX);
	if (whole(t, "level") == 1 && (size % PAGE || size > FIRST_MAX))
		return np_toml_wrong(t, "size",
				     "a first level has whole pages of %d bytes, up to %d KiB",
				     PAGE, FIRST_MAX >> 10);
	return 0;
}

static int check_range(const struct np_toml_table *t, const char *key, double min, double max)
{
	json_t *value = json_object_get(t->json, key);

	if (!value || (json_number_value(value) >= min && json_number_value(value) <= max))
		return 0;
	return np_toml_wrong(t, key, "%s is outside %g to %g", np_toml_show(value).text, min, max);
}

static int check_cache(const struct np_toml_table *t)
{
	long long line = whole(t, "line_bytes");
	int e = check_range(t, "level", 1, LEVEL_MAX);

	if (!e)
		e = check_size(t);
	if (!e)
		e = check_range(t, "ways", 1, WAYS_MAX);
	if (!e && (line < 16 || line > 256 || (line & (line - 1))))
		e = np_toml_wrong(t, "line_bytes", "%lld is not one of 16, 32, 64, 128, 256", line);
	if (!e)
		e = check_range(t, "shared_by_cpus", 1, 1e9);
	return e ? e : check_range(t, "latency_ns", 0, 1e6);
}

/* Against those before it. */
static int check_beside(const struct np_toml_table *file, const struct np_toml_table *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct np_toml_table other = np_toml_element(file, "cache", i);

		if (whole(t, "level") == whole(&other, "level"))
			return np_toml_wrong(t, "level", "there is a level %lld already",
					     whole(t, "level"));
		if (whole(t, "line_bytes") != whole(&other, "line_bytes"))
			return np_toml_wrong(t, "line_bytes",
					     "all levels must have lines of the same length");
	}
	return 0;
}

int np_machine_file_caches(const struct np_toml_table *file)
{
	size_t n = json_array_size(json_object_get(file->json, "cache"));
	int e = np_toml_check_each(file, "cache", keys);

	for (size_t i = 0; !e && i < n; i++) {
		struct np_toml_table t = np_toml_element(file, "cache", i);

		e = check_cache(&t);
		if (!e)
			e = check_beside(file, &t, i);
	}
	return e;
}
