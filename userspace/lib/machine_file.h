/* SPDX-License-Identifier: GPL-2.0-only */
/* Machine files (Documentation/lab.md, lab-model.md) as the policies see a machine. */
#ifndef NUMAPLACE_LIB_MACHINE_FILE_H
#define NUMAPLACE_LIB_MACHINE_FILE_H

#include "../../policies/model.h"
#include "error.h"
#include "machine.h"

/*
 * Reads NAME.toml of the machines that come with numaplace, or any file whose
 * name ends in .toml. All memory is free; m->model is model when the file has
 * a [model], which must live as long, else NULL. 0, or -errno with one line in
 * err: -ENOENT for a name that is not known, -EINVAL for a file that is wrong.
 * The caller releases m with np_machine_free().
 */
int np_machine_file_read(const char *name, struct np_machine *m, struct np_model *model,
			 char *err, size_t err_len);

/* The names of the machines that come with numaplace, "a, b, c". Returns text. */
const char *np_machine_file_names(char *text, size_t text_len);

#endif
