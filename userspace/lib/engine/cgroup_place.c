// SPDX-License-Identifier: GPL-2.0-only
#include "cgroup_place.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../files/json.h"
#include "../host/cgroup.h"
#include "../host/proc.h"
#include "../undo/records.h"
#include "cpuset.h"
#include "unit_cpuset.h"

/* How long systemd may take to write what it was told, and how often that is looked at. */
#define PATIENCE_NAPS 1000
#define NAP_NS	      10000000

/* A cgroup, and the unit whose properties are set in place of its files; "": none. */
struct target {
	char root[PATH_MAX], folder[PATH_MAX], unit[NAME_MAX + 16];
};

static const char *name_of(const struct target *t)
{
	return t->folder + strlen(t->root);
}

/* Properties of a unit are set where it is the system manager's, whose name for its cgroup is ours. */
static int ask_for_unit(struct target *t, struct np_err *err)
{
	json_t *lists = NULL;
	char *cgroup = NULL;
	int e;

	snprintf(t->unit, sizeof(t->unit), "%.*s", NAME_MAX, strrchr(t->folder, '/') + 1);
	e = np_unit_read(t->unit, &lists, &cgroup, err);
	if (!e && (!cgroup || strcmp(cgroup, name_of(t)) != 0))
		e = np_fail(err, -EOPNOTSUPP,
			    "unit %.60s is not the system manager's: name its cgroup with --cgroup "
			    "%.120s",
			    t->unit, name_of(t));
	json_decref(lists);
	free(cgroup);
	return e;
}

static int find_target(const struct np_cgroup_name *name, struct target *t, struct np_err *err)
{
	char found[PATH_MAX];
	int e = np_cgroup_root(t->root, sizeof(t->root), err);

	t->unit[0] = '\0';
	if (!e && name->unit)
		e = np_cgroup_of_unit(name->unit, found, sizeof(found), err);
	else if (!e)
		e = np_cgroup_folder(name->path, found, sizeof(found), err);
	if (!e && !realpath(found, t->folder))
		e = np_fail(err, -errno, "cgroup %.150s: %s", found, strerror(errno));
	if (!e && name->unit && np_unit_managed())
		e = ask_for_unit(t, err);
	return e;
}

static void target_of(const json_t *record, const char *root, struct target *t)
{
	snprintf(t->root, sizeof(t->root), "%s", root);
	if ((size_t)snprintf(t->folder, sizeof(t->folder), "%s%s", root,
			     np_json_text_of(record, "cgroup")) >= sizeof(t->folder))
		t->folder[0] = '\0';
	snprintf(t->unit, sizeof(t->unit), "%s", np_json_text_of(record, "unit"));
}

static json_int_t inode_of(const struct target *t)
{
	struct stat st;

	return stat(t->folder, &st) ? 0 : (json_int_t)st.st_ino;
}

static int read_lists(const struct target *t, json_t **lists, struct np_err *err)
{
	if (t->unit[0])
		return np_unit_read(t->unit, lists, NULL, err);
	*lists = np_cpuset_read(t->folder);
	return 0;
}

/* Whether the cgroup's files have these lists. */
static bool has_lists(const struct target *t, const json_t *lists)
{
	json_t *now = np_cpuset_read(t->folder), *list;
	bool has = true;
	const char *key;

	json_object_foreach((json_t *)lists, key, list)
		has &= json_equal(list, json_object_get(now, key));
	json_decref(now);
	return has;
}

static int write_lists(const struct target *t, const json_t *lists, struct np_err *err)
{
	if (!t->unit[0])
		return np_cpuset_write(t->folder, lists, err);
	/* systemd leaves what it was where the kernel refuses an empty list. */
	np_cpuset_write(t->folder, lists, err);
	return np_unit_write(t->unit, lists, err);
}

