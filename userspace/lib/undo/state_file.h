/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A JSON file of state to be restored, locked while it is in use: it outlives
 * the process that wrote it, but not the boot. Records may be appended, one a line,
 * behind the object; a last line without its newline was never acted on.
 * A record with a "pid" says in "pid_namespace" whose numbers it has, by the inode of
 * /proc/PID/ns/pid: without it, the own ones. Those of another namespace stay in the file.
 */
#ifndef NUMAPLACE_LIB_STATE_FILE_H
#define NUMAPLACE_LIB_STATE_FILE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/error.h"
#include "../host/proc.h"

struct np_state_file {
	char path[PATH_MAX];
	int lock;	 /* held from open to close */
	int data;	 /* the file that is loaded or saved, -1: there is none */
	off_t size;	 /* of its whole records */
	json_t *foreign; /* loaded records of other pid namespaces, or NULL */
};

/*
 * The folder of state: /run/numaplace for root, $XDG_RUNTIME_DIR/numaplace for
 * others; made when it is not there. 0, or -errno with one line in err.
 */
int np_state_folder(char *path, size_t path_len, struct np_err *err);

/*
 * Locks the file at path, which then holds this process's pid. The descriptor that keeps the lock, or
 * -errno: -EBUSY when another process holds it for so long and -EINTR on a signal meanwhile, with that
 * process in holder and nothing in err; else with one line in err.
 */
int np_lock_file(const char *path, int seconds, struct np_proc_stat *holder, struct np_err *err);

/*
 * Locks the file called name in the folder, or path if not NULL. -EBUSY when another
 * process holds it for 10 s, -EINTR on a signal meanwhile; err names that process.
 */
int np_state_file_open(struct np_state_file *f, const char *path, const char *name,
		       struct np_err *err);
void np_state_file_close(struct np_state_file *f);

/*
 * *records becomes the array of that name without f->foreign, for the caller to release;
 * NULL when there is no file or it is of an earlier boot. -EINVAL when it is damaged;
 * what says in err what is then not known.
 */
int np_state_file_load(struct np_state_file *f, const char *name, const char *what,
		       json_t **records, struct np_err *err);

/* Returns -EINVAL, with the line in err that np_state_file_load() has for a damaged file. */
int np_state_file_damaged(const struct np_state_file *f, const char *what, struct np_err *err);

/* Writes the array and f->foreign, replacing the file in one step. */
int np_state_file_save(struct np_state_file *f, const char *name, json_t *records,
		       struct np_err *err);

/* Appends whole records; -ENOENT where there is no file to append to, which err leaves unsaid. */
int np_state_file_append(struct np_state_file *f, json_t *records, struct np_err *err);

/* One line in err that says where f->foreign can be restored; none: err is left as it is. */
void np_state_file_say_foreign(const struct np_state_file *f, struct np_err *err);

/* Whether no other process has written it since f loaded or saved it; f is locked. */
bool np_state_file_unchanged(const struct np_state_file *f);

#endif
