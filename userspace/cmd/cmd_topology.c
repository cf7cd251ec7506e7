// SPDX-License-Identifier: GPL-2.0-only
/* numaplace topology */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../lib/base/cpulist.h"
#include "../lib/files/policy_input.h"
#include "../lib/host/caches.h"
#include "../lib/host/module_files.h"
#include "../lib/host/numa_balancing.h"
#include "../lib/host/proc.h"
#include "cmd_args.h"

struct view {
	struct np_machine m;
	struct np_cache *caches;
	size_t n_caches;
	struct utsname kernel;
	char cpu_model[128];
	int balancing; /* np_balancing_read() */
	struct np_module_info module;
	int module_state; /* of np_module_probe() */
	struct np_err module_why;
};

static void read_cpu_model(struct view *v)
{
	char *text = np_read_file("/proc/cpuinfo"),
	     *line = text ? strstr(text, "model name") : NULL;

	snprintf(v->cpu_model, sizeof(v->cpu_model), "unknown");
	if (line && (line = strchr(line, ':')))
		snprintf(v->cpu_model, sizeof(v->cpu_model), "%.*s", (int)strcspn(line + 2, "\n"),
			 line + 2);
	free(text);
}

static int view_read(struct view *v)
{
	int status = np_cmd_machine(&v->m);

	v->balancing = np_balancing_read();
	if (status)
		return status;
	uname(&v->kernel);
	read_cpu_model(v);
	v->module_state = np_module_probe(&v->module, &v->module_why);
	if (np_caches_read(&v->m, "", &v->caches, &v->n_caches))
		return np_failed(NP_EXIT_FAIL, "out of memory");
	return NP_EXIT_OK;
}

static void view_free(struct view *v)
{
	np_caches_free(v->caches, v->n_caches);
	np_machine_free(&v->m);
}

static json_t *json_module(const struct view *v)
{
	if (v->module_state)
		return json_pack("{s:b,s:s}", "usable", 0, "why", v->module_why.text);
	return json_pack("{s:b,s:s,s:i}", "usable", 1, "version", v->module.version, "abi",
			 (int)v->module.abi);
}

static void print_json(const struct view *v)
{
	const enum np_platform platform = np_machine_platform("");
	json_t *caches = json_array();

	for (size_t i = 0; i < v->n_caches; i++) {
		const struct np_cache *c = &v->caches[i];

		json_array_append_new(caches,
				      json_pack("{s:i,s:s,s:I,s:o}", "level", (int)c->level, "type",
						c->type, "size", (json_int_t)c->size, "cpus",
						np_json_list(c->cpus)));
	}
	np_json_print(json_pack("{s:o,s:s,s:s,s:s,s:s,s:I,s:o,s:o,s:o,s:o}", "name",
				np_json_text(v->m.name),
				"platform", np_platform_name(platform), "kernel",
				v->kernel.release, "arch", v->kernel.machine, "cpu_model",
				v->cpu_model, "page_size", (json_int_t)v->m.page_size,
				"numa_balancing",
				v->balancing < 0 ? json_null() : json_integer(v->balancing),
				"module", json_module(v), "nodes", np_json_nodes(&v->m), "caches", caches));
}

static void print_node(const struct np_machine *m, size_t i)
{
	const struct np_node *node = &m->node[i];
	struct bitmask *cpus = np_machine_cpus_of_node(m, (int)i);
	char list[NP_LIST_LEN];

	printf("node %-4d CPUs %-12s", node->id,
	       node->cpus ? np_list_format(cpus, list, sizeof(list)) : "none");
	if (node->has_memory)
		printf(" memory %8.0f MiB, %8.0f free", (double)node->mem_total / (1 << 20),
		       (double)node->mem_free / (1 << 20));
	else
		printf(" no memory");
	putchar('\n');
	numa_bitmask_free(cpus);
}

static void print_distances(const struct np_machine *m)
{
	printf("distance ");
	for (size_t i = 0; i < m->n_nodes; i++)
		printf("%5d", m->node[i].id);
	for (size_t i = 0; i < m->n_nodes; i++) {
		printf("\n    %5d", m->node[i].id);
		for (size_t k = 0; k < m->n_nodes; k++)
			printf("%5d", m->distance[i * m->n_nodes + k]);
	}
	putchar('\n');
}

/*
 * Caches of single cores, hundreds of them on a large machine, take one line for all that are
 * alike.
 */
static void print_caches(const struct view *v)
{
	struct bitmask *all = numa_bitmask_alloc(NP_MAX_CPUS);
	char list[NP_LIST_LEN];

	for (size_t i = 0; i < v->n_caches; i++) {
		const struct np_cache *c = &v->caches[i];
		size_t n = np_caches_alike(v->caches, v->n_caches, i, all);

		if (!n)
			continue;
		printf("cache L%u %-12s %8llu KiB  CPUs %s", c->level, c->type,
		       (unsigned long long)c->size >> 10, np_list_format(all, list, sizeof(list)));
		if (n > 1 && c->n_cpus == 1)
			printf(", one each");
		else if (n > 1)
			printf(", one for %u such as %s", c->n_cpus,
			       np_list_format(c->cpus, list, sizeof(list)));
		putchar('\n');
	}
	numa_bitmask_free(all);
}

static void print_text(const struct view *v)
{
	printf("machine   %s (%s)\n", v->m.name, np_platform_name(np_machine_platform("")));
	printf("kernel    %s %s, numa_balancing %s\n", v->kernel.release, v->kernel.machine,
	       v->balancing < 0 ? "not built in" :
	       v->balancing	? "on" :
				  "off");
	if (v->module_state)
		printf("module    not usable: %s\n", v->module_why.text);
	else
		printf("module    %s, ABI %u\n", v->module.version, v->module.abi);
	printf("processor %s\n", v->cpu_model);
	for (size_t i = 0; i < v->m.n_nodes; i++)
		print_node(&v->m, i);
	print_distances(&v->m);
	print_caches(v);
}

static const struct argp argp = {
	.options = np_json_only,
	.parser = np_json_only_parse,
	.doc = "Shows the machine: nodes with their CPUs and memory, distances, caches, the kernel "
	       "and the module, and whether it is a real machine or the lab.",
};

int cmd_topology(int argc, char **argv)
{
	struct view v = { 0 };
	int status = np_args(&argp, argc, argv, 0, NULL);

	if (!status)
		status = view_read(&v);
	if (!status && np_json)
		print_json(&v);
	else if (!status)
		print_text(&v);
	view_free(&v);
	return status;
}
