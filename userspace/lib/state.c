// SPDX-License-Identifier: GPL-2.0-only
#include "state.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "list.h"
#include "proc.h"

/* Room for any mask of NP_MAX_CPUS: every other CPU is the longest. */
#define LIST_ROOM (64 * 1024)

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

int np_state_open(struct np_state *s, const char *path, char *err, size_t err_len)
{
	static const char unknown[] = "the original CPUs of placed tasks are";
	json_t *threads = NULL, *item;
	size_t i;
	int e;

	memset(s, 0, sizeof(*s));
	e = np_state_file_open(&s->file, path, "state.json", err, err_len);
	if (!e)
		e = np_state_file_load(&s->file, "threads", unknown, &threads, err, err_len);
	json_array_foreach(threads, i, item)
		if (!e && load_record(s, item))
			e = np_fail(err, err_len, -EINVAL, "%s is damaged, so %s not known; move it "
				    "away to go on", s->file.path, unknown);
	json_decref(threads);
	if (e)
		np_state_close(s);
	return e;
}

static json_t *to_json(const struct np_state *s)
{
	char *original = malloc(LIST_ROOM), *set = malloc(LIST_ROOM);
	json_t *threads = json_array();

	for (size_t i = 0; original && set && i < s->n; i++) {
		const struct np_saved *r = &s->saved[i];

		np_list_format(r->original, original, LIST_ROOM);
		np_list_format(r->set, set, LIST_ROOM);
		json_array_append_new(threads,
				      json_pack("{s:i,s:i,s:I,s:b,s:s,s:s}", "tid", r->tid, "pid",
						r->pid, "start", (json_int_t)r->start, "inherit",
						r->inherit, "original", original, "set", set));
	}
	free(original);
	free(set);
	if (json_array_size(threads) == s->n)
		return threads;
	json_decref(threads);
	return NULL;
}

int np_state_save(const struct np_state *s, char *err, size_t err_len)
{
	json_t *threads = to_json(s);
	int e = -ENOMEM;

	if (threads)
		e = np_state_file_save(&s->file, "threads", threads, err, err_len);
	else
		np_fail(err, err_len, e, "out of memory");
	json_decref(threads);
	return e;
}

void np_state_close(struct np_state *s)
{
	for (size_t i = 0; i < s->n; i++) {
		numa_bitmask_free(s->saved[i].original);
		numa_bitmask_free(s->saved[i].set);
	}
	free(s->saved);
	np_state_file_close(&s->file);
	memset(s, 0, sizeof(*s));
	s->file.lock = -1;
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
