/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPUs that threads were allowed before plain system calls placed them,
 * in a file, so that `restore` works after the tool that placed them is gone.
 * A thread is named by its id and start time: a reused id is never touched.
 */
#ifndef NUMAPLACE_LIB_SAVED_AFFINITY_H
#define NUMAPLACE_LIB_SAVED_AFFINITY_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "placements.h"
#include "state_file.h"

/* np_saved.by of tasks that `run` and the daemon have placed, and room for it. */
#define NP_BY_RUN    "run %d"
#define NP_BY_DAEMON "daemon"
#define NP_BY_LEN    24

struct np_saved {
	pid_t tid, pid;		   /* the thread and its process */
	unsigned long long start;  /* of the thread */
	unsigned long long placed; /* when it was first placed, in the same unit */
	char by[NP_BY_LEN];	   /* "": by hand; else the program that restores it when it ends */
	bool inherit;		   /* restore its children too */
	bool inherited;		   /* was not placed: it has the CPUs of one that was */
	bool all;		   /* it had all that its cpuset allows: it gets every CPU */
	bool gone;		   /* has exited; kept for what it has started */
	bool fresh;		   /* not in the file yet */
	bool done;		   /* has been restored by the restore that runs now */
	bool complete;		   /* its descendants had a record when this series of
					 * placements began; not in the file */
	struct bitmask *original;  /* allowed CPUs before numaplace changed them */
	struct bitmask *set;	   /* what numaplace changed them to */
	struct bitmask *earlier;   /* what it had changed them to before that, or NULL: a tool
					 * that was killed may have come only so far */
};

struct np_saved_affinity {
	struct np_state_file file;
	size_t n;
	struct np_saved *saved;
	size_t written;			 /* records in the file, replaced ones included */
	size_t loaded;			 /* records in the file when it was read */
	bool rewrite;			 /* it has some that are of no use any more */
	struct np_placements placements; /* of the module when tasks were looked at last */
};

/*
 * Locks and loads the state file; path NULL means the default one:
 * /run/numaplace/state.json for root, $XDG_RUNTIME_DIR/numaplace/state.json
 * for others. Records of an earlier boot are dropped, and those of threads that
 * have exited unless others may have inherited their CPUs: these are "gone".
 * 0, or -errno with one line in err.
 */
int np_saved_affinity_open(struct np_saved_affinity *s, const char *path, struct np_err *err);

/* Writes it to disk, replacing the file in one step. */
int np_saved_affinity_save(struct np_saved_affinity *s, struct np_err *err);

/*
 * Writes the records that were added since to disk: behind the others, or all
 * anew when too many of those have been replaced. What was dropped without
 * being added again stays in the file.
 */
int np_saved_affinity_record(struct np_saved_affinity *s, struct np_err *err);

/*
 * As np_saved_affinity_open() of the default file, but without reading it again when this
 * process has kept it and no other has written it since; records of threads that
 * have exited may then still be there.
 */
int np_saved_affinity_open_kept(struct np_saved_affinity *s, struct np_err *err);

/* As np_saved_affinity_close(), but keeps it in memory for np_saved_affinity_open_kept(). Of one thread. */
void np_saved_affinity_keep(struct np_saved_affinity *s);

/* Unlocks and releases; does not save. */
void np_saved_affinity_close(struct np_saved_affinity *s);

/* The record of this thread, or NULL; never one that is gone. Valid until the next add or drop. */
struct np_saved *np_saved_affinity_find(struct np_saved_affinity *s, pid_t tid);

/* Adds a record (masks are copied), in the place of the one of the same thread. 0 or -ENOMEM. */
int np_saved_affinity_add(struct np_saved_affinity *s, const struct np_saved *record);

/* Removes the record of this thread, if there is one. */
void np_saved_affinity_drop(struct np_saved_affinity *s, pid_t tid);

/* Removes the records that which() is true for. */
void np_saved_affinity_drop_if(struct np_saved_affinity *s,
			       bool (*which)(const struct np_saved *r));

/* Its thread has exited: goes as np_saved_affinity_open() says. */
void np_saved_affinity_end(struct np_saved_affinity *s, struct np_saved *r);

/*
 * Tasks that by has placed count as placed by hand, in the default file: they stay at the end of
 * that program and of later ones. 0, or -errno with one line in err.
 */
int np_saved_affinity_leave(const char *by, struct np_err *err);

/* Whether its thread lives: the number may be another's by now. */
bool np_saved_still_there(const struct np_saved *r);

/* A copy with masks of its own. */
struct np_saved np_saved_copy(const struct np_saved *r);
void np_saved_free(struct np_saved *r);
struct bitmask *np_saved_mask_copy(const struct bitmask *from); /* of CPUs */

#endif
