/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the parts of the fuzzer of the module's files, see fuzz_files.c. */
#ifndef _FUZZ_FILES_H
#define _FUZZ_FILES_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#define BIT(n) (1UL << (n))

#define FUZZ_TARGETS  6
#define FUZZ_RECENT   64  /* tasks that started last */
#define FUZZ_FOUND    16  /* lines that are kept of what is wrong */
#define FUZZ_ERRORS   134 /* more than there are */
#define FUZZ_POLICIES 7
#define FUZZ_MEMORY   (1UL << 20)

enum { FUZZ_PLACE, FUZZ_RESTORE, FUZZ_MIGRATE, FUZZ_FILES };

struct fuzz_draw {
	unsigned long state;
};

/* A line to write. If there are claims, the write fails with one of these errors for certain. */
struct fuzz_line {
	char text[70000];
	size_t n;
	unsigned long claims;
};

/* CPUs and policy that a task has chosen by itself. */
struct fuzz_own {
	int chose_cpus;
	int policy;
};

struct fuzz_shared {
	pthread_rwlock_t opening; /* read: to open a file of the module; write: to remove it */
	unsigned long all_cpus;
	char *memory; /* of the targets, at the same address until they execute */
	pid_t target[FUZZ_TARGETS], recent[FUZZ_RECENT];
	unsigned long operations, errors[FUZZ_FILES][FUZZ_ERRORS];
	unsigned int writers_done, unloads, unloading, calm, check, checked, n_found;
	unsigned long found_at[FUZZ_FOUND];
	char found[FUZZ_FOUND][400];
};

struct fuzz_file {
	const char *name;
	unsigned long errors; /* which a write may give */
};

extern struct fuzz_shared *shared;
extern const struct fuzz_file fuzz_files[FUZZ_FILES];

unsigned long fuzz_random(struct fuzz_draw *draw, unsigned long below);
struct fuzz_draw fuzz_seed(unsigned long seed, unsigned long who, unsigned long n);
void fuzz_found(const char *format, ...);

/* fuzz_grammar.c */
void fuzz_line(struct fuzz_draw *draw, struct fuzz_line *line, unsigned int file);
void fuzz_print_grammar(void);

/* fuzz_tasks.c */
void fuzz_share(void);
void fuzz_set_policy(int policy);
pid_t fuzz_start_target(unsigned long seed, unsigned int slot, unsigned long n);
void fuzz_go_on(char **argv);
void fuzz_end(const struct fuzz_own *own, const char *what);

#endif
