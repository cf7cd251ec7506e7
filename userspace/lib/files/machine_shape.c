// SPDX-License-Identifier: GPL-2.0-only
#include "machine_shape.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/size.h"

#define LETTERS	   "0123456789x+:KMG"
#define NODES_MAX  32  /* NP_LAB_MAX_NODES of experiments/lab/guest/shared.h */
#define CPUS_MAX   255 /* MAX_CPUS of experiments/lab/qemu.py */
#define MIB	   (1ull << 20)
#define MEMORY_MAX (1ull << 40) /* of a node */
#define DIGITS	   9

struct shape {
	unsigned long nodes, cpus;    /* nodes with CPUs, CPUs of each */
	unsigned long bare;	      /* nodes without CPUs */
	uint64_t memory, bare_memory; /* bytes of each */
};

bool np_machine_shape_is(const char *name)
{
	return *name && !name[strspn(name, LETTERS)];
}

/* A number from 1 on; false leaves *at where it was. */
static bool read_number(const char **at, unsigned long *number)
{
	size_t n = strspn(*at, "0123456789");

	if (!n || n > DIGITS || **at == '0')
		return false;
	*number = strtoul(*at, NULL, 10);
	*at += n;
	return true;
}

/* ":512M", or nothing, which leaves *bytes as it is. */
static bool read_memory(const char **at, uint64_t *bytes)
{
	unsigned long number;
	char text[DIGITS + 5];

	if (**at != ':')
		return true;
	++*at;
	if (!read_number(at, &number) || !**at || !strchr("KMG", **at))
		return false;
	snprintf(text, sizeof(text), "%lu%ciB", number, *(*at)++);
	return !np_size_parse(text, bytes);
}

static bool read_shape(const char *text, struct shape *s)
{
	*s = (struct shape) { .memory = 1024 * MIB };
	if (!read_number(&text, &s->nodes) || *text++ != 'x' || !read_number(&text, &s->cpus) ||
	    !read_memory(&text, &s->memory))
		return false;
	s->bare_memory = s->memory;
	if (*text == '+') {
		text++;
		if (!read_number(&text, &s->bare) || !read_memory(&text, &s->bare_memory))
			return false;
	}
	return !*text;
}

static bool memory_fits(uint64_t bytes)
{
	return bytes % MIB == 0 && bytes <= MEMORY_MAX;
}

static int parse(const char *text, struct shape *s, struct np_err *err)
{
	if (!read_shape(text, s))
		return np_fail(err, -EINVAL,
			       "'%.40s' is no shape of a machine: write NODESxCPUS of each, with "
			       "memory of each and nodes without CPUs if need be, such as 2x2, "
			       "4x2:512M or 2x2+1:1G",
			       text);
	if (s->nodes + s->bare > NODES_MAX || s->nodes * s->cpus > CPUS_MAX)
		return np_fail(err, -EINVAL,
			       "machine '%.40s' has %lu nodes and %lu CPUs: a shape has up to %d "
			       "and %d",
			       text, s->nodes + s->bare, s->nodes * s->cpus, NODES_MAX, CPUS_MAX);
	if (!memory_fits(s->memory) || !memory_fits(s->bare_memory))
		return np_fail(err, -EINVAL,
			       "machine '%.40s' cannot have such memory: give each node whole MiB, "
			       "up to %lluG",
			       text, MEMORY_MAX >> 30);
	return 0;
}

/* Texts of a printed form; jansson answers NULL with -1 where there is no memory. */
static json_t *mib(uint64_t bytes)
{
	return json_sprintf("%llu MiB", (unsigned long long)(bytes / MIB));
}

static json_t *summary(const struct shape *s)
{
	unsigned long long memory = s->memory / MIB, bare = s->bare_memory / MIB;
	const char *nodes = s->nodes > 1 ? "nodes" : "node", *cpus = s->cpus > 1 ? "CPUs" : "CPU";

	if (!s->bare)
		return json_sprintf("%lu %s with %lu %s and %llu MiB each", s->nodes, nodes,
				    s->cpus, cpus, memory);
	return json_sprintf("%lu %s with %lu %s and %llu MiB each, %lu without CPUs and with "
			    "%llu MiB",
			    s->nodes, nodes, s->cpus, cpus, memory, s->bare, bare);
}

static json_t *nodes(const struct shape *s)
{
	json_t *nodes = json_array();

	for (unsigned long i = 0; i < s->nodes + s->bare; i++) {
		bool bare = i >= s->nodes;
		json_t *cpus = bare ? json_string("") :
				      json_sprintf("%lu-%lu", i * s->cpus, (i + 1) * s->cpus - 1);

		json_array_append_new(nodes, json_pack("{s:o,s:o}", "cpus", cpus, "memory",
						mib(bare ? s->bare_memory : s->memory)));
	}
	return nodes;
}

static json_t *distances(const json_t *file, size_t n)
{
	json_t *rows = json_array();
	const json_t *first = json_array_get(json_object_get(file, "distances"), 0);

	for (size_t i = 0; i < n; i++) {
		json_t *row = json_array();

		for (size_t k = 0; k < n; k++)
			json_array_append(row, json_array_get(first, i == k ? 0 : 1));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* A cache that CPUs share is the node's. */
static void share_caches(const json_t *file, const struct shape *s)
{
	json_t *cache;
	size_t i;

	json_array_foreach(json_object_get(file, "cache"), i, cache)
		if (json_integer_value(json_object_get(cache, "shared_by_cpus")) > 1)
			json_object_set_new(cache, "shared_by_cpus",
					    json_integer((json_int_t)s->cpus));
}

static void link_all(const json_t *file, size_t n)
{
	json_t *model = json_object_get(file, "model"), *pairs = json_array();

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			json_array_append_new(pairs, json_pack("[i,i]", (int)i, (int)k));
	json_object_set_new(json_array_get(json_object_get(model, "link"), 0), "between", pairs);
	if (n == 1)
		json_object_del(model, "link");
}

int np_machine_shape_apply(json_t *file, const char *shape, struct np_err *err)
{
	struct shape s;
	size_t n;
	int e = parse(shape, &s, err);

	if (e)
		return e;
	n = s.nodes + s.bare;
	e |= json_object_set_new(file, "distances", distances(file, n));
	e |= json_object_set_new(file, "name", json_string(shape));
	e |= json_object_set_new(file, "summary", summary(&s));
	e |= json_object_set_new(file, "for", json_string("any test"));
	e |= json_object_set_new(
		file, "source",
		json_string(
			"made up by its name; the numbers are those of " NP_MACHINE_SHAPE_MODEL));
	e |= json_object_set_new(file, "cpus", json_integer((json_int_t)(s.nodes * s.cpus)));
	e |= json_object_set_new(file, "memory", mib(s.nodes * s.memory + s.bare * s.bare_memory));
	e |= json_object_set_new(file, "node", nodes(&s));
	share_caches(file, &s);
	link_all(file, n);
	return e ? np_fail(err, -ENOMEM, "out of memory") : 0;
}
