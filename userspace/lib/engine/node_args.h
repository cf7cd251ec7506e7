/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs and nodes that a list on the command line may name on this machine. */
#ifndef NUMAPLACE_LIB_NODE_ARGS_H
#define NUMAPLACE_LIB_NODE_ARGS_H

#include "../base/cpulist.h"
#include "../host/topology.h"

struct np_node_args {
	const struct np_machine *m;
	struct np_list_space cpu, node, memory; /* memory: nodes that have memory */
};

void np_node_args_open(struct np_node_args *s, const struct np_machine *m);
void np_node_args_close(struct np_node_args *s);

/*
 * The CPUs of a list of nodes, for the caller to free; NULL with one line in
 * err when a node does not exist or has no CPU.
 */
struct bitmask *np_node_args_cpus(const struct np_node_args *s, const char *nodes,
				  struct np_err *err);

/* One node of the space, as its kernel number; -1 with one line in err. */
int np_node_args_one(const struct np_list_space *space, const char *text, struct np_err *err);

#endif
