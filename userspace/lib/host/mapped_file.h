/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of a file or of a segment, whoever maps them or nobody: mapped here as far as they are in
 * memory, so that they can be counted, and moved by address.
 */
#ifndef NUMAPLACE_LIB_MAPPED_FILE_H
#define NUMAPLACE_LIB_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/error.h"
#include "file_ranges.h"
#include "topology.h"

struct np_mapped_file {
	char *memory; /* NULL: it is empty */
	size_t length;
	bool segment;
	/* "segment 5", or its path, of a long one the end: an error line has room for the reason, too. */
	char name[128];
	uint64_t born; /* ns since 1970 at which it was made; 0: not known */
};

/* Bytes that are mapped in at a time: their page tables are small, and a huge page is in one of them. */
#define NP_MAPPED_WINDOW (256ul << 20)

/*
 * Maps a file to be read, by its path; /proc/PID/fd/N and /proc/PID/map_files/.. are paths too.
 * Nothing of it is read. 0, or -errno with one line in err: -EACCES also where the kernel does not
 * tell this user what is in memory, -EOPNOTSUPP of a pool of huge pages. np_mapped_file_close() in
 * any case.
 */
int np_mapped_file_open(struct np_mapped_file *file, const char *path, struct np_err *err);

/* The same of a System V segment, by its identifier. */
int np_mapped_file_attach(struct np_mapped_file *file, int id, struct np_err *err);

void np_mapped_file_close(struct np_mapped_file *file);

/* The kernel's name of a file that is not empty, as the maps of any process have it. 0 or -errno. */
int np_mapped_file_identify(const struct np_mapped_file *file, struct np_file_id *id);

/*
 * Maps in the pages of length bytes from offset `at` on, NP_MAPPED_WINDOW at most, that are in
 * memory. How many those are, or -errno: -EFAULT where the file has been cut meanwhile.
 * np_mapped_file_let_go() maps them out.
 */
ssize_t np_mapped_file_take(const struct np_mapped_file *file, size_t at, size_t length);
void np_mapped_file_let_go(const struct np_mapped_file *file, size_t at, size_t length);

/* Adds to pages [n_nodes] the base pages of it that are in memory, by node. 0 or -errno. */
int np_mapped_file_count(const struct np_mapped_file *file, const struct np_machine *m,
			 uint64_t *pages);

#endif
