// SPDX-License-Identifier: GPL-2.0-only
/* numaplace restore */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/engine/cgroup_place.h"
#include "../lib/host/cgroup.h"
#include "../lib/plan/saved_files.h"
#include "../lib/plan/saved_pages.h"
#include "cmd_args.h"

enum { KEY_PAGES = NP_KEY_OWN };

struct arguments {
	struct np_common common;
	const char *unit;
	char unit_cgroup[PATH_MAX];
	bool all, pages;
};

static const struct argp_option options[] = {
	{ "all", NP_KEY_ALL, NULL, 0, "Everything under control", 0 },
	{ "pages", KEY_PAGES, NULL, 0,
	  "Bring pages back as well to the nodes that apply, run or the daemon moved them from",
	  0 },
	NP_PACE_OPTIONS,
	NP_CGROUP_OPTION,
	NP_UNIT_OPTION,
	NP_JSON_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case NP_KEY_ALL:
		a->all = true;
		return 0;
	case KEY_PAGES:
		a->pages = true;
		return 0;
	case NP_KEY_UNIT:
		a->unit = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->all == (a->common.pids.n > 0 || a->common.cgroup || a->unit))
			return np_failed(ECANCELED, "restore: name either processes or --all");
		if (a->common.cgroup && a->unit)
			return np_failed(ECANCELED, "restore: name one --cgroup or one --unit");
		return 0;
	}
	return np_common_parse(key, arg, &a->common);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID..\n--all",
	.doc = "Gives tasks and cgroups back the CPUs and the memory policy that they had before "
	       "numaplace first changed them. What the user changed afterwards is left alone.\v"
	       "Pages stay where they are unless --pages is given; where they were before is known "
	       "until the task ends or its pages have been brought back.",
};

struct totals {
	size_t placements, kept;
	struct np_err note; /* what was left alone; "": nothing */
	struct np_pages_back pages;
	struct np_files_back files;
};

static void say_nothing_there(pid_t pid, const char *err)
{
	struct np_err why;

	if (np_engine_hidden(&why))
		np_error("process %d was not placed by this user; %s to restore what it placed",
			 pid, why.text);
	else
		np_error("%s", err);
}

static void tell_left(const char *text, struct totals *t)
{
	if (!np_json)
		fprintf(stderr, "numaplace: %s\n", text);
	np_fail(&t->note, 0, "%s", text);
}

/* No task under control is no error for --all, for a cgroup, and with --pages. */
static int restore(const struct np_whose *whose, bool may_be_none, struct totals *t)
{
	struct np_err why;
	struct np_err err = { "" };
	size_t restored = 0, left = 0;
	int e = np_engine_restore(whose, &restored, &left, &err);

	t->placements += restored;
	t->kept += left;
	if (e == -ENOENT && may_be_none)
		return NP_EXIT_OK;
	if (e == -ENOENT)
		say_nothing_there(whose->pids[0], err.text);
	else if (e)
		np_error("%s", err.text);
	else if (np_whose_all(whose) && np_engine_hidden(&why) && !np_json)
		fprintf(stderr, "numaplace: %s to restore what it placed\n", why.text);
	else if (err.text[0])
		tell_left(err.text, t);
	return np_engine_exit(e);
}

/* Before their tasks, whose CPUs of before may be others. */
static int restore_cgroups(const struct arguments *a, struct totals *t)
{
	const struct np_cgroup_name name = { .path = a->common.cgroup, .unit = a->unit };
	struct np_cgroups_back back;
	struct np_err err;
	int e;

	if (!a->all && !name.path && !name.unit)
		return NP_EXIT_OK;
	e = np_cgroup_restore(a->all ? NULL : &name, &back, &err);
	t->placements += back.restored;
	t->kept += back.kept;
	if (back.note.text[0])
		tell_left(back.note.text, t);
	return e ? np_failed(np_engine_exit(e), "%s", err.text) : NP_EXIT_OK;
}

/* A unit that has been stopped has no tasks. Where it was placed, or its placement cannot be read, all is told. */
static int find_tasks(struct arguments *a, bool told)
{
	struct np_err err;
	int e;

	if (a->unit) {
		e = np_cgroup_of_unit(a->unit, a->unit_cgroup, sizeof(a->unit_cgroup), &err);
		if (e == -ENOENT && told)
			return NP_EXIT_OK;
		if (e)
			return np_failed(np_engine_exit(e), "%s", err.text);
		a->common.cgroup = a->unit_cgroup;
	}
	return np_common_resolve(&a->common);
}

