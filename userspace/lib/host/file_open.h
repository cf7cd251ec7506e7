/* SPDX-License-Identifier: GPL-2.0-only */
/* A file with pages in memory, and how to reach this very file again. */
#ifndef NUMAPLACE_LIB_FILE_OPEN_H
#define NUMAPLACE_LIB_FILE_OPEN_H

#include "mapped_file.h"

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
