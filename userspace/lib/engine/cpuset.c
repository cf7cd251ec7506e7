// SPDX-License-Identifier: GPL-2.0-only
#include "cpuset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../host/cgroup.h"
#include "../host/proc.h"

#define CONTROL "cgroup.subtree_control"

static const struct {
	const char *key, *file, *effective, *name;
} fields[] = {
	{ "cpus", "cpuset.cpus", "cpuset.cpus.effective", "CPUs" },
	{ "mems", "cpuset.mems", "cpuset.mems.effective", "nodes" },
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* The file's one line without its end; NULL with errno set. The caller frees it. */
static char *read_line(const char *folder, const char *file)
{
	char *text = np_read_file_of("%s/%s", folder, file);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

/* With a newline: nothing at all would not reach the kernel. */
static int write_line(const char *folder, const char *file, const char *text)
{
	char path[PATH_MAX];
	int fd, e;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, file) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	e = dprintf(fd, "%s\n", text) < 0 ? -errno : 0;
	close(fd);
	return e;
}

/*
 * An empty list is refused (ENOSPC) where there are tasks and the list was not empty: they get all
 * that the cgroup above has.
 */
static int write_list(const char *folder, size_t field, const char *list)
{
	char above[PATH_MAX], *all;
	int e = write_line(folder, fields[field].file, list);

	if (e != -ENOSPC || *list)
		return e;
	snprintf(above, sizeof(above), "%s/..", folder);
	all = read_line(above, fields[field].effective);
	if (all)
		e = write_line(folder, fields[field].file, all);
	free(all);
	return e;
}

static int say_not_written(const char *folder, const char *file, int e, struct np_err *err)
{
	const char *hint = e == -EACCES || e == -EPERM ?
				   "; run as root, or as the user whom the cgroup is delegated to" :
				   "";

	return np_fail(err, e, "%.120s/%s cannot be written: %s%s", folder, file, strerror(-e),
		       hint);
}

static bool file_has(const char *folder, const char *file, const char *word)
{
	char *line = read_line(folder, file);
	bool has = line && np_cgroup_has_word(line, strlen(line), word, " ");

	free(line);
	return has;
}

int np_cpuset_check(const char *root, const char *folder, struct np_err *err)
{
	const char *name = folder + strlen(root);

	if (!name[strspn(name, "/")])
		return np_fail(err, -EOPNOTSUPP,
			       "the root cgroup cannot be placed: it has the whole machine; name a "
			       "cgroup below it");
	if (!file_has(root, "cgroup.controllers", "cpuset"))
		return np_fail(err, -EOPNOTSUPP,
			       "cgroup %.120s cannot be placed: version 2 has no cpuset controller "
			       "here; place its processes one by one",
			       name);
	if (file_has(folder, "cgroup.type", "threaded") &&
	    !file_has(folder, "cgroup.type", "domain"))
		return np_fail(err, -EOPNOTSUPP,
			       "cgroup %.120s cannot be placed: it is threaded; place the cgroup of "
			       "the whole process, or a thread with --one-thread",
			       name);
	return 0;
}

/* The nearest above folder, which is cut to it, that has the file. */
static char *read_above(const char *root, char *folder, const char *file)
{
	char *slash, *text;

	while (strlen(folder) > strlen(root) && (slash = strrchr(folder, '/'))) {
		*slash = '\0';
		text = read_line(folder, file);
		if (text)
			return text;
	}
	return NULL;
}

static bool is_within(const char *list, const char *allowed, int most)
{
	struct bitmask *wanted = numa_bitmask_alloc(most), *may = numa_bitmask_alloc(most);
	bool within = !np_list_parse_kernel(list, wanted) && !np_list_parse_kernel(allowed, may);

	for (unsigned int i = 0; within && i < wanted->size; i++)
		within = !numa_bitmask_isbitset(wanted, i) || numa_bitmask_isbitset(may, i);
	numa_bitmask_free(wanted);
	numa_bitmask_free(may);
	return within;
}

int np_cpuset_fits(const char *root, const char *folder, const json_t *lists, struct np_err *err)
{
	int e = 0;

	for (size_t i = 0; !e && i < FIELDS; i++) {
		const char *list = json_string_value(json_object_get(lists, fields[i].key));
		char above[PATH_MAX], *allowed;

		if (!list)
			continue;
		snprintf(above, sizeof(above), "%s", folder);
		allowed = read_above(root, above, fields[i].effective);
		if (allowed && !is_within(list, allowed, NP_MAX_CPUS))
			e = np_fail(err, -EINVAL,
				    "cgroup %.80s cannot have %s %.30s: cgroup %.40s/ above it has "
				    "%.30s; name some of these, or place that cgroup",
				    folder + strlen(root), fields[i].name, list,
				    above + strlen(root), allowed);
		free(allowed);
	}
	return e;
}

json_t *np_cpuset_read(const char *folder)
{
	json_t *lists = json_object();

	for (size_t i = 0; i < FIELDS; i++) {
		char *text = read_line(folder, fields[i].file);

		json_object_set_new(lists, fields[i].key, json_string(text ? text : ""));
		free(text);
	}
	return lists;
}

int np_cpuset_write(const char *folder, const json_t *lists, struct np_err *err)
{
	json_t *before = np_cpuset_read(folder);
	const char *list;
	size_t i;
	int e = 0;

	for (i = 0; !e && i < FIELDS; i++) {
		list = json_string_value(json_object_get(lists, fields[i].key));
		e = list ? write_list(folder, i, list) : 0;
		if (e)
			say_not_written(folder, fields[i].file, e, err);
	}
	while (e && i-- > 0)
		if (json_object_get(lists, fields[i].key))
			write_list(folder, i,
				   json_string_value(json_object_get(before, fields[i].key)));
	json_decref(before);
	return e;
}

json_t *np_cpuset_missing(const char *root, const char *folder)
{
	json_t *levels = json_array();
	size_t skip = strlen(root);
	char level[PATH_MAX];

	for (size_t at = skip; folder[at] == '/'; at += 1 + strcspn(folder + at + 1, "/")) {
		snprintf(level, sizeof(level), "%.*s", (int)at, folder);
		if (folder[at + 1] && !file_has(level, CONTROL, "cpuset"))
			json_array_append_new(levels, json_string(level + skip));
	}
	return levels;
}

static void folder_of(const char *root, const json_t *levels, size_t i, char *folder)
{
	snprintf(folder, PATH_MAX, "%s%s", root, json_string_value(json_array_get(levels, i)));
}

int np_cpuset_enable(const char *root, const json_t *levels, struct np_err *err)
{
	char folder[PATH_MAX];
	size_t i;
	int e = 0;

	for (i = 0; !e && i < json_array_size(levels); i++) {
		folder_of(root, levels, i, folder);
		e = write_line(folder, CONTROL, "+cpuset");
		if (e)
			say_not_written(folder, CONTROL, e, err);
	}
	for (i -= e != 0; e && i-- > 0;) {
		folder_of(root, levels, i, folder);
		write_line(folder, CONTROL, "-cpuset");
	}
	return e;
}

/* Whether this child has other CPUs or nodes than all of level's; the kernel sees those below it. */
static bool is_in_use(const char *level, const char *folder)
{
	bool used = false;

	for (size_t i = 0; i < FIELDS; i++) {
		char *list = read_line(folder, fields[i].file);
		char *all = read_line(level, fields[i].effective);

		used |= list && *list && !(all && !strcmp(list, all));
		free(list);
		free(all);
	}
	return used;
}

static bool child_uses_it(const char *folder)
{
	DIR *dir = opendir(folder);
	char below[PATH_MAX];
	struct dirent *d;
	bool used = false;

	while (dir && !used && (d = readdir(dir)))
		used = d->d_type == DT_DIR && d->d_name[0] != '.' &&
		       (size_t)snprintf(below, sizeof(below), "%s/%s", folder, d->d_name) <
			       sizeof(below) &&
		       is_in_use(folder, below);
	if (dir)
		closedir(dir);
	return used;
}

json_t *np_cpuset_disable(const char *root, const json_t *levels)
{
	json_t *used = json_array();
	char folder[PATH_MAX];

	for (size_t i = json_array_size(levels); i-- > 0;) {
		folder_of(root, levels, i, folder);
		if (file_has(folder, CONTROL, "cpuset") &&
		    (child_uses_it(folder) || write_line(folder, CONTROL, "-cpuset")))
			json_array_insert(used, 0, json_array_get(levels, i));
	}
	return used;
}
