// SPDX-License-Identifier: GPL-2.0-only
#include "saved_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../files/json.h"
#include "../host/proc.h"
#include "../undo/state_file.h"

#define ARRAY "files"

struct records {
	struct np_state_file file;
	json_t *array;
};

static int open_records(struct records *r, struct np_err *err)
{
	int e = np_state_file_open(&r->file, NULL, "files.json", err);

	r->array = NULL;
	if (e)
		return e;
	e = np_state_file_load(&r->file, ARRAY, "where the pages of moved files were is", &r->array,
			       err);
	if (e)
		np_state_file_close(&r->file);
	else if (!r->array)
		r->array = json_array();
	return e;
}

static void close_records(struct records *r)
{
	json_decref(r->array);
	np_state_file_close(&r->file);
}

/* Of what a record says which file it is; it lives as long as the record does. */
static struct np_file read_name(const json_t *record)
{
	return (struct np_file) {
		.id = {
			.major = (unsigned int)np_json_number_of(record, "major"),
			.minor = (unsigned int)np_json_number_of(record, "minor"),
			.inode = (uint64_t)json_integer_value(json_object_get(record, "inode")),
			.ipc = (uint64_t)json_integer_value(json_object_get(record, "ipc")),
		},
		.device = (dev_t)json_integer_value(json_object_get(record, "device")),
		.born = (uint64_t)json_integer_value(json_object_get(record, "born")),
		.path = (char *)np_json_text_of(record, "path"),
	};
}

/* A number may have become another file's since: that one was made later. */
static bool is_same(const struct np_file *a, const struct np_file *b)
{
	return np_file_id_equal(&a->id, &b->id) && a->device == b->device && a->born == b->born;
}

/* Place of the file's record, or -1. Records of files whose number is another one's now are taken out. */
static long find(const struct records *r, const struct np_file *file)
{
	for (size_t i = 0; i < json_array_size(r->array); i++) {
		struct np_file one = read_name(json_array_get(r->array, i));

		if (is_same(&one, file))
			return (long)i;
		if (np_file_id_equal(&one.id, &file->id) && one.device == file->device)
			json_array_remove(r->array, i--);
	}
	return -1;
}

/* Start time beside the number, which may be another process's later; 0: it has ended already. */
static json_t *describe_reader(const struct np_file_pages *files,
			       const struct np_file_reader *reader)
{
	long row = np_file_reader_row(files, reader);

	return json_pack("{s:i,s:I}", "pid", (int)reader->pid, "start",
			 row < 0 ? 0 : (json_int_t)files->readers.start[row]);
}

static json_t *make_record(const struct np_file_pages *files, const struct np_file *file,
			   const struct np_machine *m)
{
	json_t *readers = json_array();

	for (size_t i = 0; i < file->n_readers; i++)
		json_array_append_new(readers, describe_reader(files, &file->reader[i]));
	return json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "path", np_json_text(file->path), "major",
			 (json_int_t)file->id.major, "minor", (json_int_t)file->id.minor, "inode",
			 (json_int_t)file->id.inode, "ipc", (json_int_t)file->id.ipc, "device",
			 (json_int_t)file->device, "born", (json_int_t)file->born, "pages",
			 np_json_pages(m, file->pages), "readers", readers);
}

int np_saved_files_add(const struct np_file_moves *moves, const struct np_machine *m, bool *added,
		       struct np_err *err)
{
	struct records r;
	int e = open_records(&r, err);

	if (e)
		return e;
	for (size_t i = 0; i < moves->n; i++) {
		added[i] = find(&r, moves->move[i].file) < 0;
		if (added[i])
			json_array_append_new(r.array,
					      make_record(&moves->files, moves->move[i].file, m));
	}
	e = np_state_file_save(&r.file, ARRAY, r.array, err);
	for (size_t i = 0; e && i < moves->n; i++)
		added[i] = false;
	close_records(&r);
	return e;
}

static void remove_record(const struct records *r, const struct np_file *file)
{
	long at = find(r, file);

	if (at >= 0)
		json_array_remove(r->array, (size_t)at);
}

int np_saved_files_drop(const struct np_file_moves *moves, const bool *drop, struct np_err *err)
{
	struct records r;
	int e = open_records(&r, err);

	if (e)
		return e;
	for (size_t i = 0; i < moves->n; i++)
		if (drop[i])
			remove_record(&r, moves->move[i].file);
	e = np_state_file_save(&r.file, ARRAY, r.array, err);
	close_records(&r);
	return e;
}

