// SPDX-License-Identifier: GPL-2.0-only
#include "state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "proc.h"

int np_state_folder(char *path, size_t path_len, char *err, size_t err_len)
{
	const char *base = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");

	if (!base || !*base)
		return np_fail(err, err_len, -ENOENT,
			       "no folder for the originals of what is placed: XDG_RUNTIME_DIR is "
			       "not set; set it to a private folder, or run as root");
	if ((size_t)snprintf(path, path_len, "%s/numaplace", base) >= path_len)
		return np_fail(err, err_len, -ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
	if (mkdir(path, 0700) && errno != EEXIST)
		return np_fail(err, err_len, -errno, "folder %s cannot be made: %s", path,
			       strerror(errno));
	return 0;
}

/* The lock is a file of its own, because the state file is replaced. */
static int take_lock(struct np_state_file *f, char *err, size_t err_len)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s.lock", f->path);
	f->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->lock < 0 || flock(f->lock, LOCK_EX))
		return np_fail(err, err_len, -errno, "%s cannot be locked: %s", path,
			       strerror(errno));
	return 0;
}

int np_state_file_open(struct np_state_file *f, const char *path, const char *name,
		       char *err, size_t err_len)
{
	char folder[PATH_MAX - 64];
	int e = 0;

	f->lock = -1;
	if (!path)
		e = np_state_folder(folder, sizeof(folder), err, err_len);
	if (!e && path)
		snprintf(f->path, sizeof(f->path), "%s", path);
	else if (!e)
		snprintf(f->path, sizeof(f->path), "%s/%.60s", folder, name);
	if (!e)
		e = take_lock(f, err, err_len);
	if (e)
		np_state_file_close(f);
	return e;
}

void np_state_file_close(struct np_state_file *f)
{
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
}

static char *boot_id(void)
{
	char *id = np_read_file("/proc/sys/kernel/random/boot_id");

	if (id)
		id[strcspn(id, "\n")] = '\0';
	return id;
}

int np_state_file_load(const struct np_state_file *f, const char *name, const char *what,
		       json_t **records, char *err, size_t err_len)
{
	char *text = np_read_file(f->path), *now;
	const char *boot;
	json_t *root, *array;
	int e = 0;

	*records = NULL;
	if (!text && errno == ENOENT)
		return 0;
	if (!text)
		return np_fail(err, err_len, -errno, "%s cannot be read: %s", f->path,
			       strerror(errno));
	root = json_loads(text, 0, NULL);
	free(text);
	boot = json_string_value(json_object_get(root, "boot"));
	array = json_object_get(root, name);
	now = boot_id();
	if (!boot || !json_is_array(array))
		e = np_fail(err, err_len, -EINVAL,
			    "%s is damaged, so %s not known; move it away to go on", f->path, what);
	else if (now && !strcmp(boot, now))
		*records = json_incref(array);
	free(now);
	json_decref(root);
	return e;
}

int np_state_file_save(const struct np_state_file *f, const char *name, json_t *records,
		       char *err, size_t err_len)
{
	char path[PATH_MAX + 8], *boot = boot_id();
	json_t *root = boot ? json_pack("{s:s,s:O}", "boot", boot, name, records) : NULL;
	int fd, e = 0;

	free(boot);
	snprintf(path, sizeof(path), "%s.new", f->path);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (!root)
		e = -ENOMEM;
	else if (fd < 0 || json_dumpfd(root, fd, JSON_INDENT(1)) || rename(path, f->path))
		e = errno ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
	json_decref(root);
	if (e) {
		unlink(path);
		np_fail(err, err_len, e, "%s cannot be written: %s", f->path, strerror(-e));
	}
	return e;
}
