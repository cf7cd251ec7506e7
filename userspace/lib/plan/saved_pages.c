// SPDX-License-Identifier: GPL-2.0-only
#include "saved_pages.h"

#include <errno.h>
#include <stdlib.h>

#include "../files/json.h"
#include "../base/error.h"
#include "../host/proc.h"
#include "../undo/state_file.h"

#define ARRAY "tasks"

/* The file open and its records loaded; those of tasks that are gone left out. */
struct records {
	struct np_state_file file;
	json_t *array;
};

static bool is_of(const json_t *record, pid_t pid, unsigned long long start)
{
	return json_integer_value(json_object_get(record, "pid")) == pid &&
	       json_integer_value(json_object_get(record, "start")) == (json_int_t)start;
}

static bool still_runs(const json_t *record)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(record, "pid"));
	struct np_proc_stat st;

	return !np_proc_stat(pid, &st) && is_of(record, pid, st.start) && !np_proc_has_ended(&st);
}

static int open_records(struct records *r, struct np_err *err)
{
	json_t *all, *record;
	size_t i;
	int e = np_state_file_open(&r->file, NULL, "pages.json", err);

	r->array = NULL;
	if (e)
		return e;
	e = np_state_file_load(&r->file, ARRAY, "where the pages of moved tasks were is", &all,
			       err);
	if (e) {
		np_state_file_close(&r->file);
		return e;
	}
	r->array = json_array();
	json_array_foreach(all, i, record)
		if (still_runs(record) && json_is_object(json_object_get(record, "pages")))
			json_array_append(r->array, record);
	json_decref(all);
	return 0;
}

static int save_records(struct records *r, struct np_err *err)
{
	return np_state_file_save(&r->file, ARRAY, r->array, err);
}

static void close_records(struct records *r)
{
	json_decref(r->array);
	np_state_file_close(&r->file);
}

/* Place of the task's record, or -1. */
static long find(const struct records *r, pid_t pid, unsigned long long start)
{
	for (size_t i = 0; i < json_array_size(r->array); i++)
		if (is_of(json_array_get(r->array, i), pid, start))
			return (long)i;
	return -1;
}

static json_t *record_of(const struct np_machine *m, const struct np_tasks *t, size_t i)
{
	return json_pack("{s:i,s:I,s:o}", "pid", (int)t->task[i].pid, "start",
			 (json_int_t)t->start[i], "pages",
			 np_json_pages(m, t->pages + i * m->n_nodes));
}

int np_saved_pages_add(const struct np_machine *m, const struct np_tasks *t,
		       bool (*wanted)(size_t i, const void *arg), const void *arg, bool *added,
		       struct np_err *err)
{
	struct records r;
	size_t n = 0;
	int e = open_records(&r, err);

	if (e)
		return e;
	for (size_t i = 0; i < t->n; i++) {
		if (!wanted(i, arg) || find(&r, t->task[i].pid, t->start[i]) >= 0)
			continue;
		json_array_append_new(r.array, record_of(m, t, i));
		added[i] = true;
		n++;
	}
	if (n)
		e = save_records(&r, err);
	close_records(&r);
	return e;
}

int np_saved_pages_drop(const struct np_tasks *t, const bool *drop, struct np_err *err)
{
	struct records r;
	int e = open_records(&r, err);

	if (e)
		return e;
	for (size_t i = 0; i < t->n; i++) {
		long at = drop[i] ? find(&r, t->task[i].pid, t->start[i]) : -1;

		if (at >= 0)
			json_array_remove(r.array, (size_t)at);
	}
	e = save_records(&r, err);
	close_records(&r);
	return e;
}

static void pages_before(const struct np_machine *m, const json_t *record, uint64_t *before)
{
	const json_t *pages = json_object_get(record, "pages");

	for (size_t k = 0; k < m->n_nodes; k++)
		before[k] = (uint64_t)json_integer_value(np_json_of_node(pages, m, k));
}

static uint64_t count_missing(const struct np_machine *m, const uint64_t *before,
			      const struct np_task *task)
{
	uint64_t missing = 0;

	for (size_t k = 0; k < m->n_nodes; k++)
		if (before[k] > task->pages[k])
			missing += before[k] - task->pages[k];
	return missing;
}