/* Tasks of a cgroup in one pass; each named task must be under control. */
static int restore_named(const struct arguments *a, struct totals *t)
{
	const struct np_pids *pids = &a->common.pids;
	int status = 0;

	if (a->common.cgroup || a->unit)
		return pids->n ? restore(&(struct np_whose) { pids->pid, pids->n, NULL }, true, t) :
				 0;
	for (size_t i = 0; i < pids->n; i++) {
		int one = restore(NP_WHOSE(&pids->pid[i]), a->pages, t);

		status = status ? status : one;
	}
	return status;
}

static bool go_on(const struct np_migrate_result *so_far, void *arg)
{
	return !np_stopped;
}

/* NULL: of every task. One whose pages cannot go back keeps no file from it. */
static int bring_pages_back(const pid_t *pid, const struct np_machine *m,
			    const struct np_throttle *throttle, struct totals *t)
{
	struct np_mover mover = { .throttle = *throttle, .go_on = go_on };
	struct np_err err;
	int status, e, of_files = 0;

	mover.engine = np_cmd_engine(NP_ENGINE_AUTO, &status);
	if (!mover.engine)
		return status;
	e = np_saved_pages_restore(m, pid, pid != NULL, &mover, &np_stopped, &t->pages, &err);
	if (e == -ENOENT)
		e = 0;
	if (e)
		np_error("%s", err.text);
	if (e != -EINTR)
		of_files = np_saved_files_restore(m, pid, pid != NULL, &mover, &np_stopped,
						  &t->files, &err);
	if (of_files)
		np_error("%s", err.text);
	return np_engine_exit(e ? e : of_files);
}

static int restore_pages(const struct arguments *a, struct totals *t)
{
	struct np_machine m;
	int status = np_cmd_machine(&m);

	if (status)
		return status;
	np_stop_by_signals(SA_RESTART);
	if (a->all)
		status = bring_pages_back(NULL, &m, &a->common.throttle, t);
	/* One that is interrupted says so, once. */
	for (size_t i = 0; i < a->common.pids.n && !(np_stopped && status); i++) {
		int one = bring_pages_back(&a->common.pids.pid[i], &m, &a->common.throttle, t);

		status = status ? status : one;
	}
	np_machine_free(&m);
	return status;
}

static void report(const struct totals *t, bool pages)
{
	json_t *j;

	if (np_json) {
		j = json_pack("{s:I,s:I}", "restored", (json_int_t)t->placements, "left_alone",
			      (json_int_t)t->kept);
		if (t->note.text[0])
			json_object_set_new(j, "note", np_json_text(t->note.text));
		if (pages)
			json_object_set_new(j, "pages",
					    json_pack("{s:I,s:I,s:I,s:I}", "tasks",
						      (json_int_t)t->pages.tasks, "files",
						      (json_int_t)t->files.files, "moved",
						      (json_int_t)(t->pages.moved + t->files.moved), "missing",
						      (json_int_t)(t->pages.missing + t->files.missing)));
		np_json_print(j);
		return;
	}
	printf("restored %zu placement%s\n", t->placements, t->placements == 1 ? "" : "s");
	if (pages)
		printf("brought %llu pages of %zu tasks and %zu files back, %llu would not go\n",
		       (unsigned long long)(t->pages.moved + t->files.moved), t->pages.tasks,
		       t->files.files, (unsigned long long)(t->pages.missing + t->files.missing));
	if (t->files.gone)
		printf("%zu files are not there any more\n", t->files.gone);
}

static int restore_tasks(const struct arguments *a, struct totals *t)
{
	if (a->common.pids.n)
		qsort(a->common.pids.pid, a->common.pids.n, sizeof(*a->common.pids.pid),
		      np_whose_order);
	return a->all ? restore(NP_EVERYBODY, true, t) : restore_named(a, t);
}

int cmd_restore(int argc, char **argv)
{
	struct arguments a = { 0 };
	struct totals t = { 0 };
	int status = np_args(&argp, argc, argv, 0, &a), cgroups = 0;

	if (!status) {
		cgroups = restore_cgroups(&a, &t);
		status = find_tasks(&a, cgroups || t.placements + t.kept);
	}
	if (!status)
		status = restore_tasks(&a, &t);
	status = status ? status : cgroups;
	if (!status && a.pages)
		status = restore_pages(&a, &t);
	if (!status)
		report(&t, a.pages);
	np_common_free(&a.common);
	return status;
}
