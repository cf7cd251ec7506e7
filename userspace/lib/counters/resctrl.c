// SPDX-License-Identifier: GPL-2.0-only
/*
 * The resctrl group of a task. Counts bytes that L3 caches moved from and to
 * memory; lines are bytes / 64. Has local and total bytes only.
 */
#include "resctrl.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../host/proc.h"

#define RESCTRL	   "/sys/fs/resctrl"
#define LINE_BYTES 64.0

struct resctrl {
	char (*group)[2 * NAME_MAX + 64]; /* [n] folders */
	size_t n;
};

static int read_bytes(const char *group, const char *cache, const char *file, uint64_t *sum,
		      struct np_err *err)
{
	char path[PATH_MAX], *text, *end;
	unsigned long long bytes;
	int e = 0;

	snprintf(path, sizeof(path), "%s/mon_data/%s/%s", group, cache, file);
	text = np_read_file(path);
	if (!text)
		return np_fail(err, -errno, "%s cannot be read: %s", path, strerror(errno));
	errno = 0;
	bytes = strtoull(text, &end, 10);
	if (end == text || *text == '-' || errno || (*end && *end != '\n'))
		e = np_fail(err, -EINVAL, "%s says \"%.*s\"", path, (int)strcspn(text, "\n"), text);
	*sum += bytes;
	free(text);
	return e;
}

int np_resctrl_read(const char *group, uint64_t *local, uint64_t *total, struct np_err *err)
{
	char path[PATH_MAX];
	size_t caches = 0;
	struct dirent *d;
	DIR *dir;
	int e = 0;

	*local = *total = 0;
	snprintf(path, sizeof(path), "%s/mon_data", group);
	dir = opendir(path);
	if (!dir)
		return np_fail(err, -errno, "%s cannot be read: %s", path, strerror(errno));
	while (!e && (d = readdir(dir))) {
		if (strncmp(d->d_name, "mon_L3_", 7))
			continue;
		caches++;
		e = read_bytes(group, d->d_name, "mbm_local_bytes", local, err);
		if (!e)
			e = read_bytes(group, d->d_name, "mbm_total_bytes", total, err);
	}
	closedir(dir);
	if (!e && !caches)
		e = np_fail(err, -ENOENT, "%s names no L3 cache", path);
	return e;
}

/* The value of a line "res:VALUE" or "mon:VALUE"; false when there is no such line. */
static bool word_of(const char *groups, const char *key, char *word, size_t len)
{
	const char *line = strstr(groups, key);

	if (!line)
		return false;
	line += strlen(key);
	snprintf(word, len, "%.*s", (int)strcspn(line, "\n"), line);
	return true;
}

/* pid itself, a thread of it, or of what it has started. */
static bool belongs(pid_t tid, pid_t pid)
{
	struct np_proc_stat st;
	pid_t group = np_proc_group(tid);

	while (group > 1 && group != pid)
		group = np_proc_stat(group, &st) ? 0 : st.ppid;
	return group == pid;
}

/* The group's tasks are all of pid, and its own threads are all there. */
static int check_tasks(const char *group, pid_t pid, struct np_err *err)
{
	char path[PATH_MAX], *text, *at, *end;
	size_t n = 0, here = 0;
	pid_t *tids, tid;
	int e = 0;

	snprintf(path, sizeof(path), "%s/tasks", group);
	text = np_read_file(path);
	if (!text)
		return np_fail(err, -errno, "%s cannot be read: %s", path, strerror(errno));
	for (at = text; !e && (tid = (pid_t)strtol(at, &end, 10)) > 0; at = end) {
		here += np_proc_group(tid) == pid;
		if (!belongs(tid, pid) && np_proc_group(tid) > 0)
			e = np_fail(err, -EOPNOTSUPP,
				    "task %d is in %s too, so its bytes are not "
				    "those of process %d; give that one a monitoring group of its own",
				    tid, group, pid);
	}
	free(text);
	if (!e && !np_proc_threads(pid, &tids, &n)) {
		free(tids);
		if (here < n)
			e = np_fail(err, -EOPNOTSUPP,
				    "%s has %zu of the %zu threads of process %d, "
				    "so its bytes are not all",
				    group, here, n, pid);
	}
	return e;
}

