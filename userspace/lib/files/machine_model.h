/* SPDX-License-Identifier: GPL-2.0-only */
/* The [model] of a machine file. */
#ifndef NUMAPLACE_LIB_MACHINE_MODEL_H
#define NUMAPLACE_LIB_MACHINE_MODEL_H

#include <jansson.h>

#include "../../../policies/model/model.h"
#include "../host/topology.h"

/*
 * Fills model from the file's table, and m->model with it. 0, or -EINVAL with
 * one line in err that names the field. path stands for the file in errors.
 */
int np_machine_file_model(json_t *file, const char *path, struct np_machine *m,
			  struct np_model *model, char *err, size_t err_len);

#endif
