/* SPDX-License-Identifier: GPL-2.0-only */
/* The [model] of a machine file: the numbers of policies/model/fields.def. */
#ifndef NUMAPLACE_LIB_MACHINE_MODEL_H
#define NUMAPLACE_LIB_MACHINE_MODEL_H

#include "../../../policies/model/model.h"
#include "../base/toml.h"
#include "../host/topology.h"

/*
 * Fills model from the file's [model] and [[cache]], and m->model with it. 0, or
 * -EINVAL with one line in the file's err.
 */
int np_machine_file_model(const struct np_toml_table *file, struct np_machine *m,
			  struct np_model *model);

#endif
