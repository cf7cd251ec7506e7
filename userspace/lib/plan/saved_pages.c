// SPDX-License-Identifier: GPL-2.0-only
#include "saved_pages.h"

#include <errno.h>
#include <stdlib.h>

#include "../files/json.h"
#include "../base/error.h"
#include "../host/proc.h"
#include "../undo/records.h"

static bool is_of(const json_t *record, pid_t pid, unsigned long long start)
{
	return json_integer_value(json_object_get(record, "pid")) == pid &&
	       json_integer_value(json_object_get(record, "start")) == (json_int_t)start;
}

static bool still_runs(const json_t *record)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(record, "pid"));
	struct np_proc_stat st;

	return !np_proc_stat(pid, &st) && is_of(record, pid, st.start) && !np_proc_has_ended(&st) &&
	       json_is_object(json_object_get(record, "pages"));
}

static json_t *make_key(const struct np_tasks *t, size_t i)
{
	return json_pack("{s:i,s:I}", "pid", (int)t->task[i].pid, "start",
			 (json_int_t)t->start[i]);
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

static int bring_back(const json_t *record, const struct np_records_back *how, void *result,
		      struct np_err *err)
{
	const struct np_machine *m = how->machine;
	struct np_pages_back *back = result;
	pid_t pid = (pid_t)json_integer_value(json_object_get(record, "pid"));
	uint64_t *before = calloc(m->n_nodes, sizeof(*before));
	struct np_tasks now;
	int e;

	if (!before)
		return np_fail(err, -ENOMEM, "out of memory");
	pages_before(m, record, before);
	e = read_task(&now, m, record, err);
	if (!e) {
		e = np_move_back(how->mover, m, pid, before, now.task[0].pages, &back->moved, err);
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

static bool is_of_process(const json_t *record, pid_t pid)
{
	return json_integer_value(json_object_get(record, "pid")) == pid;
}

static const struct np_records_kind pages_of_tasks = {
	.file = "pages.json",
	.array = "tasks",
	.what = "where the pages of moved tasks were is",
	.key = (const char *const[]) { "start", "pid", NULL },
	.is_current = still_runs,
	.is_of = is_of_process,
	.bring_back = bring_back,
};

int np_saved_pages_add(const struct np_machine *m, const struct np_tasks *t,
		       bool (*wanted)(size_t i, const void *arg), const void *arg, bool *added,
		       struct np_err *err)
{
	json_t *fresh = json_array();

	for (size_t i = 0; i < t->n; i++) {
		json_t *record = json_null();

		if (wanted(i, arg)) {
			record = make_key(t, i);
			json_object_set_new(record, "pages",
					    np_json_pages(m, t->pages + i * m->n_nodes));
		}
		json_array_append_new(fresh, record);
	}
	return np_records_add(&pages_of_tasks, fresh, added, err);
}

int np_saved_pages_drop(const struct np_tasks *t, const bool *drop, struct np_err *err)
{
	json_t *keys = json_array();

	for (size_t i = 0; i < t->n; i++)
		if (drop[i])
			json_array_append_new(keys, make_key(t, i));
	return np_records_drop(&pages_of_tasks, keys, err);
}

int np_saved_pages_restore(const struct np_machine *m, const pid_t *pids, size_t n,
			   const struct np_mover *mover, const volatile sig_atomic_t *stop,
			   struct np_pages_back *back, struct np_err *err)
{
	const struct np_records_back how = { m, mover, pids, n, stop };

	return np_records_bring_back(&pages_of_tasks, &how, back, err);
}