int np_resctrl_group(const char *root, pid_t pid, const char *groups, char *group, size_t len,
		     struct np_err *err)
{
	char res[NAME_MAX + 2], mon[NAME_MAX + 1];

	if (!word_of(groups, "res:", res, sizeof(res)) || !*res ||
	    !word_of(groups, "mon:", mon, sizeof(mon)))
		return np_fail(err, -ENODEV,
			       "resctrl is not mounted (mount -t resctrl resctrl " RESCTRL ")");
	if (!strcmp(res, "/"))
		res[0] = '\0';
	if (!*res && !*mon)
		return np_fail(err, -EOPNOTSUPP,
			       "process %d is in no group of resctrl but that of "
			       "all tasks; make it one in %s/mon_groups and write its threads into "
			       "that one's file tasks",
			       pid, root);
	snprintf(group, len, "%s%s%s%s%s", root, *res ? "/" : "", res, *mon ? "/mon_groups/" : "",
		 mon);
	return check_tasks(group, pid, err);
}

static int find_group(struct resctrl *r, const struct np_subject *s, struct np_err *err)
{
	char path[64], *groups, *group = r->group[r->n];
	uint64_t local, total;
	int e;

	if (s->cpu >= 0)
		return np_fail(err, -ENODEV,
			       "resctrl counts for groups of tasks, not for CPUs; "
			       "name tasks (--pid)");
	snprintf(path, sizeof(path), "/proc/%d/cpu_resctrl_groups", s->pid);
	groups = np_read_file(path);
	if (!groups)
		return np_fail(err, -ENODEV,
			       "%s cannot be read: %s; the processor or the kernel has no resctrl",
			       path, strerror(errno));
	e = np_resctrl_group(RESCTRL, s->pid, groups, group, sizeof(*r->group), err);
	free(groups);
	if (!e)
		e = np_resctrl_read(group, &local, &total, err);
	r->n += !e;
	return e;
}

static void resctrl_close(void *state)
{
	struct resctrl *r = state;

	free(r->group);
	free(r);
}

static int resctrl_open(struct np_counters *c, void **state, struct np_err *err)
{
	struct resctrl *r = calloc(1, sizeof(*r));
	int e = 0;

	if (r)
		r->group = calloc(c->n + 1, sizeof(*r->group));
	if (!r || !r->group)
		e = np_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !e && i < c->n; i++)
		e = find_group(r, &c->subject[i], err);
	if (e && r)
		resctrl_close(r);
	else
		*state = r;
	return e;
}

static struct np_count lines(double bytes)
{
	return (struct np_count) {
		.value = bytes / LINE_BYTES,
		.share = 1,
		.source = np_counters_resctrl.name,
	};
}

static void resctrl_read(struct np_counters *c, void *state, struct np_reading *readings)
{
	const struct resctrl *r = state;
	struct np_err err;

	for (size_t i = 0; i < c->n; i++) {
		struct np_count *event = readings[i].event;
		uint64_t local, total;

		for (int e = 0; e < NP_EVENTS; e++)
			event[e] = np_count_missing("resctrl counts bytes of memory only");
		if (np_resctrl_read(r->group[i], &local, &total, &err)) {
			event[NP_LOCAL_DRAM] = event[NP_REMOTE_DRAM] = np_count_missing(
				np_why("%s", err.text));
			continue;
		}
		event[NP_LOCAL_DRAM] = lines((double)local);
		event[NP_REMOTE_DRAM] = lines(total > local ? (double)(total - local) : 0);
	}
}

const struct np_counter_source np_counters_resctrl = {
	.name = "resctrl",
	.open = resctrl_open,
	.read = resctrl_read,
	.close = resctrl_close,
};
