/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A JSON file of what is to be undone, locked while it is in use: it outlives
 * the tool that wrote it, but not the boot.
 */
#ifndef NUMAPLACE_LIB_STATE_FILE_H
#define NUMAPLACE_LIB_STATE_FILE_H

#include <jansson.h>
#include <limits.h>
#include <stddef.h>

struct np_state_file {
	char path[PATH_MAX];
	int lock;			/* held from open to close */
};

/*
 * The folder of state: /run/numaplace for root, $XDG_RUNTIME_DIR/numaplace for
 * others; made when it is not there. 0, or -errno with one line in err.
 */
int np_state_folder(char *path, size_t path_len, char *err, size_t err_len);

/* Locks the file called name in the folder, or path if that is given. */
int np_state_file_open(struct np_state_file *f, const char *path, const char *name,
		       char *err, size_t err_len);
void np_state_file_close(struct np_state_file *f);

/*
 * *records becomes the array of that name, for the caller to release; NULL when
 * there is no file or it is of an earlier boot. -EINVAL when it is damaged;
 * what says in err what is then not known.
 */
int np_state_file_load(const struct np_state_file *f, const char *name, const char *what,
		       json_t **records, char *err, size_t err_len);

/* Writes the array, replacing the file in one step. */
int np_state_file_save(const struct np_state_file *f, const char *name, json_t *records,
		       char *err, size_t err_len);

#endif
