// SPDX-License-Identifier: GPL-2.0-only
#include "state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/error.h"
#include "../host/proc.h"

/* Seconds that another may hold a lock, and how often it is looked at meanwhile. */
#define TIMEOUT_S 10
#define NAP_NS	  5000000
#define BOOT_LEN  40 /* room for the name of a boot */

int np_state_folder(char *path, size_t path_len, struct np_err *err)
{
	const char *base = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");

	if (!base || !*base)
		return np_fail(err, -ENOENT,
			       "no folder for the originals of what is placed: XDG_RUNTIME_DIR is "
			       "not set; set it to a private folder, or run as root");
	if ((size_t)snprintf(path, path_len, "%s/numaplace", base) >= path_len)
		return np_fail(err, -ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
	if (mkdir(path, 0700) && errno != EEXIST)
		return np_fail(err, -errno, "folder %s cannot be made: %s", path, strerror(errno));
	return 0;
}

/* The process that says in the file at path that it holds the lock. */
static void read_holder(const char *path, struct np_proc_stat *holder)
{
	char *text = np_read_file(path);

	holder->pid = text ? (pid_t)atoi(text) : 0;
	if (holder->pid > 0)
		np_proc_stat(holder->pid, holder);
	free(text);
}

/* 0, or -errno. A signal with a handler ends the wait. */
static int wait_for_lock(int fd, int seconds)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	double end = np_clock(CLOCK_MONOTONIC) + seconds;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (np_clock(CLOCK_MONOTONIC) >= end)
			return -EBUSY;
		if (nanosleep(&nap, NULL) && errno == EINTR)
			return -EINTR;
	}
	return 0;
}

int np_lock_file(const char *path, int seconds, struct np_proc_stat *holder, struct np_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), e;

	*holder = (struct np_proc_stat) { .comm = "unknown" };
	if (fd < 0)
		return np_fail(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
	e = wait_for_lock(fd, seconds);
	if (e == -EBUSY || e == -EINTR)
		read_holder(path, holder);
	else if (e)
		np_fail(err, e, "%s cannot be locked: %s", path, strerror(-e));
	else if (dprintf(fd, "%-10d\n", getpid()) < 0)
		e = np_fail(err, -errno, "%s cannot be written: %s", path, strerror(errno));
	if (!e)
		return fd;
	close(fd);
	return e;
}

/* The lock is a file of its own, because the state file is replaced; it is held for a short time. */
static int take_lock(struct np_state_file *f, struct np_err *err)
{
	struct np_proc_stat holder;
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s.lock", f->path);
	f->lock = np_lock_file(path, TIMEOUT_S, &holder, err);
	if (f->lock == -EINTR)
		return np_fail(err, -EINTR, "interrupted while process %d (%s) held %s", holder.pid,
			       holder.comm, path);
	if (f->lock == -EBUSY)
		return np_fail(err, -EBUSY,
			       "process %d (%s) has held %s for %d s; try again when it has ended",
			       holder.pid, holder.comm, path, TIMEOUT_S);
	return f->lock < 0 ? f->lock : 0;
}

int np_state_file_open(struct np_state_file *f, const char *path, const char *name,
		       struct np_err *err)
{
	char folder[PATH_MAX - 64];
	int e = 0;

	f->lock = f->data = -1;
	f->foreign = NULL;
	if (!path)
		e = np_state_folder(folder, sizeof(folder), err);
	if (!e && path)
		snprintf(f->path, sizeof(f->path), "%s", path);
	else if (!e)
		snprintf(f->path, sizeof(f->path), "%s/%.60s", folder, name);
	if (!e)
		e = take_lock(f, err);
	if (e)
		np_state_file_close(f);
	return e;
}

void np_state_file_close(struct np_state_file *f)
{
	if (f->lock >= 0)
		close(f->lock);
	if (f->data >= 0)
		close(f->data);
	json_decref(f->foreign);
	f->foreign = NULL;
	f->lock = f->data = -1;
}

/* The inode of this process's pid namespace, 0: not known. */
static json_int_t own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (json_int_t)st.st_ino;
}

static json_int_t namespace_of(const json_t *record)
{
	return json_integer_value(json_object_get(record, "pid_namespace"));
}

/* Says of records with a number of a process whose number it is. */
static void stamp(json_t *records)
{
	json_int_t own = own_namespace();
	json_t *record;
	size_t i;

	json_array_foreach(records, i, record)
		if (own && json_object_get(record, "pid"))
			json_object_set_new(record, "pid_namespace", json_integer(own));
}

/* Moves the records of other namespaces from the array to f->foreign. */
static void set_foreign_aside(struct np_state_file *f, json_t *records)
{
	json_int_t own = own_namespace();

	json_decref(f->foreign);
	f->foreign = json_array();
	for (size_t i = 0; i < json_array_size(records);) {
		json_t *record = json_array_get(records, i);

		if (!namespace_of(record) || namespace_of(record) == own) {
			i++;
			continue;
		}
		json_array_append(f->foreign, record);
		json_array_remove(records, i);
	}
}

void np_state_file_say_foreign(const struct np_state_file *f, struct np_err *err)
{
	json_int_t first = namespace_of(json_array_get(f->foreign, 0));
	size_t i, n = json_array_size(f->foreign);
	bool others = false;
	json_t *record;

	json_array_foreach(f->foreign, i, record)
		others |= namespace_of(record) != first;
	if (n)
		np_fail(err, 0, "%zu placement%s to pid namespace %lld%s: restore %s there", n,
			n == 1 ? " belongs" : "s belong", (long long)first,
			others ? " and others" : "", n == 1 ? "it" : "them");
}

