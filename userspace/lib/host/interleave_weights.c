// SPDX-License-Identifier: GPL-2.0-only
#include "interleave_weights.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/error.h"
#include "proc.h"

#define FOLDER "/sys/kernel/mm/mempolicy/weighted_interleave"

static char *path_of(const char *root, const char *name, char *path)
{
	snprintf(path, PATH_MAX, "%s" FOLDER "/%s", root, name);
	return path;
}

static int is_node(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "node", 4);
}

json_t *np_weights_kernel_read(const char *root)
{
	struct dirent **entry;
	char path[PATH_MAX];
	int n = scandir(path_of(root, "", path), &entry, is_node, versionsort);
	json_t *weights = n > 0 ? json_object() : NULL;

	for (int i = 0; i < n; i++) {
		char *text = np_read_file(path_of(root, entry[i]->d_name, path));

		if (text)
			json_object_set_new(weights, entry[i]->d_name + 4,
					    json_integer(atoi(text)));
		free(text);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	return weights;
}

/* -ENOENT is left unsaid. */
static int write_file(const char *root, const char *name, const char *text, struct np_err *err)
{
	char path[PATH_MAX];
	int fd = open(path_of(root, name, path), O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int e = done ? 0 : errno ? -errno : -EIO;

	if (fd >= 0)
		close(fd);
	if (e && e != -ENOENT)
		np_fail(err, e, "%s cannot be written: %s", path, strerror(-e));
	return e;
}

int np_weights_kernel_write(const char *root, const json_t *weights, struct np_err *err)
{
	json_t *now = np_weights_kernel_read(root), *weight;
	const char *id;
	int e = 0;

	json_object_foreach((json_t *)weights, id, weight) {
		char name[32], text[32];

		if (e || json_equal(weight, json_object_get(now, id)))
			continue;
		snprintf(name, sizeof(name), "node%.20s", id);
		snprintf(text, sizeof(text), "%d\n", (int)json_integer_value(weight));
		e = write_file(root, name, text, err);
		if (e == -ENOENT)
			e = 0;
	}
	json_decref(now);
	return e;
}

int np_weights_kernel_auto(const char *root)
{
	char path[PATH_MAX], *text = np_read_file(path_of(root, "auto", path));
	int value = text ? strchr("tTyY1", *text) && *text : -1;

	free(text);
	return value;
}

int np_weights_kernel_set_auto(const char *root, struct np_err *err)
{
	int e = write_file(root, "auto", "true\n", err);

	return e == -ENOENT ? 0 : e;
}

int np_weights_kernel_check(const char *root, struct np_err *err)
{
	json_t *weights = np_weights_kernel_read(root), *weight;
	char path[PATH_MAX], name[32];
	const char *id;
	int e = 0;

	if (!weights)
		return np_fail(err, -EOPNOTSUPP,
			       "this kernel has no interleave weights "
			       "(Linux 6.9 and later have): leave --weights out");
	json_object_foreach(weights, id, weight) {
		snprintf(name, sizeof(name), "node%.20s", id);
		if (!e && access(path_of(root, name, path), W_OK))
			e = np_fail(err, -errno,
				    "%s cannot be written: %s; run as root, or leave "
				    "--weights out",
				    path, strerror(errno));
	}
	json_decref(weights);
	return e;
}

const char *np_weights_list(const json_t *weights, char *text, size_t len)
{
	const char *id;
	json_t *weight;
	size_t at = 0;

	text[0] = '\0';
	json_object_foreach((json_t *)weights, id, weight)
		if (at < len)
			at += (size_t)snprintf(text + at, len - at, "%s%s:%d", at ? " " : "", id,
					       (int)json_integer_value(weight));
	return text;
}
