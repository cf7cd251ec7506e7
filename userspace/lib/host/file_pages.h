/* SPDX-License-Identifier: GPL-2.0-only */
/* Files, where their pages in memory are, and who maps them. */
#ifndef NUMAPLACE_LIB_FILE_PAGES_H
#define NUMAPLACE_LIB_FILE_PAGES_H

#include "../base/error.h"
#include "mapped_file.h"
#include "tasks.h"

/* A process that maps a file. */
struct np_file_reader {
	pid_t pid;
	bool chosen;	 /* its memory policy names nodes */
	uint64_t *pages; /* [n_nodes] base pages of the file that it maps, by node */
};

struct np_file {
	struct np_file_id id;
	dev_t device;  /* as stat(2) has it; 0: not known */
	uint64_t born; /* np_mapped_file.born */
	char *path;    /* as it was named, or as /proc/PID/maps has it */
	bool named;
	uint64_t *pages; /* [n_nodes] base pages that are in memory, by node, mapped or not */
	/* 0, or -errno: those could not be counted. pages is then, node by node, the most that a reader maps. */
	int error;
	bool chosen;		       /* a mapping of it has a memory policy of its own */
	struct np_file_reader *reader; /* [n_readers] */
	size_t n_readers;
};

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

/* The identifier of a System V segment of this process's namespace, or -1: it is something else. */
long long np_file_segment(const struct np_file *file);

/* A path to the file by a process that maps it now, in text of NP_THROUGH_LEN bytes; NULL: there is none. */
const char *np_file_find_path(const struct np_file *file, char *text);

/*
 * Maps the file, by a process that maps it, by its path, or as a segment, whichever is this very file.
 * 0, or -errno with one line in err: -ESTALE where none is. np_mapped_file_close() in any case.
 */
int np_file_open(const struct np_file *file, struct np_mapped_file *mapped, struct np_err *err);

#endif
