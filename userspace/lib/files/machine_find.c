// SPDX-License-Identifier: GPL-2.0-only
/* Where machine files are: those that come with numaplace, and the one of the machine that this runs on. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/toml.h"
#include "machine_file.h"

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

int np_machine_file_find(const char *name, char *path, size_t len, char *err, size_t err_len)
{
	char folder[PATH_MAX - 256], names[NP_ERR_LEN - 80];
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
