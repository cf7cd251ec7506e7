/* SPDX-License-Identifier: GPL-2.0-only */
/* Machine files (Documentation/reference/machine-files.md) as the policies see a machine. */
#ifndef NUMAPLACE_LIB_MACHINE_FILE_H
#define NUMAPLACE_LIB_MACHINE_FILE_H

#include "../../../policies/model/model.h"
#include "../base/error.h"
#include "../base/toml.h"
#include "../host/topology.h"
#include "machine_find.h"

/*
 * Reads NAME.toml of the machines that come with numaplace, a machine by its shape
 * (machine_shape.h), with /S behind it at 1/S of its speed (machine_scale.h), or any file whose name ends in .toml or has a folder in it. All memory is free; m->model is model when the file has
 * a [model], which must live as long, else NULL. 0, or -errno with one line in
 * err: -ENOENT for a name that is not known, -EINVAL for a file that is wrong.
 * The caller releases m with np_machine_free().
 */
int np_machine_file_read(const char *name, struct np_machine *m, struct np_model *model,
			 struct np_err *err);

/*
 * The model of that file, when it has a [model] for m's number of nodes. 1, 0 when it
 * has none or /etc's file is of another number, or -errno with one line in err.
 * *same_name is set with 1: the file is called as m is.
 */
int np_machine_file_here_model(const struct np_machine *m, struct np_model *model, bool *same_name,
			       struct np_err *err);

/*
 * Opens it. path: [len], where the file is; scale: of np_machine_file_load(). 0, or as np_machine_file_read(); np_toml_release() in
 * either case.
 */
int np_machine_file_open(struct np_toml_file *file, const char *name, char *path, size_t len,
			 unsigned int *scale);

/* np_machine_file_read() of a file that is open. */
int np_machine_file_load(const struct np_toml_file *file, unsigned int scale, struct np_machine *m,
			 struct np_model *model);

/*
 * All that the file has, as `numaplace machine --json` prints it; NULL with *e = -errno
 * and one line in err. set: [n_set] assignments for np_machine_set().
 */
json_t *np_machine_file_json(const char *name, const char *const *set, size_t n_set, int *e,
			     struct np_err *err);

#endif
