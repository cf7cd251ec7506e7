// SPDX-License-Identifier: GPL-2.0-only
/* Nodes, CPUs, memory and distances of a machine file. */
#include "machine_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/size.h"
#include "../base/toml.h"
#include "machine_model.h"

#define PAGE_SIZE_OF_FILES 4096
#define FILE_HERE "/etc/numaplace/machine.toml"

/* Where the machines are: beside the sources, or where `make install` puts them. */
static const char *machines_folder(char *path, size_t len)
{
	static const char *const places[] = { "../experiments/lab/machines",
					      "../../experiments/lab/machines",
					      "../share/numaplace/machines" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; n > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		char *slash = strrchr(self, '/');

		snprintf(path, len, "%.*s/%s", (int)(slash - self), self, places[i]);
		if (!access(path, R_OK))
			return path;
	}
	return NULL;
}

static int is_machine(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && !strcmp(entry->d_name + n - 5, ".toml");
}

const char *np_machine_file_names(char *text, size_t text_len)
{
	char folder[PATH_MAX];
	struct dirent **entry;
	size_t at = 0;
	int n = machines_folder(folder, sizeof(folder))
			? scandir(folder, &entry, is_machine, alphasort) : -1;

	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		if (at < text_len)
			at += (size_t)snprintf(text + at, text_len - at, "%s%.*s", i ? ", " : "",
					       (int)strlen(entry[i]->d_name) - 5, entry[i]->d_name);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	return text;
}

static int find_file(const char *name, char *path, size_t len, char *err, size_t err_len)
{
	char folder[PATH_MAX - 256], names[NP_ERR_LEN / 2];
	size_t n = strlen(name);

	if (strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".toml"))) {
		snprintf(path, len, "%s", name);
		return 0;
	}
	if (machines_folder(folder, sizeof(folder))) {
		snprintf(path, len, "%s/%s.toml", folder, name);
		if (!access(path, R_OK))
			return 0;
	}
	return np_fail(err, err_len, -ENOENT, "there is no machine '%s': known are %s, or give a "
		       ".toml file", name, np_machine_file_names(names, sizeof(names)));
}

struct file {
	const char *path;
	json_t *root;
	struct np_machine *m;
	char *err;
	size_t err_len;
};

static int wrong(const struct file *f, size_t node, const char *what)
{
	return np_fail(f->err, f->err_len, -EINVAL, "%s: node %zu: %s", f->path, node, what);
}

static int read_cpus(const struct file *f, size_t node, const char *list)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	int e = 0;

	if (!list || np_list_parse_kernel(list, cpus))
		e = wrong(f, node, "cpus is not a list of CPUs such as \"0-1,4\"");
	for (unsigned int cpu = 0; !e && cpu < NP_MAX_CPUS; cpu++) {
		if (!numa_bitmask_isbitset(cpus, cpu))
			continue;
		if (f->m->cpu_node[cpu] != NP_NODE_NONE)
			e = wrong(f, node, "one of its CPUs is on another node too");
		f->m->cpu_node[cpu] = (int)node;
		f->m->node[node].cpus++;
		if (cpu >= f->m->n_cpus)
			f->m->n_cpus = cpu + 1;
	}
	numa_bitmask_free(cpus);
	return e;
}

static int read_distances(const struct file *f, size_t node)
{
	json_t *row = json_array_get(json_object_get(f->root, "distances"), node);

	if (json_array_size(row) != f->m->n_nodes)
		return wrong(f, node, "distances has no row with a number for each node");
	for (size_t k = 0; k < f->m->n_nodes; k++) {
		json_t *d = json_array_get(row, k);

		if (!json_is_integer(d) || json_integer_value(d) < 10 || json_integer_value(d) > 254)
			return wrong(f, node, "a distance is not a whole number from 10 to 254");
		f->m->distance[node * f->m->n_nodes + k] = (int)json_integer_value(d);
	}
	return 0;
}

