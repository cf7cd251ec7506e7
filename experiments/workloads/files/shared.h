/* SPDX-License-Identifier: GPL-2.0-only */
/* What the processes of np-files share, and how they use it. */
#ifndef NP_SHARED_H
#define NP_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../mem/random.h"

/* Bytes that are shared at least. */
#define NP_SHARED_LEAST (1 << 20)

enum np_shared_kind { NP_SHARED_FILE, NP_SHARED_MEMFD, NP_SHARED_SHM };

struct np_shared {
	enum np_shared_kind kind;
	const char *folder; /* of the file */
	size_t bytes;
	char *memory;	 /* mapped, and inherited by every process */
	char path[4096]; /* of the file; "": there is none */
};

/* One process at work. */
struct np_turn {
	const struct np_shared *shared;
	struct np_random random;
	unsigned long long bytes, operations; /* so far */
	bool wrong;			      /* something else was read than was loaded */
};

/* A way to use it. */
struct np_use {
	const char *name;
	void (*fill)(const struct np_shared *s); /* writes all of it, for the first time */
	void (*work)(struct np_turn *turn);	 /* a part of the work that takes milliseconds */
};

extern const struct np_use np_stream, np_sweep;

/* By name: file, memfd, shm. 0 or -1. */
int np_shared_kind(const char *name, enum np_shared_kind *kind);
const char *np_shared_kind_name(enum np_shared_kind kind);

/* Makes it, empty, and maps it. 0, or -1 after a line. np_shared_close() in any case. */
int np_shared_open(struct np_shared *s);
void np_shared_close(struct np_shared *s);

/* Maps every page of it into the calling process. */
void np_shared_touch(const struct np_shared *s);

/* Fills it with pages of one node; the calling process keeps that memory policy. 0, or -1 after a line. */
int np_shared_load(const struct np_shared *s, const struct np_use *use, int node);

#endif
