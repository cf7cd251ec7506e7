// SPDX-License-Identifier: GPL-2.0-only
#include "machine_scale.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../policies/model/fields.h"

/* Whether what is before the slash is a folder of a path: neither a name, which has no slash, nor a file. */
static bool is_folder(const char *name, const char *slash)
{
	size_t len = slash - name, end = strlen(".toml");

	return memchr(name, '/', len) && (len < end || strncmp(slash - end, ".toml", end));
}

int np_machine_scale_split(const char *name, char *machine, size_t len, unsigned int *scale,
			   struct np_err *err)
{
	const char *slash = strrchr(name, '/');
	unsigned long number;
	char *end;

	*scale = 1;
	snprintf(machine, len, "%s", name);
	if (!slash || slash == name || !isdigit((unsigned char)slash[1]) || is_folder(name, slash))
		return 0;
	if (slash[1 + strspn(slash + 1, "0123456789.")])
		return 0;
	number = strtoul(slash + 1, &end, 10);
	if (*end || number < 1 || number > NP_MACHINE_SCALE_MAX)
		return np_fail(err, -EINVAL,
			       "machine '%s': a speed of 1/%s is none of 1/1, 1/2, .. 1/%d", name,
			       slash + 1, NP_MACHINE_SCALE_MAX);
	*scale = (unsigned int)number;
	snprintf(machine, len, "%.*s", (int)(slash - name), name);
	return 0;
}

/* Times become longer, rates smaller, and counts stay. */
static double factor_of(const char *unit, unsigned int scale)
{
	if (!strcmp(unit, "ns"))
		return scale;
	return strcmp(unit, "MB/s") && strcmp(unit, "MHz") ? 1 : 1.0 / scale;
}

static void scale_number(json_t *number, double factor, unsigned int scale)
{
	char source[512];
	const char *was = json_string_value(json_object_get(number, "source"));

	if (factor == 1 || !json_is_object(number))
		return;
	json_object_set_new(number, "value",
			    json_real(json_number_value(json_object_get(number, "value")) *
				      factor));
	snprintf(source, sizeof(source), "%s; at 1/%u speed", was ? was : "", scale);
	json_object_set_new(number, "source", json_string(source));
}

/* table: [model.NAME], or what a node or a link has of it. */
static void scale_table(json_t *table, const char *name, unsigned int scale)
{
	for (const struct np_model_field *f = np_model_fields; f->member; f++)
		if (f->table && !strcmp(f->table, name))
			scale_number(json_object_get(table, f->key), factor_of(f->unit, scale),
				     scale);
}

static void scale_nodes(json_t *tables, unsigned int scale)
{
	static const char *const names[] = { "core", "port", "dram" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		scale_table(json_object_get(tables, names[i]), names[i], scale);
}

static void scale_caches(json_t *caches, unsigned int scale)
{
	json_t *cache, *latency;
	size_t i;

	json_array_foreach(caches, i, cache) {
		latency = json_object_get(cache, "latency_ns");
		if (latency)
			json_object_set_new(cache, "latency_ns",
					    json_real(json_number_value(latency) * scale));
	}
}

void np_machine_scale_apply(json_t *file, unsigned int scale)
{
	json_t *model = json_object_get(file, "model"), *one;
	size_t i;

	if (scale == 1)
		return;
	scale_nodes(model, scale);
	scale_table(json_object_get(model, "c2c"), "c2c", scale);
	scale_table(json_object_get(model, "tlb"), "tlb", scale);
	json_array_foreach(json_object_get(model, "node"), i, one)
		scale_nodes(one, scale);
	json_array_foreach(json_object_get(model, "link"), i, one)
		scale_table(one, "link", scale);
	scale_caches(json_object_get(file, "cache"), scale);
}
