// SPDX-License-Identifier: GPL-2.0-only
/* numaplace machine */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../policies/model/fields.h"
#include "../lib/base/cpulist.h"
#include "../lib/files/machine_file.h"
#include "../lib/files/sourced.h"
#include "beside.h"
#include "cmd.h"
#include "cmd_args.h"

static void print_node(const json_t *node, size_t i)
{
	json_t *cpus = json_object_get(node, "cpus"), *cpu;
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);
	char list[NP_LIST_LEN];
	size_t k;

	json_array_foreach(cpus, k, cpu)
		numa_bitmask_setbit(mask, (unsigned int)json_integer_value(cpu));
	printf("node %-4zu CPUs %-12s", i,
	       json_array_size(cpus) ? np_list_format(mask, list, sizeof(list)) : "none");
	if (np_json_number_of(node, "memory") > 0)
		printf(" memory %8.0f MiB\n", np_json_number_of(node, "memory") / (1 << 20));
	else
		printf(" no memory\n");
	numa_bitmask_free(mask);
}

static void print_distances(const json_t *rows)
{
	json_t *row, *value;
	size_t i, k;

	printf("distance ");
	for (i = 0; i < json_array_size(rows); i++)
		printf("%5zu", i);
	json_array_foreach(rows, i, row) {
		printf("\n    %5zu", i);
		json_array_foreach(row, k, value)
			printf("%5d", (int)json_integer_value(value));
	}
	putchar('\n');
}

static void print_cache(const json_t *cache)
{
	printf("cache L%d  %8.0f KiB, %d ways, lines of %d bytes, CPUs that share one: %d",
	       (int)np_json_number_of(cache, "level"), np_json_number_of(cache, "size") / 1024,
	       (int)np_json_number_of(cache, "ways"), (int)np_json_number_of(cache, "line_bytes"),
	       (int)np_json_number_of(cache, "shared_by_cpus"));
	if (json_object_get(cache, "latency_ns"))
		printf(", %g ns", np_json_number_of(cache, "latency_ns"));
	printf("  (%s)\n", np_json_text_of(cache, "source"));
}

/* A number with its unit, and where it comes from. */
static void print_number(const char *name, const char *key, const json_t *entry, const char *unit)
{
	char both[64], origin[16];

	snprintf(both, sizeof(both), "%s.%s", name, key);
	printf("  %-32s %10g %-6s %s\n", both, np_json_number_of(entry, "value"), unit,
	       np_sourced_origin(entry, origin, sizeof(origin)));
}

static void print_table(const char *table, const char *name, const json_t *numbers)
{
	for (const struct np_model_field *f = np_model_fields; f->member; f++) {
		json_t *entry = f->table && !strcmp(f->table, table) ?
					json_object_get(numbers, f->key) :
					NULL;

		if (entry)
			print_number(name, f->key, entry, strcmp(f->unit, "1") ? f->unit : "");
	}
}

static void print_links(const json_t *links)
{
	json_t *link, *pairs;
	size_t i;

	json_array_foreach(links, i, link) {
		char name[32], *between;

		pairs = json_object_get(link, "between");
		between = json_dumps(pairs, JSON_COMPACT);
		printf("  link[%zu] between %s\n", i, between ? between : "");
		free(between);
		snprintf(name, sizeof(name), "link[%zu]", i);
		print_table("link", name, link);
	}
}

/* The tables of every node, and those that are different on one. */
static void print_node_tables(const json_t *model, const char *suffix)
{
	static const char *const tables[] = { "line", "core", "port", "dram", "c2c", "tlb", "lab" };
	char name[32];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", tables[i], suffix);
		print_table(tables[i], name, json_object_get(model, tables[i]));
	}
}

static void print_model(const json_t *model)
{
	json_t *one;
	size_t i;

	puts(model ? "model" : "model     none");
	print_node_tables(model, "");
	json_array_foreach(json_object_get(model, "node"), i, one) {
		char suffix[24];

		snprintf(suffix, sizeof(suffix), "[%d]", (int)np_json_number_of(one, "node"));
		print_node_tables(one, suffix);
	}
	print_links(json_object_get(model, "link"));
}

static void print_penalties(const json_t *penalty)
{
	json_t *task;
	size_t i;

	json_array_foreach(json_object_get(penalty, "task"), i, task)
		print_number("penalty", np_json_text_of(task, "name"),
			     json_object_get(task, "penalty"), "");
}

static void print_machine(const json_t *file)
{
	json_t *one;
	size_t i;

	printf("machine   %s: %s\n", np_json_text_of(file, "name"),
	       np_json_text_of(file, "summary"));
	printf("source    %s\n", np_json_text_of(file, "source"));
	json_array_foreach(json_object_get(file, "nodes"), i, one)
		print_node(one, i);
	print_distances(json_object_get(file, "distances"));
	json_array_foreach(json_object_get(file, "cache"), i, one)
		print_cache(one);
	print_model(json_object_get(file, "model"));
	print_penalties(json_object_get(file, "penalty"));
}

/* The table of Documentation/reference/machine-files.md. */
static void print_fields(void)
{
	const char *last = "";

	printf("| table | field | unit | from | to | left out | meaning |\n|---|---|---|---|---|---|---|\n");
	for (const struct np_model_field *f = np_model_fields; f->member; f++) {
		bool link = f->scope == NP_SCOPE_LINK;

		if (!f->table)
			continue;
		if (strcmp(f->table, last))
			printf("| `%smodel.%s%s` ", link ? "[[" : "[", f->table, link ? "]]" : "]");
		else
			printf("| ");
		last = f->table;
		printf("| `%s` | %s | %g | %g | ", f->key, f->unit, f->min, f->max);
		if (f->absent == NP_REQUIRED)
			printf("refused");
		else
			printf("%g", f->absent);
		printf(" | %s |\n", f->meaning);
	}
}

