/* SPDX-License-Identifier: GPL-2.0-only */
/* Moving the pages of a file or of a segment, whoever maps them or nobody. */
#ifndef NUMAPLACE_LIB_MIGRATE_FILE_H
#define NUMAPLACE_LIB_MIGRATE_FILE_H

#include "../host/mapped_file.h"
#include "engine.h"

/*
 * Moves what of it is in memory. Of *r: from, to or share, limit, pace, dry, progress; the rest is not looked
 * at. *out as of np_engine_ops.migrate(), and what has moved after an error. It grows window by window:
 * progress() is told of the one that moves. 0 or -errno.
 */
int np_migrate_file(const struct np_mapped_file *file, const struct np_engine_ops *engine,
		    const struct np_migrate_request *r, struct np_migrate_result *out,
		    struct np_err *err);

#endif