/* The object's array, with the records that were appended behind the object; NULL: damaged. */
static json_t *parse(const char *text, size_t len, const char *name, json_t **boot)
{
	json_error_t where;
	json_t *root = json_loadb(text, len, JSON_DISABLE_EOF_CHECK, &where), *record;
	json_t *array = json_object_get(root, name);
	size_t at = root ? (size_t)where.position : 0;

	*boot = json_incref(json_object_get(root, "boot"));
	array = json_is_array(array) && json_is_string(*boot) ? json_incref(array) : NULL;
	json_decref(root);
	while (array && at + strspn(text + at, " \n") < len) {
		record = json_loadb(text + at, len - at, JSON_DISABLE_EOF_CHECK, &where);
		at += record ? (size_t)where.position : 0;
		if (!record || json_array_append_new(array, record)) {
			json_decref(array);
			array = NULL;
		}
	}
	return array;
}

/* Without a last line that was not written to its end: what it is about was not done. */
static size_t whole_length(const char *text)
{
	const char *end = strrchr(text, '\n');

	if (end && end[1] == '{')
		return (size_t)(end - text) + 1;
	return strlen(text);
}

int np_state_file_damaged(const struct np_state_file *f, const char *what, struct np_err *err)
{
	return np_fail(err, -EINVAL, "%s is damaged, so %s not known; move it away to go on",
		       f->path, what);
}

int np_state_file_load(struct np_state_file *f, const char *name, const char *what,
		       json_t **records, struct np_err *err)
{
	char *text = np_read_file(f->path), now[BOOT_LEN];
	json_t *array, *boot;
	size_t len;
	int e = 0;

	*records = NULL;
	if (!text && errno == ENOENT)
		return 0;
	if (!text)
		return np_fail(err, -errno, "%s cannot be read: %s", f->path, strerror(errno));
	len = whole_length(text);
	array = parse(text, len, name, &boot);
	free(text);
	np_boot_id(now, sizeof(now));
	if (!array) {
		e = np_state_file_damaged(f, what, err);
	} else if (now[0] && !strcmp(json_string_value(boot), now)) {
		set_foreign_aside(f, array);
		*records = json_incref(array);
		f->data = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
		f->size = (off_t)len;
	}
	json_decref(boot);
	json_decref(array);
	return e;
}

int np_state_file_save(struct np_state_file *f, const char *name, json_t *records,
		       struct np_err *err)
{
	char path[PATH_MAX + 8], boot[BOOT_LEN], *text;
	json_t *all = json_copy(records), *root;
	int fd, e = 0;

	np_boot_id(boot, sizeof(boot));
	stamp(records);
	if (f->foreign)
		json_array_extend(all, f->foreign);
	root = boot[0] ? json_pack("{s:s,s:o}", "boot", boot, name, all) : NULL;
	text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	snprintf(path, sizeof(path), "%s.new", f->path);
	unlink(path);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (!text)
		e = -ENOMEM;
	else if (fd < 0 || dprintf(fd, "%s\n", text) < 0 || rename(path, f->path))
		e = errno ? -errno : -EIO;
	free(text);
	json_decref(root);
	if (f->data >= 0)
		close(f->data);
	f->data = e ? -1 : fd;
	f->size = e ? 0 : lseek(fd, 0, SEEK_END);
	if (e) {
		if (fd >= 0)
			close(fd);
		unlink(path);
		np_fail(err, e, "%s cannot be written: %s", f->path, strerror(-e));
	}
	return e;
}

static char *lines_of(const json_t *records)
{
	char *text = NULL;
	size_t i, len;
	FILE *out = open_memstream(&text, &len);
	json_t *record;
	int e = out ? 0 : -ENOMEM;

	json_array_foreach(records, i, record)
		if (!e)
			e = json_dumpf(record, out, JSON_COMPACT) || fputc('\n', out) == EOF;
	if (out)
		e |= fclose(out);
	if (!e)
		return text;
	free(text);
	return NULL;
}

int np_state_file_append(struct np_state_file *f, json_t *records, struct np_err *err)
{
	char *text;
	ssize_t done;
	size_t len;
	int e = 0;

	if (f->data < 0)
		return -ENOENT;
	stamp(records);
	text = lines_of(records);
	if (!text)
		return np_fail(err, -ENOMEM, "out of memory");
	len = strlen(text);
	errno = 0;
	/* Cuts off a record that another process left unfinished. */
	done = ftruncate(f->data, f->size) ? -1 : write(f->data, text, len);
	if (done == (ssize_t)len) {
		f->size += done;
	} else {
		e = errno ? -errno : -ENOSPC;
		np_fail(err, e, "%s cannot be written: %s", f->path, strerror(-e));
		if (done > 0 && ftruncate(f->data, f->size))
			e = -EIO;
	}
	free(text);
	return e;
}

bool np_state_file_unchanged(const struct np_state_file *f)
{
	struct stat loaded, now;

	/* The inode number of an open file is not reused. */
	return f->data >= 0 && !fstat(f->data, &loaded) && !stat(f->path, &now) &&
	       loaded.st_dev == now.st_dev && loaded.st_ino == now.st_ino && now.st_size == f->size;
}