/* systemd writes the files later, and only logs it when it cannot. */
static int wait_for_unit(const struct target *t, const json_t *lists, struct np_err *err)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (int i = 0; i < PATIENCE_NAPS; i++) {
		if (has_lists(t, lists))
			return 0;
		nanosleep(&nap, NULL);
	}
	return np_fail(err, -EIO,
		       "systemd has not set the cpuset of unit %.80s; `journalctl -u %.80s` may say "
		       "why",
		       t->unit, t->unit);
}

/*
 * The file open, and its records: {"cgroup": "/shop", "inode": 7, "unit": "", "before": LISTS,
 * "set": LISTS, "enabled": levels}; LISTS as in cpuset.h, of what was placed. "was", while a
 * cgroup is being placed: what was set before that.
 */
struct book {
	char root[PATH_MAX];
	struct np_records r;
};

static bool is_whole(const json_t *record)
{
	/* A name begins with a slash, also that of the root. */
	return *np_json_text_of(record, "cgroup") == '/' &&
	       json_is_integer(json_object_get(record, "inode")) &&
	       json_is_object(json_object_get(record, "before")) &&
	       json_is_object(json_object_get(record, "set")) &&
	       json_is_array(json_object_get(record, "enabled"));
}

static const struct np_records_kind of_cgroups = {
	.file = "cgroups.json",
	.array = "cgroups",
	.what = "what cgroups had before is",
};

static int book_open(struct book *b, struct np_err *err)
{
	json_t *record;
	size_t i;
	int e = np_cgroup_root(b->root, sizeof(b->root), err);

	if (!e)
		e = np_records_open(&b->r, &of_cgroups, err);
	if (e)
		return e;
	json_array_foreach(b->r.array, i, record)
		if (!e && !is_whole(record))
			e = np_state_file_damaged(&b->r.file, of_cgroups.what, err);
	if (e)
		np_records_close(&b->r);
	return e;
}

static bool is_below(const char *name, const char *above)
{
	size_t n = strlen(above);

	return !strncmp(name, above, n) && (!name[n] || name[n] == '/');
}

/* Another record that lies below the level, to disable the controller there in its turn. */
static bool hand_over(struct book *b, const json_t *record, json_t *level)
{
	json_t *other;
	size_t i;

	json_array_foreach(b->r.array, i, other)
		if (other != record &&
		    is_below(np_json_text_of(other, "cgroup"), json_string_value(level)))
			return !json_array_insert(json_object_get(other, "enabled"), 0, level);
	return false;
}

/* Disables what was enabled for it, and removes the record. note: where others use it still. */
static void forget(struct book *b, size_t i, struct np_err *note)
{
	json_t *record = json_array_get(b->r.array, i), *level;
	json_t *used = np_cpuset_disable(b->root, json_object_get(record, "enabled"));

	for (size_t k = json_array_size(used); k-- > 0;) {
		level = json_array_get(used, k);
		if (!hand_over(b, record, level))
			np_fail(note, 0,
				"cgroup %.100s/ keeps the cpuset controller: others below it use it",
				json_string_value(level));
	}
	json_decref(used);
	json_array_remove(b->r.array, i);
}

/* A unit keeps its properties when its cgroup goes. */
static void forget_removed(struct book *b)
{
	struct np_err ignored;
	struct target t;

	for (size_t i = json_array_size(b->r.array); i-- > 0;) {
		const json_t *record = json_array_get(b->r.array, i);

		target_of(record, b->root, &t);
		if (!t.unit[0] &&
		    inode_of(&t) != json_integer_value(json_object_get(record, "inode")))
			forget(b, i, &ignored);
	}
}

static json_t *find(const struct book *b, const struct target *t)
{
	json_t *record;
	size_t i;

	json_array_foreach(b->r.array, i, record)
		if (!strcmp(np_json_text_of(record, "cgroup"), name_of(t)) &&
		    !strcmp(np_json_text_of(record, "unit"), t->unit))
			return record;
	return NULL;
}

