/* SPDX-License-Identifier: GPL-2.0-only */
/* The process whose pages are moved; its memory has a pattern that shows lost or wrong pages. */
#ifndef NP_MIGRATION_TARGET_H
#define NP_MIGRATION_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_THREADS 8

/* What its memory is of. */
enum target_kind {
	TARGET_PRIVATE, /* anonymous, of one process */
	TARGET_MEMFD,
	TARGET_FILE, /* in the working directory */
};

struct target {
	enum target_kind kind;
	unsigned int mappers; /* children that map all of it and sleep; of a kind that is shared */
	size_t pages;
	int node;	      /* that its memory and its threads begin on */
	unsigned int threads; /* that write to the memory all the time; 0: it sleeps */
	bool huge;	      /* of huge pages */
	bool first;	      /* the first thread writes to the first page alone */
	pid_t pid;
	char *memory; /* an address of its own, not of the caller */
	int ask, answer;
	struct target_shared *shared;
};

/* By name: private, memfd, file. Returns 0 or -1. */
int target_kind(const char *name, enum target_kind *kind);

/* Starts it and waits until its memory is there. Returns 0 or -errno. */
int target_start(struct target *t);

/* Forgets the gaps seen so far. */
void target_reset_gap(struct target *t);

/* The longest time between two writes of one of its threads since then, ns. */
uint64_t target_gap(const struct target *t);

/* The same of one of its threads. */
uint64_t target_gap_of(const struct target *t, unsigned int thread);

/* How often its threads have written since they began. */
uint64_t target_writes(const struct target *t);

/* Ends its threads and has it read all its memory: true if every word is what it must be. */
bool target_is_whole(struct target *t);

void target_stop(struct target *t);

/* Runs the caller on the CPUs of a node. Returns 0 or -errno. */
int run_on_node(int node);

uint64_t now_ns(void);

#endif
