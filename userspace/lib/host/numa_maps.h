/* SPDX-License-Identifier: GPL-2.0-only */
/* The nodes of a process's pages: /proc/PID/numa_maps, mapping by mapping. */
#ifndef NUMAPLACE_LIB_NUMA_MAPS_H
#define NUMAPLACE_LIB_NUMA_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/cpulist.h"

#define NP_MAPPING_POLICY 64

/* One mapping. Pages are counted in base pages, huge ones as their size says. */
struct np_mapping {
	uint64_t start;
	char policy[NP_MAPPING_POLICY]; /* "default", "bind:0", "interleave:0-1" */
	bool file;			/* backed by a file or shared memory */
	bool shm; /* the latter: shared anonymous, memfd, SysV, /dev/shm, hugetlbfs */
	bool hugetlb;
	bool stack; /* of the first thread: its policy is that of the task, which no mbind(2) has */
	uint64_t page_kib; /* size of the pages that back it */
	uint64_t mapmax;   /* processes that map one of its pages, at most; 0: one */
	uint64_t anon;	   /* anonymous pages among them */
	uint64_t total;
	uint64_t pages[NP_MAX_NODES]; /* by the kernel's node number */
};

/* Parses one line of numa_maps. Returns 0 or -EINVAL. */
int np_mapping_parse(const char *line, uint64_t base_page_size, struct np_mapping *out);

/*
 * True when its pages are memory of the process, not of a file that is elsewhere, too:
 * anonymous, or shared memory. np_mapping_shm(): what no plan moves of it, shared memory and
 * pages of a pool of huge ones, which a move would take from the pool of another node.
 */
bool np_mapping_memory(const struct np_mapping *map);
bool np_mapping_shm(const struct np_mapping *map);

/*
 * Whether a mapping has a memory policy of its own, mbind(2), that names nodes. task: the policy
 * of the task, which all mappings without one have.
 */
bool np_mapping_chosen(const char *policy, const char *task);

/* Whether maps and numa_maps write so of shared memory that is no file on a disk. */
bool np_path_is_shm(const char *path);

/* True when its pages count as anonymous memory of the process. */
bool np_mapping_anonymous(const struct np_mapping *map);

/*
 * The address and policy of its first mapping, without a walk over the pages of others. That is
 * its program, which has the policy of the task. 0, -ESRCH, -ENOMEM or -EINVAL.
 */
int np_mapping_first(pid_t pid, struct np_mapping *map);

/*
 * Calls each() for every mapping of pid until it returns non-zero, which is
 * then the result. 0, or -errno (-EACCES: no permission).
 */
int np_mappings(pid_t pid, uint64_t base_page_size,
		int (*each)(const struct np_mapping *map, void *arg), void *arg);

#endif
