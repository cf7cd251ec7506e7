/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a process maps: /proc/PID/maps. */
#ifndef NUMAPLACE_LIB_FILE_RANGES_H
#define NUMAPLACE_LIB_FILE_RANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * As the kernel tells files apart there. Files of two subvolumes of btrfs may have the same;
 * np_file_range_device() tells those apart. Layers of overlayfs may give one file several.
 */
struct np_file_id {
	unsigned int major, minor;
	uint64_t inode;
	uint64_t ipc; /* of a System V segment: its namespace, by the inode of /proc/PID/ns/ipc */
};

/* One mapping of a file, of shared memory or of a pool of huge pages. */
struct np_file_range {
	uint64_t start, end;
	struct np_file_id id;
	const char *path; /* as maps writes it, " (deleted)" included */
};

bool np_file_id_equal(const struct np_file_id *a, const struct np_file_id *b);

/* Parses one line of maps, which it cuts; id.ipc stays 0. 0, -ENOENT where the range is of no file, or -EINVAL. */
int np_file_range_parse(char *line, struct np_file_range *out);

/* The IPC namespace of a process, by its inode; 0 where it cannot be asked for. */
uint64_t np_ipc_namespace(pid_t pid);

/* Calls each() for every such mapping until it returns non-zero, which is then the result. 0 or -errno. */
int np_file_ranges(pid_t pid, int (*each)(const struct np_file_range *range, void *arg), void *arg);

/* The path of a mapping's file for this process, in text of NP_THROUGH_LEN bytes. Returns text. */
#define NP_THROUGH_LEN 64
const char *np_file_range_path(pid_t pid, const struct np_file_range *range, char *text);

/* What stat(2) says of its device; 0 where this user may not ask. */
dev_t np_file_range_device(pid_t pid, const struct np_file_range *range);

#endif
