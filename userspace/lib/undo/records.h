/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of what can be brought back, as the array of a state file: locked from open to close. */
#ifndef NUMAPLACE_LIB_RECORDS_H
#define NUMAPLACE_LIB_RECORDS_H

#include <signal.h>

#include "state_file.h"

struct np_machine;
struct np_mover;

/* What is brought back, and how. */
struct np_records_back {
	const struct np_machine *machine;
	const struct np_mover *mover;
	const pid_t *pids; /* of these n tasks; NULL: of every one */
	size_t n;
	const volatile sig_atomic_t *stop; /* ends it when set, with -EINTR */
};

struct np_records_kind {
	const char *file, *array;
	const char *what; /* is not known when the file is damaged, with its verb */
	/* Names of numbers, NULL last; the first tells a record from an earlier one that had the others. */
	const char *const *key;
	bool (*is_current)(const json_t *record); /* others are left out; NULL: all are */
	bool (*is_of)(const json_t *record, pid_t pid);
	/* 0: it is forgotten; 1 or -errno: it stays. result: of np_records_bring_back(). */
	int (*bring_back)(const json_t *record, const struct np_records_back *how, void *result,
			  struct np_err *err);
};

struct np_records {
	const struct np_records_kind *kind;
	struct np_state_file file;
	json_t *array;
};

/* These return 0, or -errno with one line in err. */
int np_records_open(struct np_records *r, const struct np_records_kind *kind, struct np_err *err);
int np_records_save(struct np_records *r, struct np_err *err);
void np_records_close(struct np_records *r);

/* Adds those of fresh (null: none) that have no record yet, and sets added[i]. Releases fresh. */
int np_records_add(const struct np_records_kind *kind, json_t *fresh, bool *added,
		   struct np_err *err);

/* Forgets the records with these keys. Releases keys. */
int np_records_drop(const struct np_records_kind *kind, json_t *keys, struct np_err *err);

/* Brings back and forgets what is meant, all of it also where one fails: the first error is returned. */
int np_records_bring_back(const struct np_records_kind *kind, const struct np_records_back *how,
			  void *result, struct np_err *err);

#endif
