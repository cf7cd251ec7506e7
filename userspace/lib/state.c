// SPDX-License-Identifier: GPL-2.0-only
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "list.h"
#include "proc.h"

/* Room for any mask of NP_MAX_CPUS: every other CPU is the longest. */
#define LIST_ROOM (64 * 1024)

static int default_path(char *path, char *err, size_t err_len)
{
	const char *base = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");

	if (!base || !*base)
		return np_fail(err, err_len, -ENOENT,
			       "no folder for the originals of what is placed: XDG_RUNTIME_DIR is "
			       "not set; set it to a private folder, or run as root");
	snprintf(path, PATH_MAX, "%s/numaplace", base);
	if (mkdir(path, 0700) && errno != EEXIST)
		return np_fail(err, err_len, -errno, "folder %s cannot be made: %s", path,
			       strerror(errno));
	snprintf(path, PATH_MAX, "%s/numaplace/state.json", base);
	return 0;
}

/* The lock is a file of its own, because the state file is replaced. */
static int take_lock(struct np_state *s, char *err, size_t err_len)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s.lock", s->path);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0 || flock(s->lock, LOCK_EX))
		return np_fail(err, err_len, -errno, "%s cannot be locked: %s", path,
			       strerror(errno));
	return 0;
}

static char *boot_id(void)
{
	char *id = np_read_file("/proc/sys/kernel/random/boot_id");

	if (id)
		id[strcspn(id, "\n")] = '\0';
	return id;
}

static bool still_there(const struct np_saved *r)
{
	struct np_proc_stat st;

	return !np_proc_thread_stat(r->pid, r->tid, &st) && st.start == r->start;
}

static int load_record(struct np_state *s, json_t *item)
{
	const char *original, *set;
	struct np_saved r = { 0 };
	int inherit, e = -EINVAL;
	json_int_t start;

	if (json_unpack(item, "{s:i,s:i,s:I,s:b,s:s,s:s}", "tid", &r.tid, "pid", &r.pid, "start",
			&start, "inherit", &inherit, "original", &original, "set", &set))
		return -EINVAL;
	r.start = (unsigned long long)start;
	r.inherit = inherit;
	r.original = numa_bitmask_alloc(NP_MAX_CPUS);
	r.set = numa_bitmask_alloc(NP_MAX_CPUS);
	if (!np_list_parse_kernel(original, r.original) && !np_list_parse_kernel(set, r.set) &&
	    numa_bitmask_weight(r.original) && numa_bitmask_weight(r.set))
		e = still_there(&r) ? np_state_add(s, &r) : 0;
	numa_bitmask_free(r.original);
	numa_bitmask_free(r.set);
	return e;
}

static int load_records(struct np_state *s, json_t *root)
{
	const char *boot = json_string_value(json_object_get(root, "boot"));
	json_t *threads = json_object_get(root, "threads"), *item;
	char *now = boot_id();
	size_t i;
	int e = 0;

	if (!boot || !json_is_array(threads))
		e = -EINVAL;
	else if (!now || strcmp(boot, now))
		threads = NULL;
	json_array_foreach(threads, i, item)
		if (!e)
			e = load_record(s, item);
	free(now);
	return e;
}

static int load(struct np_state *s, char *err, size_t err_len)
{
	char *text = np_read_file(s->path);
	json_t *root;
	int e;

	if (!text && errno == ENOENT)
		return 0;
	if (!text)
		return np_fail(err, err_len, -errno, "%s cannot be read: %s", s->path,
			       strerror(errno));
	root = json_loads(text, 0, NULL);
	free(text);
	e = root ? load_records(s, root) : -EINVAL;
	json_decref(root);
	if (e)
		return np_fail(err, err_len, e,
			       "%s is damaged, so the original CPUs of placed tasks are not known; "
			       "move it away to go on", s->path);
	return 0;
}

int np_state_open(struct np_state *s, const char *path, char *err, size_t err_len)
{
	int e = 0;

	memset(s, 0, sizeof(*s));
	s->lock = -1;
	if (path)
		snprintf(s->path, sizeof(s->path), "%s", path);
	else
		e = default_path(s->path, err, err_len);
	if (!e)
		e = take_lock(s, err, err_len);
	if (!e)
		e = load(s, err, err_len);
	if (e)
		np_state_close(s);
	return e;
}

static json_t *to_json(const struct np_state *s)
{
	char *original = malloc(LIST_ROOM), *set = malloc(LIST_ROOM), *boot = boot_id();
	json_t *threads = json_array(), *root = NULL;

	for (size_t i = 0; original && set && i < s->n; i++) {
		const struct np_saved *r = &s->saved[i];

		np_list_format(r->original, original, LIST_ROOM);
		np_list_format(r->set, set, LIST_ROOM);
		json_array_append_new(threads,
				      json_pack("{s:i,s:i,s:I,s:b,s:s,s:s}", "tid", r->tid, "pid",
						r->pid, "start", (json_int_t)r->start, "inherit",
						r->inherit, "original", original, "set", set));
	}
	if (original && set && boot && json_array_size(threads) == s->n)
		root = json_pack("{s:s,s:O}", "boot", boot, "threads", threads);
	json_decref(threads);
	free(original);
	free(set);
	free(boot);
	return root;
}

int np_state_save(const struct np_state *s, char *err, size_t err_len)
{
	char path[PATH_MAX + 8];
	json_t *root = to_json(s);
	int fd, e = 0;

	snprintf(path, sizeof(path), "%s.new", s->path);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (!root)
		e = -ENOMEM;
	else if (fd < 0 || json_dumpfd(root, fd, JSON_INDENT(1)) || rename(path, s->path))
		e = errno ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
	json_decref(root);
	if (e) {
		unlink(path);
		np_fail(err, err_len, e, "%s cannot be written: %s", s->path, strerror(-e));
	}
	return e;
}

void np_state_close(struct np_state *s)
{
	for (size_t i = 0; i < s->n; i++) {
		numa_bitmask_free(s->saved[i].original);
		numa_bitmask_free(s->saved[i].set);
	}
	free(s->saved);
	if (s->lock >= 0)
		close(s->lock);
	memset(s, 0, sizeof(*s));
	s->lock = -1;
}

struct np_saved *np_state_find(struct np_state *s, pid_t tid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->saved[i].tid == tid)
			return &s->saved[i];
	return NULL;
}

static struct bitmask *copy_of(const struct bitmask *from)
{
	struct bitmask *to = numa_bitmask_alloc(NP_MAX_CPUS);

	copy_bitmask_to_bitmask((struct bitmask *)from, to);
	return to;
}

int np_state_add(struct np_state *s, const struct np_saved *record)
{
	struct np_saved *bigger = realloc(s->saved, sizeof(*bigger) * (s->n + 1));

	if (!bigger)
		return -ENOMEM;
	s->saved = bigger;
	s->saved[s->n] = *record;
	s->saved[s->n].original = copy_of(record->original);
	s->saved[s->n].set = copy_of(record->set);
	s->n++;
	return 0;
}

void np_state_drop(struct np_state *s, pid_t tid)
{
	struct np_saved *r = np_state_find(s, tid);

	if (!r)
		return;
	numa_bitmask_free(r->original);
	numa_bitmask_free(r->set);
	*r = s->saved[--s->n];
}