static bool is_ours(const json_t *record, const char *key, const json_t *list)
{
	return json_equal(list, json_object_get(json_object_get(record, "set"), key)) ||
	       json_equal(list, json_object_get(json_object_get(record, "was"), key));
}

/* The first that was there before is kept, unless others have changed it since. */
static void note_before(json_t *record, const json_t *now, const json_t *lists)
{
	json_t *set = json_object_get(record, "set"), *list;
	const char *key;

	json_object_set_new(record, "was", json_deep_copy(set));
	json_object_foreach((json_t *)lists, key, list) {
		if (!is_ours(record, key, json_object_get(now, key)))
			json_object_set(json_object_get(record, "before"), key,
					json_object_get(now, key));
		json_object_set(set, key, list);
	}
}

static int carry_out(struct book *b, const struct target *t, const json_t *lists, const json_t *now,
		     const json_t *missing, struct np_err *err)
{
	struct np_err ignored;
	json_t *undo = json_object(), *list;
	const char *key;
	int e = np_records_save(&b->r, err);

	if (!e)
		e = np_cpuset_enable(t->root, missing, err);
	if (e)
		goto out;
	e = write_lists(t, lists, err);
	if (!e && t->unit[0])
		e = wait_for_unit(t, lists, err);
	if (!e)
		goto out;
	json_object_foreach((json_t *)lists, key, list)
		json_object_set(undo, key, json_object_get(now, key));
	if (t->unit[0])
		write_lists(t, undo, &ignored);
	json_decref(np_cpuset_disable(t->root, missing));
out:
	json_decref(undo);
	return e;
}

static int place(struct book *b, const struct target *t, const json_t *lists, struct np_err *err)
{
	json_t *former, *record, *now, *missing;
	struct np_err ignored;
	int e = read_lists(t, &now, err);

	if (e)
		return e;
	former = json_deep_copy(b->r.array);
	record = find(b, t);
	if (!record) {
		record = json_pack("{s:s, s:I, s:s, s:{}, s:{}, s:[]}", "cgroup", name_of(t),
				   "inode", inode_of(t), "unit", t->unit, "before", "set", "enabled");
		json_array_append_new(b->r.array, record);
	}
	note_before(record, now, lists);
	missing = t->unit[0] ? json_array() : np_cpuset_missing(t->root, t->folder);
	json_array_extend(json_object_get(record, "enabled"), missing);
	e = carry_out(b, t, lists, now, missing, err);
	if (e) {
		json_decref(b->r.array);
		b->r.array = json_incref(former);
	} else {
		json_object_del(record, "was");
	}
	np_records_save(&b->r, &ignored);
	json_decref(missing);
	json_decref(now);
	json_decref(former);
	return e;
}

/* Bytes of anonymous memory by node, "anon N0=4096 N1=0"; NULL without the memory controller. */
static json_t *pages_of(const struct target *t)
{
	char node[16], *text, *at, *end;
	json_t *pages;

	text = np_read_file_of("%s/memory.numa_stat", t->folder);
	if (!text)
		return NULL;
	pages = json_object();
	at = strncmp(text, "anon ", 5) ? "" : text + 4;
	while (!strncmp(at, " N", 2)) {
		snprintf(node, sizeof(node), "%ld", strtol(at + 2, &end, 10));
		if (*end != '=')
			break;
		json_object_set_new(pages, node, json_integer(strtoll(end + 1, &at, 10)));
	}
	free(text);
	return pages;
}

static json_t *answer_of(const struct target *t)
{
	json_t *answer = json_object(), *pages = pages_of(t);

	json_object_set_new(answer, "cgroup", np_json_text(name_of(t)));
	json_object_set_new(answer, "unit", t->unit[0] ? np_json_text(t->unit) : json_null());
	if (pages)
		json_object_set_new(answer, "pages", pages);
	return answer;
}