#define FROM_PROGRAM "machine-from"

enum {
	/* clang-format off */
	KEY_FIELDS = NP_KEY_OWN, KEY_PLUGIN, KEY_SET,
	/* Of FROM_PROGRAM, which reads them. */
	KEY_FROM, KEY_MEMORY, KEY_CPUS_PER_NODE, KEY_NODES, KEY_SMT, KEY_NAME,
	/* clang-format on */
};

struct args {
	const char *name;
	struct np_words set;
	bool fields, plugin;
	bool from, of_from; /* --from; an option that it alone has */
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0,
	  "Print one JSON object: all that the file has, numbers with their sources", 0 },
	{ "fields", KEY_FIELDS, NULL, 0,
	  "Print the numbers of [model] that a file may have, as a Markdown table", 0 },
	{ "plugin", KEY_PLUGIN, NULL, 0,
	  "Print what the plugin of the lab's QEMU is told of the machine", 0 },
	{ "set", KEY_SET, "NAME=NUMBER", 0,
	  "Another value for a number of [model], by the name that is printed for it, such as "
	  "dram.latency_ns or link[0].latency_ns; may be repeated",
	  0 },
	{ "from", KEY_FROM, "FILE", 0,
	  "Print a machine file of the machine that FILE describes: lstopo's XML, a copy of /sys or "
	  "/sys itself, what numactl -H or Intel's mlc prints, a CSV of latencies between CPUs; - is "
	  "standard input. May be repeated: files of one machine complete each other",
	  1 },
	{ "memory", KEY_MEMORY, "SIZE", 0,
	  "Of all nodes together, in proportion, 256 MiB of each at least (2GiB)", 1 },
	{ "cpus-per-node", KEY_CPUS_PER_NODE, "N", 0, "Keep only the first N CPUs of each node",
	  1 },
	{ "nodes", KEY_NODES, "LIST", 0, "Keep only these nodes, such as 0-3", 1 },
	{ "smt", KEY_SMT, NULL, 0, "Keep all CPUs of a core (the first of each)", 1 },
	{ "name", KEY_NAME, "NAME", 0, "Of the machine (the first FILE's)", 1 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	if (key == 'j')
		np_json = true;
	else if (key == KEY_FIELDS)
		a->fields = true;
	else if (key == KEY_PLUGIN)
		a->plugin = true;
	else if (key == KEY_SET)
		return np_words_add(&a->set, arg);
	else if (key == KEY_FROM)
		a->from = true;
	else if (key > KEY_FROM && key <= KEY_NAME)
		a->of_from = true;
	else if (key != ARGP_KEY_ARG || a->name)
		return ARGP_ERR_UNKNOWN;
	else
		a->name = arg;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "NAME|SHAPE|FILE.toml\n--from FILE [--from FILE]..",
	.doc = "Checks a machine file and shows what it describes: nodes, CPUs, memory, distances, caches, the "
	       "numbers of the contention model and the origin of each. NAME is one of the machines that come "
	       "with numaplace. SHAPE is one without a file, such as 2x2, 4x2:512M or 2x2+1:1G: nodes, CPUs and "
	       "memory of each, and nodes without CPUs.\v"
	       "--memory, --cpus-per-node, --nodes, --smt and --name are of --from.",
};

static int print_plugin(const json_t *file)
{
	const char *lines = np_json_text_of(file, "plugin");

	if (!*lines)
		return np_usage("machine '%s' has no [model] or no [[cache]], so its time cannot be "
				"simulated",
				np_json_text_of(file, "name"));
	fputs(lines, stdout);
	return NP_EXIT_OK;
}

static int print_file(const struct args *a)
{
	struct np_err err;
	int e;
	json_t *file = np_machine_file_json(a->name, a->set.word, a->set.n, &e, &err);
	int status = NP_EXIT_OK;

	if (e == -ENOMEM)
		return np_failed(NP_EXIT_FAIL, "%s", err.text);
	if (e)
		return np_usage("%s", err.text);
	if (np_json) {
		np_json_print(file);
		return NP_EXIT_OK;
	}
	if (a->plugin)
		status = print_plugin(file);
	else
		print_machine(file);
	json_decref(file);
	return status;
}

/* The program reads the same words. */
static int run_from(const struct args *a, char **argv)
{
	char path[PATH_MAX];

	if (a->name || a->fields || a->plugin || a->set.n || np_json)
		return np_usage("machine: --from prints a machine file, which numaplace machine FILE.toml then shows: give --from "
				"without %s",
				a->name ? a->name : "--fields, --json, --plugin and --set");
	if (!np_beside_find(FROM_PROGRAM, path, sizeof(path)))
		return np_usage("the program numaplace-" FROM_PROGRAM
				" is not beside this one; `make` builds it");
	return np_beside_run(FROM_PROGRAM, path, argv);
}

int cmd_machine(int argc, char **argv)
{
	struct args a = { 0 };
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status && a.from)
		status = run_from(&a, argv);
	else if (!status && a.of_from)
		status = np_usage(
			"machine: --memory, --cpus-per-node, --nodes, --smt and --name are of --from: give --from FILE, "
			"too");
	else if (!status && a.fields)
		print_fields();
	else if (!status && !a.name)
		status = np_usage(
			"machine: say a machine's name, its shape or FILE.toml; numaplace lab list prints the names");
	else if (!status)
		status = print_file(&a);
	free(a.set.word);
	return status;
}
