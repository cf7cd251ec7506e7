/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moving all or a number of a task's pages, but for those of mappings with a memory policy of
 * their own: what nobody moves, nobody brings back.
 */
#ifndef NUMAPLACE_LIB_MOVE_RANGE_H
#define NUMAPLACE_LIB_MOVE_RANGE_H

#include "../host/topology.h"
#include "engine.h"

/* Limits of the speed of moves. */
struct np_throttle {
	unsigned int rate_mib;	   /* MiB a second, 0: no limit */
	unsigned int max_stall_us; /* for which a page may be unmapped, about; 0: the engine's own */
};

/* The engine that moves, its limits, and callbacks during and after each call. */
struct np_mover {
	const struct np_engine_ops *engine;
	struct np_throttle throttle;
	bool (*go_on)(const struct np_migrate_result *so_far, void *arg);  /* or NULL */
	void (*report)(const struct np_migrate_result *result, void *arg); /* or NULL */
	void *arg;
};

/* The whole task in one call. Adds to *moved in any case. 0 or -errno. */
int np_move_whole(const struct np_mover *m, pid_t pid, const struct bitmask *from, int to,
		  uint64_t *moved, struct np_err *err);

/*
 * limit pages, fewer where there are not as many, from the nodes in from (NULL: any) to
 * node number to; with move_pages(2) the last of them may be a huge page that moves
 * whole. Adds to *moved in any case. 0 or -errno.
 */
int np_move_part(const struct np_mover *m, pid_t pid, const struct bitmask *from, int to,
		 uint64_t limit, uint64_t *moved, struct np_err *err);

/*
 * Brings pages back: from nodes that have more than before to those that have
 * fewer. before and have are pages by node index. 0 or -errno.
 */
int np_move_back(const struct np_mover *m, const struct np_machine *machine, pid_t pid,
		 const uint64_t *before, const uint64_t *have, uint64_t *moved, struct np_err *err);

#endif
