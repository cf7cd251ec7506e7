/* SPDX-License-Identifier: GPL-2.0-only */
/* Files, where their pages in memory are, and who maps them. */
#ifndef NUMAPLACE_LIB_FILE_PAGES_H
#define NUMAPLACE_LIB_FILE_PAGES_H

#include "../base/error.h"
#include "file_open.h"
#include "tasks.h"

struct np_file_pages {
	struct np_file **file; /* [n], those with the most pages first */
	size_t n;
	struct np_tasks
		readers; /* each process that maps one of them, in ascending order; without pages */
	size_t denied;	 /* processes that may not be read */
	pid_t denied_pid; /* one of them */
	void *by_id;
};

/*
 * The files of these paths, and those that these processes map. Readers are looked for among all
 * processes. strict: a process that has ended or may not be read is an error; else it is left out. 0, or
 * -errno with one line in err. np_file_pages_free() in any case.
 */
int np_file_pages_read(struct np_file_pages *f, const struct np_machine *m, char *const *paths,
		       size_t n_paths, const pid_t *pids, size_t n_pids, bool strict,
		       struct np_err *err);
void np_file_pages_free(struct np_file_pages *f);

/* Base pages of a file in memory, on all nodes. */
uint64_t np_file_total(const struct np_file *file, const struct np_machine *m);

/* Row of f->readers, or -1: it has ended. */
long np_file_reader_row(const struct np_file_pages *f, const struct np_file_reader *reader);

/*
 * Of the pages that readers map, the share that is on another node than the reader runs on, 0..1; a
 * reader on several nodes is left out. -1: there is no other.
 */
double np_file_remote_share(const struct np_file_pages *f, const struct np_file *file,
			    const struct np_machine *m);

#endif