int np_cgroup_place(const struct np_cgroup_place *r, json_t **answer, struct np_err *err)
{
	json_t *lists = json_object();
	struct target t;
	struct book b;
	int e = find_target(&r->name, &t, err);

	if (r->cpus)
		json_object_set_new(lists, "cpus", np_json_list(r->cpus));
	if (r->mems)
		json_object_set_new(lists, "mems", np_json_list(r->mems));
	if (!e)
		e = np_cpuset_check(t.root, t.folder, err);
	if (!e)
		e = np_cpuset_fits(t.root, t.folder, lists, err);
	if (!e)
		e = book_open(&b, err);
	if (!e) {
		forget_removed(&b);
		e = place(&b, &t, lists, err);
		np_records_close(&b.r);
	}
	json_decref(lists);
	*answer = e ? NULL : answer_of(&t);
	return e;
}

/* 0 where everything is as it was, or was changed by others; else the record stays. */
static int give_back(struct book *b, size_t i, struct np_cgroups_back *back, struct np_err *err)
{
	json_t *record = json_array_get(b->r.array, i), *now = NULL, *lists = json_object(), *list;
	struct np_err left = { "" };
	struct target t;
	const char *key;
	int e;

	target_of(record, b->root, &t);
	e = read_lists(&t, &now, err);
	json_object_foreach(json_object_get(record, "before"), key, list) {
		if (is_ours(record, key, json_object_get(now, key)))
			json_object_set(lists, key, list);
		else if (!e && !json_equal(list, json_object_get(now, key)))
			np_fail(&left, 0, "cpuset.%s of cgroup %.150s left alone: changed since",
				key, name_of(&t));
	}
	if (!e && json_object_size(lists))
		e = write_lists(&t, lists, err);
	if (!e) {
		back->restored += json_object_size(lists) > 0;
		back->kept += left.text[0] != '\0';
		forget(b, i, &back->note);
		if (!t.unit[0] && !has_lists(&t, lists))
			np_fail(&back->note, 0,
				"cgroup %.100s has all of the cgroup above it by name: the kernel "
				"allows no empty cpuset while tasks are in it",
				name_of(&t));
		if (left.text[0])
			back->note = left;
	}
	json_decref(lists);
	json_decref(now);
	return e;
}

/* The cgroup's name and the unit's that records are compared with; "": no such one. */
static int find_name(const struct np_cgroup_name *name, struct target *t, struct np_err *err)
{
	int e = name->unit ? 0 : find_target(name, t, err);

	if (!name->unit)
		return e;
	np_unit_name(name->unit, t->unit, sizeof(t->unit));
	return 0;
}

static bool is_meant(const json_t *record, const struct np_cgroup_name *name,
		     const struct target *t)
{
	if (!name)
		return true;
	if (name->unit)
		return !strcmp(np_json_text_of(record, "unit"), t->unit) ||
		       !strcmp(strrchr(np_json_text_of(record, "cgroup"), '/') + 1, t->unit);
	return is_below(np_json_text_of(record, "cgroup"), name_of(t));
}

int np_cgroup_restore(const struct np_cgroup_name *name, struct np_cgroups_back *back,
		      struct np_err *err)
{
	struct np_err why;
	struct target t;
	struct book b;
	int e = name ? find_name(name, &t, err) : 0, one;

	*back = (struct np_cgroups_back) { 0 };
	if (!e)
		e = book_open(&b, err);
	if (e) /* without version 2, such a cgroup or a folder for the file none was placed */
		return e == -EOPNOTSUPP || e == -ENOENT ? 0 : e;
	forget_removed(&b);
	for (size_t i = json_array_size(b.r.array); i-- > 0;) {
		one = is_meant(json_array_get(b.r.array, i), name, &t) ?
			      give_back(&b, i, back, &why) :
			      0;
		if (one && !e)
			e = np_fail(err, one, "%s", why.text);
	}
	one = np_records_save(&b.r, &why);
	if (one && !e)
		e = np_fail(err, one, "%s", why.text);
	np_records_close(&b.r);
	return e;
}
