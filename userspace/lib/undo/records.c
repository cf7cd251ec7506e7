// SPDX-License-Identifier: GPL-2.0-only
#include "records.h"

#include <errno.h>

#include "../base/error.h"

int np_records_open(struct np_records *r, const struct np_records_kind *kind, struct np_err *err)
{
	int e = np_state_file_open(&r->file, NULL, kind->file, err);

	r->kind = kind;
	r->array = NULL;
	if (e)
		return e;
	e = np_state_file_load(&r->file, kind->array, kind->what, &r->array, err);
	if (e) {
		np_records_close(r);
		return e;
	}
	if (!r->array)
		r->array = json_array();
	for (size_t i = json_array_size(r->array); kind->is_current && i-- > 0;)
		if (!kind->is_current(json_array_get(r->array, i)))
			json_array_remove(r->array, i);
	return 0;
}

int np_records_save(struct np_records *r, struct np_err *err)
{
	return np_state_file_save(&r->file, r->kind->array, r->array, err);
}

void np_records_close(struct np_records *r)
{
	json_decref(r->array);
	np_state_file_close(&r->file);
}

/* Removes the first record that has these numbers of the key; or says whether there is one. */
static bool find(struct np_records *r, const char *const *number, const json_t *key, bool remove)
{
	json_t *record;
	size_t i;

	json_array_foreach(r->array, i, record) {
		const char *const *name = number;

		while (*name && json_integer_value(json_object_get(record, *name)) ==
					json_integer_value(json_object_get(key, *name)))
			name++;
		if (!*name)
			return !remove || !json_array_remove(r->array, i);
	}
	return false;
}

static int add_each(struct np_records *r, const json_t *fresh, bool *added, struct np_err *err)
{
	const char *const *key = r->kind->key;
	bool any = false;
	json_t *record;
	size_t i;
	int e;

	json_array_foreach(fresh, i, record) {
		if (json_is_null(record) || find(r, key, record, false))
			continue;
		find(r, key + 1, record, true);
		json_array_append(r->array, record);
		added[i] = any = true;
	}
	e = any ? np_records_save(r, err) : 0;
	for (i = 0; e && i < json_array_size(fresh); i++)
		added[i] = false;
	return e;
}

int np_records_add(const struct np_records_kind *kind, json_t *fresh, bool *added,
		   struct np_err *err)
{
	struct np_records r;
	int e = np_records_open(&r, kind, err);

	if (!e) {
		e = add_each(&r, fresh, added, err);
		np_records_close(&r);
	}
	json_decref(fresh);
	return e;
}

int np_records_drop(const struct np_records_kind *kind, json_t *keys, struct np_err *err)
{
	struct np_records r;
	int e = np_records_open(&r, kind, err);

	if (!e) {
		for (size_t i = 0; i < json_array_size(keys); i++)
			find(&r, kind->key, json_array_get(keys, i), true);
		e = np_records_save(&r, err);
		np_records_close(&r);
	}
	json_decref(keys);
	return e;
}

/* A list of those that are meant: the file is not locked while pages move, which may take hours. */
static int take(const struct np_records_kind *kind, const struct np_records_back *how,
		json_t *taken, struct np_err *err)
{
	struct np_records r;
	json_t *record;
	size_t i;
	int e = np_records_open(&r, kind, err);

	if (e)
		return e;
	json_array_foreach(r.array, i, record) {
		bool meant = !how->pids;

		for (size_t k = 0; !meant && k < how->n; k++)
			meant = kind->is_of(record, how->pids[k]);
		if (meant)
			json_array_append(taken, record);
	}
	np_records_close(&r);
	return 0;
}

int np_records_bring_back(const struct np_records_kind *kind, const struct np_records_back *how,
			  void *result, struct np_err *err)
{
	json_t *taken = json_array(), *done = json_array();
	int e = take(kind, how, taken, err), one;
	struct np_err why;

	for (size_t i = 0; i < json_array_size(taken) && e != -EINTR; i++) {
		json_t *record = json_array_get(taken, i);

		one = *how->stop ? np_fail(&why, -EINTR, "interrupted") :
				   kind->bring_back(record, how, result, &why);
		if (!one)
			json_array_append(done, record);
		else if (one < 0 && (!e || one == -EINTR))
			e = np_fail(err, one, "%s", why.text);
	}
	one = json_array_size(done) ? np_records_drop(kind, json_incref(done), &why) : 0;
	json_decref(taken);
	json_decref(done);
	return !e && one ? np_fail(err, one, "%s", why.text) : e;
}
