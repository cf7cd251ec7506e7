/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread may have been placed by the module and by plain system calls, one on top
 * of the other. Its first CPUs lie under both: the CPUs that system calls save for a
 * restore are those under the module's.
 */
#ifndef NUMAPLACE_LIB_LAYERS_H
#define NUMAPLACE_LIB_LAYERS_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/error.h"
#include "state_file.h"

struct np_layer {
	pid_t tid, pid; /* the thread and its process */
	/* CPUs that the module has set, and those before; NULL where it has set none. */
	struct bitmask *set, *under;
};

/* Threads that the module has placed, in order of tid; none where there is no module. */
struct np_layers {
	struct np_layer *layer;
	size_t n;
};

/*
 * A lock, where there is a module, around adding or removing a layer: others find that
 * done or not begun. Released with np_state_file_close(). 0, or -EBUSY or -EINTR
 * with one line in err.
 */
int np_layers_lock(struct np_state_file *lock, struct np_err *err);

/*
 * Anew, in the place of what was read before. 0 or -ENOMEM; released with np_layers_free() in
 * either case.
 */
int np_layers_read(struct np_layers *l);
void np_layers_free(struct np_layers *l);

/* NULL: the module has not placed it. */
const struct np_layer *np_layers_find(const struct np_layers *l, pid_t tid);

/*
 * Where cpus, which the thread has, are what the module set: they become what lies under that,
 * true.
 */
bool np_layers_lift(const struct np_layers *l, pid_t tid, struct bitmask *cpus);

#endif
