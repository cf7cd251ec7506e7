// SPDX-License-Identifier: GPL-2.0-only
#include "saved_weights.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/error.h"
#include "../host/interleave_weights.h"
#include "../host/proc.h"
#include "state_file.h"

#define ARRAY "weights"

/*
 * The file open, and its record: {"before": {..}, "auto": -1, "set": {..}, "users": [..]}; NULL
 * while no task uses weights that numaplace has set.
 */
struct book {
	const char *root;
	struct np_state_file file;
	json_t *record;
};

static json_t *users_of(const struct book *b)
{
	return json_object_get(b->record, "users");
}

static bool is_whole(const json_t *record)
{
	return json_is_object(json_object_get(record, "before")) &&
	       json_is_object(json_object_get(record, "set")) &&
	       json_is_integer(json_object_get(record, "auto")) &&
	       json_is_array(json_object_get(record, "users"));
}

static int book_open(struct book *b, const char *root, struct np_err *err)
{
	static const char what[] = "what the kernel's weights were before is";
	char path[PATH_MAX];
	json_t *all = NULL;
	int e;

	snprintf(path, sizeof(path), "%s/weights.json", root);
	*b = (struct book) { .root = root };
	e = np_state_file_open(&b->file, root[0] ? path : NULL, "weights.json", err);
	if (e)
		return e;
	e = np_state_file_load(&b->file, ARRAY, what, &all, err);
	b->record = json_incref(json_array_get(all, 0));
	json_decref(all);
	if (!e && b->record && !is_whole(b->record))
		e = np_fail(err, -EINVAL,
			    "%s is damaged, so %s not known; move it away to go "
			    "on",
			    b->file.path, what);
	if (!e)
		return 0;
	json_decref(b->record);
	np_state_file_close(&b->file);
	return e;
}

static int book_save(struct book *b, struct np_err *err)
{
	json_t *all = json_array();
	int e;

	if (b->record)
		json_array_append(all, b->record);
	e = np_state_file_save(&b->file, ARRAY, all, err);
	json_decref(all);
	return e;
}

static void book_close(struct book *b)
{
	json_decref(b->record);
	np_state_file_close(&b->file);
}

static bool runs(const struct np_weights_user *u)
{
	struct np_proc_stat st;

	return !np_proc_stat(u->pid, &st) && st.start == u->start && st.state != 'Z';
}

static struct np_weights_user user_of(const json_t *record)
{
	const char *by = json_string_value(json_object_get(record, "by"));
	struct np_weights_user u = {
		.pid = (pid_t)json_integer_value(json_object_get(record, "pid")),
		.start = (unsigned long long)json_integer_value(json_object_get(record, "start")),
	};

	snprintf(u.by, sizeof(u.by), "%s", by ? by : "");
	return u;
}

/*
 * Those that which() is true for, if it is given, and those that have exited; the number of the
 * former.
 */
static size_t drop_users(struct book *b,
			 bool (*which)(const struct np_weights_user *u, const void *arg),
			 const void *arg)
{
	json_t *users = users_of(b);
	size_t n = 0;

	for (size_t i = json_array_size(users); i-- > 0;) {
		struct np_weights_user u = user_of(json_array_get(users, i));
		bool asked = which && which(&u, arg);

		n += asked;
		if (asked || !runs(&u))
			json_array_remove(users, i);
	}
	return n;
}

static json_t *find_user(struct book *b, const struct np_weights_user *wanted)
{
	json_t *record;
	size_t i;

	json_array_foreach(users_of(b), i, record) {
		struct np_weights_user u = user_of(record);

		if (u.pid == wanted->pid && u.start == wanted->start)
			return record;
	}
	return NULL;
}

/* Whether others have written them since. A numaplace that was killed may have written only some. */
static bool changed_since(const struct book *b)
{
	const json_t *before = json_object_get(b->record, "before"),
		     *set = json_object_get(b->record, "set");
	json_t *now, *weight;
	bool changed = false;
	const char *id;

	if (np_weights_kernel_auto(b->root) == 1)
		return json_integer_value(json_object_get(b->record, "auto")) != 1;
	now = np_weights_kernel_read(b->root);
	json_object_foreach(now, id, weight)
		changed |= json_object_get(before, id) &&
			   !json_equal(weight, json_object_get(before, id)) &&
			   !json_equal(weight, json_object_get(set, id));
	json_decref(now);
	return changed;
}

/* Automatic weights return by turning them on again. */
static int write_before(const struct book *b, struct np_err *err)
{
	int e = 0;

	if (np_weights_kernel_auto(b->root) != 1)
		e = np_weights_kernel_write(b->root, json_object_get(b->record, "before"), err);
	if (!e && json_integer_value(json_object_get(b->record, "auto")) == 1)
		e = np_weights_kernel_set_auto(b->root, err);
	return e;
}

/* No task uses them any more. The record is kept after an error, so that it can be tried again. */
static int end_record(struct book *b, char *text, size_t text_len, struct np_err *err)
{
	bool changed = changed_since(b);
	int e = changed ? 0 : write_before(b, err);
	char list[128];

	if (e)
		return e;
	np_weights_list(json_object_get(b->record, "before"), list, sizeof(list));
	if (changed)
		snprintf(text, text_len,
			 "the kernel's weights for interleaving are left alone: they were "
			 "changed after numaplace had set them");
	else
		snprintf(text, text_len, "the kernel's weights for interleaving are %s again",
			 list);
	json_decref(b->record);
	b->record = NULL;
	return 0;
}