static pid_t read_pid(const json_t *reader)
{
	return (pid_t)json_integer_value(json_object_get(reader, "pid"));
}

/* One that has ended may be named as well, as long as its number is nobody else's. */
static bool is_reader(const json_t *reader, pid_t pid)
{
	json_int_t start = json_integer_value(json_object_get(reader, "start"));
	struct np_proc_stat st;

	return read_pid(reader) == pid && (np_proc_stat(pid, &st) || (json_int_t)st.start == start);
}

static bool is_meant(const json_t *record, const pid_t *pids, size_t n)
{
	json_t *reader;
	size_t i;

	json_array_foreach(json_object_get(record, "readers"), i, reader)
		for (size_t k = 0; k < n; k++)
			if (is_reader(reader, pids[k]))
				return true;
	return !pids;
}

/* Those that mapped it then may map it still. NULL without memory. */
static struct np_file_reader *read_readers(const json_t *record, size_t *n)
{
	const json_t *noted = json_object_get(record, "readers");
	struct np_file_reader *readers = calloc(json_array_size(noted) + 1, sizeof(*readers));

	*n = readers ? json_array_size(noted) : 0;
	for (size_t i = 0; i < *n; i++)
		readers[i].pid = read_pid(json_array_get(noted, i));
	return readers;
}

/* 0; 1: some of its pages would not go; or -errno. */
static int bring_back(const json_t *record, const struct np_machine *m,
		      const struct np_mover *mover, struct np_files_back *back, struct np_err *err)
{
	const json_t *counts = json_object_get(record, "pages");
	struct np_file file = read_name(record);
	struct np_migrate_result result = { 0 };
	uint64_t pages[NP_MAX_NODES];
	double share[NP_MAX_NODES];
	int e = 0;

	for (size_t k = 0; k < m->n_nodes; k++)
		pages[k] = (uint64_t)json_integer_value(np_json_of_node(counts, m, k));
	file.pages = pages;
	file.reader = read_readers(record, &file.n_readers);
	if (!file.reader)
		return np_fail(err, -ENOMEM, "out of memory");
	if (np_file_shares(&file, m, share))
		e = np_file_move_to(&file, share, m, mover, &result, err);
	free(file.reader);
	back->moved += result.moved;
	back->gone += e == -ESTALE;
	if (e)
		return e == -ESTALE ? 0 : e == -ECANCELED ? -EINTR : e;
	back->missing += np_migrate_left(&result);
	back->files++;
	return np_migrate_left(&result) > 0;
}

/* The state is not locked while pages move: that may take long. */
static int take_records(json_t **taken, struct np_err *err)
{
	struct records r;
	int e = open_records(&r, err);

	if (e)
		return e;
	*taken = json_deep_copy(r.array);
	close_records(&r);
	return *taken ? 0 : np_fail(err, -ENOMEM, "out of memory");
}

static int drop_records(const json_t *done, struct np_err *err)
{
	struct records r;
	json_t *record;
	size_t i;
	int e = open_records(&r, err);

	if (e)
		return e;
	json_array_foreach(done, i, record) {
		struct np_file file = read_name(record);

		remove_record(&r, &file);
	}
	e = np_state_file_save(&r.file, ARRAY, r.array, err);
	close_records(&r);
	return e;
}

int np_saved_files_restore(const struct np_machine *m, const pid_t *pids, size_t n,
			   const struct np_mover *mover, const volatile sig_atomic_t *stop,
			   struct np_files_back *back, struct np_err *err)
{
	json_t *taken = NULL, *done = json_array(), *record;
	struct np_err why;
	size_t i;
	int e = take_records(&taken, err), saved;

	json_array_foreach(taken, i, record) {
		int one;

		if (!is_meant(record, pids, n))
			continue;
		one = *stop ? np_fail(&why, -EINTR, "interrupted") :
			      bring_back(record, m, mover, back, &why);
		if (!one)
			json_array_append(done, record);
		else if (one < 0 && (!e || one == -EINTR))
			e = np_fail(err, one, "%s", one == -EINTR ? "interrupted" : why.text);
		if (one == -EINTR)
			break;
	}
	saved = json_array_size(done) ? drop_records(done, &why) : 0;
	json_decref(taken);
	json_decref(done);
	return !e && saved ? np_fail(err, saved, "%s", why.text) : e;
}
