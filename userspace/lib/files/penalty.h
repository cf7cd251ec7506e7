/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The NUMA penalty of tasks: cycles an instruction with memory remote / with
 * memory local. Measured tasks and a fit stand in the [penalty] part of a
 * machine file (Documentation/reference/counters.md).
 */
#ifndef NUMAPLACE_LIB_PENALTY_H
#define NUMAPLACE_LIB_PENALTY_H

#include "../base/toml.h"
#include "../host/tasks.h"

/*
 * The key of a measured task: its program and its service, else the
 * program alone, and only where no program is known its name.
 */
struct np_penalty_key {
	char name[NP_COMM_LEN];
	char exe[256];	/* the program's file; "": not known */
	char unit[128]; /* systemd's service, or a cgroup made by hand; "": any */
};

enum np_penalty_match { NP_MATCH_NONE, NP_MATCH_NAME, NP_MATCH_PROGRAM, NP_MATCH_UNIT };

struct np_penalty_task {
	struct np_penalty_key key;
	double mpki; /* with memory local; below zero: not counted */
	double penalty;
	int distance;		   /* from the CPUs to the remote memory, SLIT units; NP_FARTHEST:
				 * a file of an earlier version, which measured there */
	enum np_provenance method; /* NP_PROVENANCE_RUNS or NP_PROVENANCE_FLIP */
	char source[160];	   /* how it was measured, in words */
};

/*
 * penalty = (1 + remote * m) / (1 + local * m), m = MPKI: what follows from
 * CPI = CPI0 + m/1000 * latency in cycles, for two latencies, with
 * remote = remote latency / (1000 CPI0), local likewise.
 */
struct np_penalty_fit {
	double remote, local; /* per MPKI; both 0: there is no fit */
	double error;	      /* largest, of the tasks it was made of, as a share */
	size_t tasks;	      /* that it was made of */
	int distance;	      /* of the first of them */
};

struct np_penalties {
	struct np_penalty_task *task; /* [n] */
	size_t n;
	struct np_penalty_fit fit;
};

/* Of a running task; what may not be read is not known. */
void np_penalty_key_of(pid_t pid, const char *comm, struct np_penalty_key *key);
void np_penalty_key_program(const char *exe, struct np_penalty_key *key);

/* "/system.slice/x.service" -> "x.service"; "" for scopes and the root, which say nothing. */
void np_penalty_key_unit(const char *cgroup, char *unit, size_t len);

bool np_penalty_key_same(const struct np_penalty_key *a, const struct np_penalty_key *b);
enum np_penalty_match np_penalty_key_match(const struct np_penalty_key *known,
					   const struct np_penalty_key *task);

/* At least this many tasks make a fit. */
#define NP_PENALTY_FIT_TASKS 3

/* Least squares over the tasks whose MPKI is known; -EINVAL when they are too few or all alike. */
int np_penalty_fit(const struct np_penalty_task *task, size_t n, struct np_penalty_fit *fit);

/* The distance that a fit of these tasks stands for: of the first whose MPKI is known; 0: of none. */
int np_penalty_fit_distance(const struct np_penalty_task *task, size_t n);
double np_penalty_predict(const struct np_penalty_fit *fit, double mpki);

/*
 * The [penalty] of a machine file. 0 with none of them when the file or the part
 * is not there; -EINVAL with one line in err when it is wrong.
 */
int np_penalties_read(struct np_penalties *p, const char *path, struct np_err *err);

/* The same of a file that is read already. */
int np_penalties_from(struct np_penalties *p, const struct np_toml_table *file);
void np_penalties_free(struct np_penalties *p);

/* Adds one, in the place of one with its key, and fits again. 0 or -ENOMEM. */
int np_penalties_add(struct np_penalties *p, const struct np_penalty_task *task);

/*
 * Writes p as the file's [penalty]; the rest of the file stays. The file is the old
 * one or the new one, whatever happens meanwhile. 0 or -errno with err.
 */
int np_penalties_write(const struct np_penalties *p, const char *path, struct np_err *err);

/* Checks before a long measurement that the file can be written. 0 or -errno with err. */
int np_penalties_may_write(const char *path, struct np_err *err);

/*
 * Fills in the penalties of tasks that have none: that of the measured one whose key
 * matches best, else by the fit where the MPKI is known. The file is that of
 * np_machine_file_here(). 0, or -errno with err.
 */
int np_penalties_apply(struct np_tasks *t, struct np_err *err);

#endif