/* True when weights set for the whole machine are in these proportions on these nodes. */
static bool serves(const json_t *set, const json_t *weights)
{
	const char *a, *b;
	json_t *x, *y;

	json_object_foreach((json_t *)weights, a, x)
		json_object_foreach((json_t *)weights, b, y)
			if (!json_object_get(set, a) ||
			    json_integer_value(x) * json_integer_value(json_object_get(set, b)) !=
				    json_integer_value(y) *
					    json_integer_value(json_object_get(set, a)))
				return false;
	return true;
}

static int say_taken(const struct book *b, const json_t *weights, struct np_err *err)
{
	struct np_weights_user u = user_of(json_array_get(users_of(b), 0));
	char set[80], wanted[80];

	return np_fail(err, -EBUSY,
		       "weights %s cannot be written: process %d goes by %s, and the "
		       "kernel has one set; `numaplace restore %d` gives that up",
		       np_weights_list(weights, wanted, sizeof(wanted)), u.pid,
		       np_weights_list(json_object_get(b->record, "set"), set, sizeof(set)), u.pid);
}

/* The kernel's present weights, unless numaplace has set them: to be restored later. */
static int note_before(struct book *b, const json_t *weights, struct np_err *err)
{
	json_t *now;

	if (b->record && !changed_since(b))
		return 0;
	now = np_weights_kernel_read(b->root);
	if (!now)
		return np_weights_kernel_check(b->root, err);
	if (!b->record)
		b->record = json_pack("{s:O, s:[]}", "set", weights, "users");
	json_object_set_new(b->record, "before", now);
	json_object_set_new(b->record, "auto", json_integer(np_weights_kernel_auto(b->root)));
	return 0;
}

static void add_users(struct book *b, struct np_weights_user *user, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_t *known = find_user(b, &user[i]);

		user[i].added = !known && runs(&user[i]);
		if (user[i].added)
			json_array_append_new(users_of(b),
					      json_pack("{s:i, s:I, s:s}", "pid", user[i].pid,
				"start", (json_int_t)user[i].start, "by", user[i].by));
		else if (known) /* restored by the program that placed it last */
			json_object_set_new(known, "by", json_string(user[i].by));
	}
}

static void take_back(struct book *b, struct np_weights_user *user, size_t n)
{
	char text[NP_ERR_LEN];
	struct np_err ignored;

	for (size_t i = 0; i < n; i++)
		for (size_t k = json_array_size(users_of(b)); user[i].added && k-- > 0;)
			if (find_user(b, &user[i]) == json_array_get(users_of(b), k))
				json_array_remove(users_of(b), k);
	if (!json_array_size(users_of(b)))
		end_record(b, text, sizeof(text), &ignored);
	book_save(b, &ignored);
	for (size_t i = 0; i < n; i++)
		user[i].added = false;
}

static bool any_runs(const struct np_weights_user *user, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (runs(&user[i]))
			return true;
	return false;
}

static int take(struct book *b, const json_t *weights, struct np_weights_user *user, size_t n,
		struct np_err *err)
{
	char text[NP_ERR_LEN];
	int e = 0;

	drop_users(b, NULL, NULL);
	if (b->record && !json_array_size(users_of(b)))
		e = end_record(b, text, sizeof(text), err);
	if (!e && b->record && !serves(json_object_get(b->record, "set"), weights))
		return say_taken(b, weights, err);
	if (!e)
		e = note_before(b, weights, err);
	if (e)
		return e;
	add_users(b, user, n);
	e = book_save(b, err);
	if (!e)
		e = np_weights_kernel_write(b->root, json_object_get(b->record, "set"), err);
	if (e)
		take_back(b, user, n);
	return e;
}

int np_weights_take(const char *root, const json_t *weights, struct np_weights_user *user, size_t n,
		    struct np_err *err)
{
	struct book b;
	int e;

	for (size_t i = 0; i < n; i++)
		user[i].added = false;
	if (!any_runs(user, n))
		return 0;
	e = book_open(&b, root, err);
	if (e)
		return e;
	e = take(&b, weights, user, n, err);
	book_close(&b);
	return e;
}

int np_weights_drop(const char *root,
		    bool (*which)(const struct np_weights_user *u, const void *arg),
		    const void *arg, struct np_weights_back *back, struct np_err *err)
{
	struct book b;
	int e;

	*back = (struct np_weights_back) { 0 };
	/* Only root can have written them, and others may have no folder for the file. */
	if (!root[0] && geteuid())
		return 0;
	e = book_open(&b, root, err);
	if (e)
		return e;
	if (b.record) {
		struct np_err why;
		int saved;

		back->users = drop_users(&b, which, arg);
		if (!json_array_size(users_of(&b)))
			e = end_record(&b, back->text, sizeof(back->text), err);
		saved = book_save(&b, &why);
		if (!e && saved)
			e = np_fail(err, saved, "%s", why.text);
	}
	book_close(&b);
	return e;
}

static bool is_meant(const struct np_weights_user *u, const void *arg)
{
	const struct np_whose *whose = arg;

	return np_whose_all(whose) || np_whose_has(whose, u->pid) ||
	       (whose->by && !strcmp(whose->by, u->by));
}

int np_weights_give_back(const struct np_whose *whose, struct np_weights_back *back,
			 struct np_err *err)
{
	return np_weights_drop("", is_meant, whose, back, err);
}

int np_weights_leave(const char *root, const char *by, struct np_err *err)
{
	struct book b;
	json_t *record;
	bool any = false;
	size_t i;
	int e;

	if (!root[0] && geteuid()) /* as in np_weights_drop() */
		return 0;
	e = book_open(&b, root, err);
	if (e)
		return e;
	json_array_foreach(users_of(&b), i, record) {
		if (strcmp(user_of(record).by, by))
			continue;
		json_object_set_new(record, "by", json_string(""));
		any = true;
	}
	e = any ? book_save(&b, err) : 0;
	book_close(&b);
	return e;
}
