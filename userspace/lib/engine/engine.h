/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Acting on running tasks: one table of operations, two implementations
 * (the module, plain system calls).
 */
#ifndef NUMAPLACE_LIB_ENGINE_H
#define NUMAPLACE_LIB_ENGINE_H

#include <jansson.h>
#include <numa.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../kmod/uapi/numaplace.h"
#include "../base/error.h"
#include "../undo/undo_scope.h"

enum np_engine { NP_ENGINE_AUTO, NP_ENGINE_MODULE, NP_ENGINE_SYSCALL };

struct np_affinity_undo;
struct np_migrate_result;

struct np_place_request {
	pid_t pid;
	bool one_thread;		 /* only the thread pid, not the whole group */
	const struct bitmask *cpus;	 /* NULL: leave the CPUs alone */
	int mem_mode;			 /* MPOL_* of <numaif.h>; -1: leave it alone */
	const struct bitmask *mem_nodes; /* node numbers; NULL for MPOL_DEFAULT, MPOL_LOCAL */
	/*
	 * Children and threads that start later are placed and restored as
	 * well. Without it they get what it had before; only the module can.
	 */
	bool inherit;
	const char *by; /* np_saved.by, for np_whose; NULL: by hand */
	bool follows;	/* at once on another placement of the same series */
	/*
	 * Not NULL: after success *undo is what np_engine_ops.undo() needs to know of what was
	 * done by system calls, for np_affinity_undo_free(); NULL where nothing was.
	 */
	struct np_affinity_undo **undo;
};

/* A place() that succeeded and is to be taken back. */
struct np_undo {
	pid_t pid;
	const struct np_affinity_undo *calls; /* *np_place_request.undo */
};

struct np_migrate_request {
	pid_t pid;
	const struct bitmask *from; /* node numbers; NULL: any */
	int to;			    /* node number */
	/*
	 * Not NULL: onto several nodes, each its share of the pages, with move_pages(2) whatever the
	 * engine, since the module moves ranges to one node. Of the rest, the range, shared, files,
	 * max_stall_us, rate_mib and progress count.
	 */
	const double *share; /* [n_nodes] by node number, adding up to 1 */
	size_t n_nodes;	     /* highest node number + 1 */
	uint64_t start, end; /* both 0: the whole process */
	uint64_t limit;	     /* base pages that move at most; 0: all */
	bool shared;	     /* also pages that other processes map */
	bool keep_chosen;    /* not pages of mappings with a memory policy of their own */
	bool files;	     /* also pages of files, of shared memory and of pools of huge pages */
	bool no_small;	     /* move_pages(2): ranges of anonymous small pages are left out */
	unsigned int max_stall_us; /* 0: the engine's default */
	unsigned int rate_mib;	   /* MiB a second, 0: no limit */
	/* Of the module alone: */
	unsigned int threads; /* that move pages; 0: its default */
	bool split;	      /* huge pages are broken up where they cannot be moved whole */
	bool dry;	      /* nothing moves: "moved" are those that would be tried */
	/*
	 * Called now and then while pages move; may be NULL. Returning false
	 * cancels: what was moved stays, the call ends with -ECANCELED.
	 */
	bool (*progress)(const struct np_migrate_result *so_far, void *arg);
	void *progress_arg;
};

struct np_migrate_result {
	uint64_t asked;
#define X(name) uint64_t name;
	NUMAPLACE_COUNTS(X)
#undef X
	uint64_t bytes, ns;
	uint64_t longest_unmapped_us; /* for which a page was mapped by nobody; of a system call: it took */
	const char *engine;	      /* "module", "syscall", "module+syscall" */
};

/* Adds the counts, bytes and times of one move to a sum; the longest time becomes that of the sum. */
void np_migrate_add(struct np_migrate_result *sum, const struct np_migrate_result *r);

/* Pages that were to go and are still where they were. */
uint64_t np_migrate_left(const struct np_migrate_result *r);

/* {"asked":N,"moved":N,...,"bytes":N,"ns":N,"longest_unmapped_us":N,"engine":"module"} */
json_t *np_json_migrate(const struct np_migrate_result *r);

struct np_engine_ops {
	const char *name;
	/*
	 * Every operation: 0, or -errno and one line in err saying what, on
	 * which object, why, and what to do. -EOPNOTSUPP: not with this engine.
	 */
	int (*probe)(struct np_err *err);
	/* All threads or none: what was done before a failure is undone. */
	int (*place)(const struct np_place_request *r, struct np_err *err);
	/*
	 * Takes back one place() of each of n processes, in one pass. By system calls: every
	 * thread, and what was started since, has what was there just before, placed or not;
	 * what others have changed since stays. By the module: it has what was there before
	 * the module first placed it. A failure of one does not prevent the others.
	 */
	int (*undo)(const struct np_undo *u, size_t n, struct np_err *err);
	/* *out is filled on success and on -ECANCELED. */
	int (*migrate)(const struct np_migrate_request *r, struct np_migrate_result *out,
		       struct np_err *err);
	/*
	 * The memory policy that this engine has set for the process, *mode -1 if
	 * none; the caller frees *nodes. NULL: it cannot set one.
	 */
	int (*memory)(pid_t pid, int *mode, struct bitmask **nodes);
	/*
	 * In one pass, however many they are. Sets *n to the number of placements
	 * undone (one for each thread and engine), *kept to those left alone
	 * because the user had changed them since. On success err says in one line what was left
	 * alone, also of processes that may be children of those; "": nothing. One that
	 * fails does not prevent the others. -ENOENT: nothing of those named is
	 * under control. The module's engine also undoes what plain system calls
	 * have placed.
	 */
	int (*restore)(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err);
};

/*
 * The engine to use. AUTO takes the module when it is loaded and of this ABI, with
 * move_pages(2) for the kinds of pages that it leaves and the call moves; plain
 * system calls otherwise. Returns NULL with one line in err.
 */
const struct np_engine_ops *np_engine_get(enum np_engine engine, struct np_err *err);

/*
 * Whether the module is there but not for this user: what it placed cannot be seen or restored
 * then, and err says what to do.
 */
bool np_engine_hidden(struct np_err *err);

/* Restores with the engine that AUTO takes: whatever engine did it, it is undone. */
int np_engine_restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err);

/* The exit status (NP_EXIT_* of cmd.h) for an operation's return value. */
int np_engine_exit(int r);

/* "auto", "module", "syscall"; returns -EINVAL for anything else. */
int np_engine_parse(const char *word, enum np_engine *engine);

#endif
