// SPDX-License-Identifier: GPL-2.0-only
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/grow.h"
#include "proc.h"

/* A hierarchy that cannot be this deep does not fit into a path. */
#define MAX_DEPTH 128

/* Mount point of a hierarchy: type "cgroup2", or "cgroup" with this option. False if it is not. */
static bool find_mount(const char *type, const char *option, char *where, size_t len)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (mounts && !found && (m = getmntent(mounts))) {
		found = !strcmp(m->mnt_type, type) && (!option || hasmntopt(m, option));
		if (found)
			snprintf(where, len, "%s", m->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

struct found {
	pid_t *pid;
	size_t n;
};

static int add(struct found *f, pid_t pid)
{
	if (np_grow(&f->pid, f->n, sizeof(*f->pid)))
		return -ENOMEM;
	f->pid[f->n++] = pid;
	return 0;
}

/*
 * Threaded cgroups refuse to be read: their processes are listed by the cgroup
 * that they are threads of. One that has been removed meanwhile has none.
 */
static int add_processes(const char *folder, struct found *f)
{
	char *text = np_read_file_of("%s/cgroup.procs", folder), *end;
	int e = 0;

	if (!text)
		return errno == EOPNOTSUPP || errno == ENODEV || errno == ENOENT ? 0 : -errno;
	for (char *at = text; !e; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (pid > 0) /* 0: of another pid namespace */
			e = add(f, (pid_t)pid);
	}
	free(text);
	return e;
}

static int walk(const char *folder, int depth, struct found *f)
{
	int e = add_processes(folder, f);
	DIR *dir = e || depth > MAX_DEPTH ? NULL : opendir(folder);
	struct dirent *d;

	while (dir && !e && (d = readdir(dir))) {
		char below[PATH_MAX];

		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", folder, d->d_name) <
		    sizeof(below))
			e = walk(below, depth + 1, f);
	}
	if (dir)
		closedir(dir);
	return e;
}

static bool is_cgroup(const char *folder)
{
	char path[PATH_MAX];
	struct stat st;

	return (size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", folder) < sizeof(path) &&
	       !stat(path, &st);
}

int np_cgroup_root(char *root, size_t len, struct np_err *err)
{
	if (!find_mount("cgroup2", NULL, root, len))
		return np_fail(err, -EOPNOTSUPP,
			       "no cgroup hierarchy of version 2 is mounted; "
			       "`mount -t cgroup2 none /sys/fs/cgroup` mounts it");
	return 0;
}

int np_cgroup_folder(const char *path, char *folder, size_t len, struct np_err *err)
{
	char mount[PATH_MAX];
	int e = np_cgroup_root(mount, sizeof(mount), err);
	size_t n;

	if (e)
		return e;
	n = strlen(mount);
	if (!strncmp(path, mount, n) && (path[n] == '/' || !path[n]))
		path += n;
	while (*path == '/')
		path++;
	if ((size_t)snprintf(folder, len, "%s%s%s", mount, *path ? "/" : "", path) >= len ||
	    strstr(path, "..") || !is_cgroup(folder))
		return np_fail(err, -ENOENT,
			       "no cgroup \"/%s\" below %s; "
			       "/proc/PID/cgroup says which one a process is in",
			       path, mount);
	return 0;
}

int np_cgroup_tasks(const char *path, pid_t **pids, size_t *n, struct np_err *err)
{
	char folder[PATH_MAX];
	struct found f = { 0 };
	int e = np_cgroup_folder(path, folder, sizeof(folder), err);

	*pids = NULL;
	*n = 0;
	if (e)
		return e;
	e = walk(folder, 0, &f);
	if (e) {
		free(f.pid);
		return np_fail(err, e, "the tasks of cgroup %s cannot be read: %s", folder,
			       strerror(-e));
	}
	*pids = f.pid;
	*n = f.n;
	return 0;
}

/* The cgroups of a unit's name; the first two, and how many there are. */
struct units {
	const char *name;
	char path[2][PATH_MAX];
	size_t n;
};

/*
 * A user may make a cgroup of any name in a tree that is delegated to him: of another user's
 * cgroups only root's are looked at.
 */
static bool is_trusted(const char *folder)
{
	struct stat st;

	return !stat(folder, &st) && (st.st_uid == 0 || st.st_uid == geteuid());
}

static void find_below(const char *folder, int depth, struct units *u)
{
	DIR *dir = depth > MAX_DEPTH ? NULL : opendir(folder);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char below[PATH_MAX];

		if (d->d_type != DT_DIR || d->d_name[0] == '.' ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", folder, d->d_name) >=
			    sizeof(below) ||
		    !is_trusted(below))
			continue;
		if (strcmp(d->d_name, u->name) != 0)
			find_below(below, depth + 1, u);
		else if (u->n++ < 2)
			snprintf(u->path[u->n - 1], sizeof(u->path[0]), "%s", below);
	}
	if (dir)
		closedir(dir);
}

/* A name may have dots of its own, as php8.2-fpm has. */
static bool has_type(const char *unit)
{
	static const char *const types[] = { "service", "scope",  "slice",     "socket",
					     "mount",	"swap",	  "automount", "timer",
					     "path",	"target", "device" };
	const char *dot = strrchr(unit, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(dot + 1, types[i]))
			return true;
	return false;
}

void np_unit_name(const char *unit, char *name, size_t len)
{
	snprintf(name, len, "%.*s%s", NAME_MAX, unit, has_type(unit) ? "" : ".service");
}

int np_cgroup_of_unit(const char *unit, char *path, size_t len, struct np_err *err)
{
	char name[NAME_MAX + 16], root[PATH_MAX];
	struct units u = { .name = name };
	int e = np_cgroup_folder("/", root, sizeof(root), err);

	if (e)
		return e;
	np_unit_name(unit, name, sizeof(name));
	find_below(root, 0, &u);
	if (u.n > 1)
		return np_fail(err, -EEXIST,
			       "%zu units \"%s\" run, %.150s and %.150s: name one with --cgroup",
			       u.n, name, u.path[0] + strlen(root), u.path[1] + strlen(root));
	if (!u.n || (size_t)snprintf(path, len, "%s", u.path[0]) >= len)
		return np_fail(err, -ENOENT,
			       "no unit \"%s\" runs; `systemctl list-units` lists them", name);
	return 0;
}

bool np_cgroup_has_word(const char *list, size_t len, const char *word, const char *separators)
{
	size_t n = strlen(word);

	for (size_t at = 0; at + n <= len; at += strcspn(list + at, separators) + 1)
		if (!strncmp(list + at, word, n) &&
		    (at + n == len || strchr(separators, list[at + n])))
			return true;
	return false;
}

bool np_cgroup_of_pid(pid_t pid, const char *controller, char *name, size_t len)
{
	char *text = np_read_file_of("/proc/%d/cgroup", pid);
	bool found = false;

	for (char *line = text; line && *line && !found;) {
		char *list = strchr(line, ':'), *in = list ? strchr(list + 1, ':') : NULL;
		char *end = line + strcspn(line, "\n");

		if (in && in < end) {
			size_t n = (size_t)(in - list - 1);

			found = *controller ? np_cgroup_has_word(list + 1, n, controller, ",") :
					      n == 0;
			if (found)
				snprintf(name, len, "%.*s", (int)(end - in - 1), in + 1);
		}
		line = *end ? end + 1 : end;
	}
	free(text);
	return found;
}

/* Reads the file in the cgroup, or in the nearest one above that has it. */
static int read_upwards(const char *mount, char *name, const char *file, struct bitmask *mask)
{
	while (true) {
		char *text = np_read_file_of("%s%s/%s", mount, name, file), *slash;
		int e;

		if (text) {
			e = np_list_parse_kernel(text, mask);
			free(text);
			return e;
		}
		slash = strrchr(name, '/');
		if (!slash || !*name)
			break;
		*slash = '\0';
	}
	numa_bitmask_setall(mask);
	return 0;
}

struct np_cpusets {
	char mount[PATH_MAX]; /* "": no hierarchy with cpusets */
	const char *controller, *file;
	char last[PATH_MAX];  /* the cgroup that was looked up last */
	struct bitmask *cpus; /* what it allows */
};

struct np_cpusets *np_cpusets_open(void)
{
	struct np_cpusets *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	c->controller = "cpuset";
	c->file = "cpuset.effective_cpus";
	if (find_mount("cgroup", "cpuset", c->mount, sizeof(c->mount)))
		return c;
	c->controller = "";
	c->file = "cpuset.cpus.effective";
	find_mount("cgroup2", NULL, c->mount, sizeof(c->mount));
	return c;
}

void np_cpusets_refresh(struct np_cpusets *c)
{
	c->last[0] = '\0';
}

void np_cpusets_close(struct np_cpusets *c)
{
	if (!c)
		return;
	numa_bitmask_free(c->cpus);
	free(c);
}

int np_cpusets_cpus(struct np_cpusets *c, pid_t pid, struct bitmask *cpus)
{
	char name[PATH_MAX], where[PATH_MAX];
	int e = 0;

	if (!c->mount[0] || !np_cgroup_of_pid(pid, c->controller, name, sizeof(name))) {
		numa_bitmask_setall(cpus);
		return 0;
	}
	if (!c->last[0] || strcmp(c->last, name)) {
		snprintf(where, sizeof(where), "%s", name);
		e = read_upwards(c->mount, where, c->file, c->cpus);
		snprintf(c->last, sizeof(c->last), "%s", e ? "" : name);
	}
	copy_bitmask_to_bitmask(c->cpus, cpus);
	return e;
}

int np_cpusets_mems(pid_t pid, struct bitmask *mems)
{
	int e = np_proc_status_list(pid, "Mems_allowed_list", mems);

	if (e != -ENODATA)
		return e;
	numa_bitmask_setall(mems);
	return 0;
}
