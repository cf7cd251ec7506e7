/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The nodes of files' pages from before numaplace first moved them, in a file, so that
 * `restore --pages` can bring them back after the tool is gone.
 */
#ifndef NUMAPLACE_LIB_SAVED_FILES_H
#define NUMAPLACE_LIB_SAVED_FILES_H

#include <signal.h>

#include "file_moves.h"

/*
 * Notes those of the files that have no record yet: the first is what counts. added[i] is set for these.
 * 0, or -errno with one line in err.
 */
int np_saved_files_add(const struct np_file_moves *moves, const struct np_machine *m, bool *added,
		       struct np_err *err);

/* Forgets those of n files, whose pages are back or have never moved, for which drop[i] is set. */
int np_saved_files_drop(const struct np_file_moves *moves, const bool *drop, struct np_err *err);

struct np_files_back {
	size_t files;		 /* whose pages were brought back */
	size_t gone;		 /* that are not there any more: forgotten */
	uint64_t moved, missing; /* pages; those that would not go back */
};

/*
 * Brings the pages of files that these n processes (NULL: any) mapped back to the shares that the nodes
 * had, and forgets the files of which no page stayed. Adds to *back. Stops when *stop is set, with
 * -EINTR: the rest keeps its record. 0, or -errno with one line in err: the first error.
 */
int np_saved_files_restore(const struct np_machine *m, const pid_t *pids, size_t n,
			   const struct np_mover *mover, const volatile sig_atomic_t *stop,
			   struct np_files_back *back, struct np_err *err);

#endif