static int read_node(const struct file *f, size_t i)
{
	json_t *table = json_array_get(json_object_get(f->root, "node"), i);
	const char *memory = json_string_value(json_object_get(table, "memory"));
	struct np_node *node = &f->m->node[i];
	int e = read_cpus(f, i, json_string_value(json_object_get(table, "cpus")));

	if (!e && (!memory || np_size_parse(memory, &node->mem_total)))
		e = wrong(f, i, "memory is not a size such as \"512 MiB\", or \"0\"");
	node->id = (int)i;
	node->has_memory = node->mem_total > 0;
	node->mem_free = node->mem_total;
	return e ? e : read_distances(f, i);
}

static int read_nodes(const struct file *f)
{
	struct np_machine *m = f->m;
	const char *name = json_string_value(json_object_get(f->root, "name"));
	int e = 0;

	m->n_nodes = json_array_size(json_object_get(f->root, "node"));
	if (!name || !m->n_nodes || m->n_nodes > NP_MAX_NODES)
		return np_fail(f->err, f->err_len, -EINVAL, "%s: it has no name or no [[node]], so "
			       "it is no machine file; Documentation/lab.md describes one", f->path);
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->page_size = PAGE_SIZE_OF_FILES;
	m->node = calloc(m->n_nodes, sizeof(*m->node));
	m->distance = calloc(m->n_nodes * m->n_nodes, sizeof(*m->distance));
	m->cpu_node = malloc(NP_MAX_CPUS * sizeof(*m->cpu_node));
	if (!m->node || !m->distance || !m->cpu_node)
		return np_fail(f->err, f->err_len, -ENOMEM, "out of memory");
	for (size_t cpu = 0; cpu < NP_MAX_CPUS; cpu++)
		m->cpu_node[cpu] = NP_NODE_NONE;
	for (size_t i = 0; !e && i < m->n_nodes; i++)
		e = read_node(f, i);
	return e;
}

int np_machine_file_read(const char *name, struct np_machine *m, struct np_model *model,
			 char *err, size_t err_len)
{
	char path[PATH_MAX];
	struct file f = { .path = path, .m = m, .err = err, .err_len = err_len };
	int e = find_file(name, path, sizeof(path), err, err_len);

	memset(m, 0, sizeof(*m));
	if (e)
		return e;
	f.root = np_toml_read(path, err, err_len);
	if (!f.root)
		return errno == ENOENT ? -ENOENT : -EINVAL;
	e = read_nodes(&f);
	if (!e && json_object_get(f.root, "model"))
		e = np_machine_file_model(f.root, path, m, model, err, err_len);
	json_decref(f.root);
	if (e)
		np_machine_free(m);
	return e;
}

static bool is_named(const char *path)
{
	return strcmp(path, FILE_HERE) != 0;
}

int np_machine_file_here(const char **path, char *err, size_t err_len)
{
	*path = getenv("NUMAPLACE_MACHINE_FILE");
	if (!*path || !**path)
		*path = FILE_HERE;
	if (!access(*path, F_OK))
		return 1;
	if (!is_named(*path) && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	return np_fail(err, err_len, -errno, "the machine file %s%s cannot be read: %s", *path,
		       is_named(*path) ? ", which NUMAPLACE_MACHINE_FILE names," : "", strerror(errno));
}

/* Whether it has a [model]: measure-penalty --save makes files that have a [penalty] only. */
static int has_model(const char *path, char *err, size_t err_len)
{
	json_t *root = np_toml_read(path, err, err_len);
	int has = root ? json_object_get(root, "model") != NULL : -EINVAL;

	json_decref(root);
	return has;
}

int np_machine_file_here_model(const struct np_machine *m, struct np_model *model, bool *same_name,
			       char *err, size_t err_len)
{
	const char *path;
	struct np_machine file;
	size_t nodes;
	int e = np_machine_file_here(&path, err, err_len);

	if (e == 1)
		e = has_model(path, err, err_len);
	if (e <= 0)
		return e;
	e = np_machine_file_read(path, &file, model, err, err_len);
	if (e)
		return e;
	nodes = file.n_nodes;
	*same_name = !strcmp(file.name, m->name);
	np_machine_free(&file);
	if (nodes != m->n_nodes && is_named(path))
		return np_fail(err, err_len, -EINVAL, "the model of machine file %s is of %zu nodes, this "
			       "machine has %zu", path, nodes, m->n_nodes);
	return nodes == m->n_nodes;
}
