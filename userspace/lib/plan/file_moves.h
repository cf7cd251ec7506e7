/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the files go that the tasks of a plan map: to where the plan has their readers. */
#ifndef NUMAPLACE_LIB_FILE_MOVES_H
#define NUMAPLACE_LIB_FILE_MOVES_H

#include <jansson.h>
#include <stdio.h>

#include "../../../policies/plan/plan.h"
#include "../engine/move_range.h"
#include "../host/file_pages.h"

/* What the moves of files follow from. */
struct np_file_plan {
	const struct np_machine *machine;
	const struct np_tasks *tasks;
	const struct np_plan *plan; /* of these tasks */
	bool override;		    /* memory policies that were chosen do not count */
};

struct np_file_move {
	const struct np_file *file;
	double *share;	/* [n_nodes] of its pages that each node is to have, adding up to 1 */
	uint64_t pages; /* that are not where they are to be */
};

struct np_file_moves {
	struct np_file_pages files;
	struct np_file_move *move; /* [n] */
	size_t n;
	uint64_t *promised;	       /* [n_nodes] pages that the moves so far bring there */
	size_t left_out;	       /* files that would move, if they could be opened */
	const struct np_file *example; /* one of them */
	struct np_err note;	       /* on what this user may not see or move; "": on nothing */
};

/*
 * Reads the files of the plan's tasks and says where those go that have pages elsewhere. Left
 * alone: files of less than 1 MiB, those of which other processes map more than the tasks do, those that
 * do not fit, and, but with p->override, shared memory with a memory policy and files of which a reader
 * has one. 0, or -errno with one line in err. np_file_moves_free() in any case.
 */
int np_file_moves_plan(struct np_file_moves *moves, const struct np_file_plan *p,
		       struct np_err *err);
void np_file_moves_free(struct np_file_moves *moves);

/* [{"path", "pages", "share", "pages_to_move", "readers"}] */
json_t *np_file_moves_json(const struct np_file_moves *moves, const struct np_machine *m);

/* A line for each, and the note. */
void np_file_moves_print(FILE *out, const struct np_file_moves *moves, const struct np_machine *m);

/*
 * Brings a file's pages to these shares [n_nodes]. Of *mover: engine, throttle, go_on. *out as of
 * np_engine_ops.migrate(). 0 or -errno; -ESTALE: it is not there any more.
 */
int np_file_move_to(const struct np_file *file, const double *share, const struct np_machine *m,
		    const struct np_mover *mover, struct np_migrate_result *out,
		    struct np_err *err);

/* The shares [n_nodes] of a file's pages as they are; false: it has none. */
bool np_file_shares(const struct np_file *file, const struct np_machine *m, double *share);

#endif
