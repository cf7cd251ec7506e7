// SPDX-License-Identifier: GPL-2.0-only
#include "saved_affinity.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/grow.h"
#include "../host/proc.h"

/* Room for any mask of NP_MAX_CPUS: every other CPU is the longest. */
#define LIST_ROOM (64 * 1024)

/* Replaced records and exited threads that a file and a kept state may have beside the others. */
#define SLACK 1024

/* The state that np_saved_affinity_keep() kept, without its lock; path "": none. */
static struct np_saved_affinity kept = { .file = { .lock = -1, .data = -1 } };

bool np_saved_still_there(const struct np_saved *r)
{
	struct np_proc_stat st;

	/* A leader that has exited before its other threads can still be restored. */
	return !np_proc_thread_stat(r->pid, r->tid, &st) && st.start == r->start &&
	       !np_proc_has_ended(&st);
}

void np_saved_free(struct np_saved *r)
{
	numa_bitmask_free(r->original);
	numa_bitmask_free(r->set);
	numa_bitmask_free(r->earlier);
	r->original = r->set = r->earlier = NULL;
}

/* NULL unless it is a list of at least one CPU. */
static struct bitmask *mask_of(const char *list)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	if (!np_list_parse_kernel(list, mask) && numa_bitmask_weight(mask))
		return mask;
	numa_bitmask_free(mask);
	return NULL;
}

static int load_record(struct np_saved_affinity *s, json_t *item)
{
	const char *original, *set, *earlier = NULL, *by = "";
	int inherit, all = false, inherited = false, e = -EINVAL;
	json_int_t start, placed = 0;
	struct np_saved r = { 0 };

	if (json_unpack(item, "{s:i,s:i,s:I,s:b,s:s,s:s,s?s,s?I,s?s,s?b,s?b}", "tid", &r.tid,
			"pid", &r.pid, "start", &start, "inherit", &inherit, "original", &original,
			"set", &set, "earlier", &earlier, "placed", &placed, "by", &by, "all", &all, "heir", &inherited))
		return -EINVAL;
	r.start = (unsigned long long)start;
	r.placed = (unsigned long long)placed;
	r.inherit = inherit;
	r.all = all;
	r.inherited = inherited;
	snprintf(r.by, sizeof(r.by), "%s", by);
	r.original = mask_of(original);
	r.set = mask_of(set);
	r.earlier = earlier ? mask_of(earlier) : NULL;
	if (r.original && r.set && !r.earlier == !earlier)
		e = np_saved_affinity_add(s, &r);
	np_saved_free(&r);
	return e;
}

/* Of those that have exited, records of processes that were placed name what has the same CPUs. */
static bool is_unwanted(const struct np_saved *r)
{
	return r->gone && (r->tid != r->pid || !r->inherit || r->inherited);
}

void np_saved_affinity_drop_if(struct np_saved_affinity *s, bool (*which)(const struct np_saved *r))
{
	for (size_t i = 0; i < s->n;) {
		if (!which(&s->saved[i])) {
			i++;
			continue;
		}
		np_saved_free(&s->saved[i]);
		s->saved[i] = s->saved[--s->n];
	}
}

/* A child that any thread has started is the child of its process. */
void np_saved_affinity_end(struct np_saved_affinity *s, struct np_saved *r)
{
	r->gone = true;
	np_saved_affinity_drop_if(s, is_unwanted);
}

static void end_all(struct np_saved_affinity *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->saved[i].gone = !np_saved_still_there(&s->saved[i]);
	np_saved_affinity_drop_if(s, is_unwanted);
}

static void none_is_fresh(struct np_saved_affinity *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->saved[i].fresh = false;
}

static int load(struct np_saved_affinity *s, struct np_err *err)
{
	static const char unknown[] = "the original CPUs of placed tasks are";
	json_t *threads = NULL, *item;
	size_t i;
	int e = np_state_file_load(&s->file, "threads", unknown, &threads, err);

	json_array_foreach(threads, i, item)
		if (!e && load_record(s, item))
			e = np_state_file_damaged(&s->file, unknown, err);
	s->written = s->loaded = json_array_size(threads);
	end_all(s);
	none_is_fresh(s);
	json_decref(threads);
	return e;
}

/* Puts the kept state in place of s, which has the lock; false when the file has changed since. */
static bool take_kept(struct np_saved_affinity *s)
{
	int lock = s->file.lock;

	if (strcmp(kept.file.path, s->file.path) || !np_state_file_unchanged(&kept.file) ||
	    kept.written > 2 * kept.loaded + SLACK)
		return false;
	*s = kept;
	s->file.lock = lock;
	kept = (struct np_saved_affinity) { .file = { .lock = -1, .data = -1 } };
	return true;
}

static int open_state(struct np_saved_affinity *s, const char *path, bool may_be_kept,
		      struct np_err *err)
{
	int e;

	memset(s, 0, sizeof(*s));
	e = np_state_file_open(&s->file, path, "state.json", err);
	if (!e && may_be_kept && take_kept(s))
		return 0;
	if (!e)
		e = load(s, err);
	if (e)
		np_saved_affinity_close(s);
	return e;
}

int np_saved_affinity_open(struct np_saved_affinity *s, const char *path, struct np_err *err)
{
	return open_state(s, path, false, err);
}

