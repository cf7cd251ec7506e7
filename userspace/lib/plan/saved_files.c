// SPDX-License-Identifier: GPL-2.0-only
#include "saved_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../files/json.h"
#include "../host/proc.h"
#include "../undo/records.h"

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

static json_t *make_key(const struct np_file *file)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "major", (json_int_t)file->id.major, "minor",
			 (json_int_t)file->id.minor, "inode", (json_int_t)file->id.inode, "ipc",
			 (json_int_t)file->id.ipc, "device", (json_int_t)file->device, "born",
			 (json_int_t)file->born);
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
	json_t *record = make_key(file), *readers = json_array();

	for (size_t i = 0; i < file->n_readers; i++)
		json_array_append_new(readers, describe_reader(files, &file->reader[i]));
	json_object_set_new(record, "path", np_json_text(file->path));
	json_object_set_new(record, "pages", np_json_pages(m, file->pages));
	json_object_set_new(record, "readers", readers);
	return record;
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

static bool is_read_by(const json_t *record, pid_t pid)
{
	json_t *reader;
	size_t i;

	json_array_foreach(json_object_get(record, "readers"), i, reader)
		if (is_reader(reader, pid))
			return true;
	return false;
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
static int bring_back(const json_t *record, const struct np_records_back *how, void *result,
		      struct np_err *err)
{
	const struct np_machine *m = how->machine;
	struct np_files_back *back = result;
	const json_t *counts = json_object_get(record, "pages");
	struct np_file file = read_name(record);
	struct np_migrate_result moved = { 0 };
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
		e = np_file_move_to(&file, share, m, how->mover, &moved, err);
	free(file.reader);
	back->moved += moved.moved;
	back->gone += e == -ESTALE;
	if (e == -ECANCELED)
		return np_fail(err, -EINTR, "interrupted");
	if (e)
		return e == -ESTALE ? 0 : e;
	back->missing += np_migrate_left(&moved);
	back->files++;
	return np_migrate_left(&moved) > 0;
}

static const struct np_records_kind pages_of_files = {
	.file = "files.json",
	.array = "files",
	.what = "where the pages of moved files were is",
	/* A number may have become another file's since: that one was made later. */
	.key = (const char *const[]) { "born", "major", "minor", "inode", "ipc", "device", NULL },
	.is_of = is_read_by,
	.bring_back = bring_back,
};

int np_saved_files_add(const struct np_file_moves *moves, const struct np_machine *m, bool *added,
		       struct np_err *err)
{
	json_t *fresh = json_array();

	for (size_t i = 0; i < moves->n; i++)
		json_array_append_new(fresh, make_record(&moves->files, moves->move[i].file, m));
	return np_records_add(&pages_of_files, fresh, added, err);
}

int np_saved_files_drop(const struct np_file_moves *moves, const bool *drop, struct np_err *err)
{
	json_t *keys = json_array();

	for (size_t i = 0; i < moves->n; i++)
		if (drop[i])
			json_array_append_new(keys, make_key(moves->move[i].file));
	return np_records_drop(&pages_of_files, keys, err);
}

int np_saved_files_restore(const struct np_machine *m, const pid_t *pids, size_t n,
			   const struct np_mover *mover, const volatile sig_atomic_t *stop,
			   struct np_files_back *back, struct np_err *err)
{
	const struct np_records_back how = { m, mover, pids, n, stop };

	return np_records_bring_back(&pages_of_files, &how, back, err);
}
