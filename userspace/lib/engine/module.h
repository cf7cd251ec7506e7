/* SPDX-License-Identifier: GPL-2.0-only */
/* The operations of the module's engine; see struct np_engine_ops. */
#ifndef NUMAPLACE_LIB_MODULE_H
#define NUMAPLACE_LIB_MODULE_H

#include "engine.h"

int np_module_ready(struct np_err *err);
int np_module_place(const struct np_place_request *r, struct np_err *err);
int np_module_undo(const struct np_undo *u, size_t n, struct np_err *err);
int np_module_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
		      struct np_err *err);

/* Threads that move pages, by default and at most. */
#define NP_MODULE_THREADS     4
#define NP_MODULE_MAX_THREADS 16

int np_module_memory(pid_t pid, int *mode, struct bitmask **nodes);
int np_module_restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err);

#endif