int np_saved_affinity_open_kept(struct np_saved_affinity *s, struct np_err *err)
{
	return open_state(s, NULL, true, err);
}

void np_saved_affinity_keep(struct np_saved_affinity *s)
{
	np_saved_affinity_close(&kept);
	close(s->file.lock);
	kept = *s;
	kept.file.lock = -1;
	memset(s, 0, sizeof(*s));
	s->file.lock = s->file.data = -1;
}

static json_t *mask_to_json(const struct bitmask *mask, char *room)
{
	return mask ? json_string(np_list_format(mask, room, LIST_ROOM)) : NULL;
}

static json_t *to_json(const struct np_saved_affinity *s, bool fresh_only)
{
	json_t *threads = json_array();
	char *room = malloc(LIST_ROOM);
	size_t n = 0;

	for (size_t i = 0; room && i < s->n; i++) {
		const struct np_saved *r = &s->saved[i];

		if (fresh_only && !r->fresh)
			continue;
		n++;
		json_array_append_new(threads,
				      json_pack("{s:i,s:i,s:I,s:I,s:s,s:b,s:b,s:b,s:o,s:o,s:o*}",
						"tid", r->tid, "pid", r->pid,
						"start", (json_int_t)r->start,
						"placed", (json_int_t)r->placed,
						"by", r->by,
						"inherit", r->inherit, "all", r->all,
						"heir", r->inherited,
						"original", mask_to_json(r->original, room),
						"set", mask_to_json(r->set, room),
						"earlier", mask_to_json(r->earlier, room)));
	}
	free(room);
	if (room && json_array_size(threads) == n)
		return threads;
	json_decref(threads);
	return NULL;
}

int np_saved_affinity_save(struct np_saved_affinity *s, struct np_err *err)
{
	json_t *threads = to_json(s, false);
	int e = -ENOMEM;

	if (threads)
		e = np_state_file_save(&s->file, "threads", threads, err);
	else
		np_fail(err, e, "out of memory");
	json_decref(threads);
	if (e)
		return e;
	s->written = s->n;
	s->rewrite = false;
	none_is_fresh(s);
	return 0;
}

int np_saved_affinity_record(struct np_saved_affinity *s, struct np_err *err)
{
	bool whole = s->rewrite || s->written > 2 * s->n + SLACK;
	json_t *fresh = whole ? NULL : to_json(s, true);
	int e = fresh ? np_state_file_append(&s->file, fresh, err) : -ENOENT;

	s->written += e ? 0 : json_array_size(fresh);
	json_decref(fresh);
	if (e == -ENOENT)
		return np_saved_affinity_save(s, err);
	if (!e)
		none_is_fresh(s);
	return e;
}

void np_saved_affinity_close(struct np_saved_affinity *s)
{
	for (size_t i = 0; i < s->n; i++)
		np_saved_free(&s->saved[i]);
	free(s->saved);
	np_placements_free(&s->placements);
	np_state_file_close(&s->file);
	memset(s, 0, sizeof(*s));
	s->file.lock = s->file.data = -1;
}

int np_saved_affinity_leave(const char *by, struct np_err *err)
{
	struct np_saved_affinity s;
	bool any = false;
	int e = np_saved_affinity_open(&s, NULL, err);

	if (e)
		return e;
	for (size_t i = 0; i < s.n; i++) {
		if (strcmp(s.saved[i].by, by))
			continue;
		s.saved[i].by[0] = '\0';
		any = true;
	}
	e = any ? np_saved_affinity_save(&s, err) : 0;
	np_saved_affinity_close(&s);
	return e;
}

struct np_saved *np_saved_affinity_find(struct np_saved_affinity *s, pid_t tid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->saved[i].tid == tid && !s->saved[i].gone)
			return &s->saved[i];
	return NULL;
}

struct bitmask *np_saved_mask_copy(const struct bitmask *from)
{
	struct bitmask *to = numa_bitmask_alloc(NP_MAX_CPUS);

	copy_bitmask_to_bitmask((struct bitmask *)from, to);
	return to;
}

struct np_saved np_saved_copy(const struct np_saved *r)
{
	struct np_saved copy = *r;

	copy.original = np_saved_mask_copy(r->original);
	copy.set = np_saved_mask_copy(r->set);
	copy.earlier = r->earlier ? np_saved_mask_copy(r->earlier) : NULL;
	return copy;
}

int np_saved_affinity_add(struct np_saved_affinity *s, const struct np_saved *record)
{
	struct np_saved copy = np_saved_copy(record);
	size_t i = 0;

	copy.fresh = true;
	while (i < s->n && (s->saved[i].tid != copy.tid || s->saved[i].start != copy.start))
		i++;
	if (i < s->n) {
		np_saved_free(&s->saved[i]);
		s->saved[i] = copy;
		return 0;
	}
	if (np_grow(&s->saved, s->n, sizeof(copy))) {
		np_saved_free(&copy);
		return -ENOMEM;
	}
	s->saved[s->n++] = copy;
	return 0;
}

void np_saved_affinity_drop(struct np_saved_affinity *s, pid_t tid)
{
	struct np_saved *r = np_saved_affinity_find(s, tid);

	if (!r)
		return;
	np_saved_free(r);
	*r = s->saved[--s->n];
}