/* The task of the record; -ESRCH also where its pid was reused since. */
static int read_task(struct np_tasks *now, const struct np_machine *m, const json_t *record,
		     struct np_err *err)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(record, "pid"));
	int e = np_tasks_read(now, m, &pid, 1, err);

	if (e || is_of(record, pid, now->start[0]))
		return e;
	np_tasks_free(now);
	return np_fail(err, -ESRCH, "process %d has exited", pid);
}

static int bring_back(const struct np_machine *m, const json_t *record,
		      const struct np_mover *mover, struct np_pages_back *back, struct np_err *err)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(record, "pid"));
	uint64_t *before = calloc(m->n_nodes, sizeof(*before));
	struct np_tasks now;
	int e;

	if (!before)
		return np_fail(err, -ENOMEM, "out of memory");
	pages_before(m, record, before);
	e = read_task(&now, m, record, err);
	if (!e) {
		e = np_move_back(mover, m, pid, before, now.task[0].pages, &back->moved, err);
		np_tasks_free(&now);
	}
	if (!e && !read_task(&now, m, record, err)) {
		back->missing += count_missing(m, before, &now.task[0]);
		back->tasks++;
		np_tasks_free(&now);
	}
	free(before);
	return e == -ESRCH ? 0 : e;
}

static bool is_meant(const json_t *record, const pid_t *pids, size_t n)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(record, "pid"));
	bool meant = !pids;

	for (size_t i = 0; !meant && i < n; i++)
		meant = pids[i] == pid;
	return meant;
}

/* A copy of the records that are meant. */
static int take_records(const pid_t *pids, size_t n, json_t **taken, struct np_err *err)
{
	struct records r;
	json_t *record;
	size_t i;
	int e = open_records(&r, err);

	*taken = json_array();
	if (e)
		return e;
	json_array_foreach(r.array, i, record)
		if (is_meant(record, pids, n))
			json_array_append(*taken, record);
	close_records(&r);
	return 0;
}

/* Forgets these, and those of tasks that have exited. */
static int drop_records(const json_t *done, struct np_err *err)
{
	struct records r;
	int e = open_records(&r, err);

	if (e)
		return e;
	for (size_t i = 0; i < json_array_size(done); i++) {
		const json_t *record = json_array_get(done, i);
		long at = find(&r, (pid_t)json_integer_value(json_object_get(record, "pid")),
			       (unsigned long long)json_integer_value(
				       json_object_get(record, "start")));

		if (at >= 0)
			json_array_remove(r.array, (size_t)at);
	}
	e = save_records(&r, err);
	close_records(&r);
	return e;
}

/*
 * The file is not locked while pages move: that may take hours. One task whose pages cannot go back
 * keeps its record, and those of the others go back all the same: the first error is returned.
 */
int np_saved_pages_restore(const struct np_machine *m, const pid_t *pids, size_t n,
			   const struct np_mover *mover, const volatile sig_atomic_t *stop,
			   struct np_pages_back *back, struct np_err *err)
{
	struct np_err why;
	json_t *taken, *done = json_array();
	int e = take_records(pids, n, &taken, err), saved;
	size_t all = json_array_size(taken);

	for (size_t i = 0; i < all && e != -EINTR; i++) {
		json_t *record = json_array_get(taken, i);
		int one = *stop ? np_fail(&why, -EINTR, "interrupted") :
				  bring_back(m, record, mover, back, &why);

		if (!one)
			json_array_append(done, record);
		else if (!e || one == -EINTR)
			e = np_fail(err, one, "%s", why.text);
	}
	saved = json_array_size(done) ? drop_records(done, &why) : 0;
	json_decref(taken);
	json_decref(done);
	if (!e && saved)
		return np_fail(err, saved, "%s", why.text);
	if (!e && pids && n && !all)
		return np_fail(err, -ENOENT,
			       "no pages of process %d were moved by "
			       "numaplace; there is nothing to bring back",
			       pids[0]);
	return e;
}
