/* SPDX-License-Identifier: GPL-2.0-only */
/* Carries a plan out: CPUs and memory policy of every task first, then the pages. */
#ifndef NUMAPLACE_LIB_APPLY_H
#define NUMAPLACE_LIB_APPLY_H

#include <signal.h>

#include "../engine/engine.h"
#include "../engine/move_range.h"
#include "request.h"
#include "verify.h"

enum np_step_state {
	NP_STEP_NOTHING, /* the decision asks for nothing, or was not reached */
	NP_STEP_DONE,
	NP_STEP_SKIPPED, /* the task has exited */
	NP_STEP_FAILED,	 /* err says why; everything is undone */
	NP_STEP_UNDONE,
};

/* Result of one decision. */
struct np_step {
	enum np_step_state state;
	struct bitmask *cpus;	   /* that it was bound to; NULL: left alone */
	int mem_mode;		   /* MPOL_* that its new pages follow, or -1: left alone */
	struct bitmask *mem_nodes; /* node numbers of that */
	int earlier_mode;	   /* of memory, set by an earlier placement; -1: none was */
	struct bitmask *earlier_nodes;
	bool placed;
	struct np_affinity_undo
		*calls; /* what that did by system calls, to take it back; may be NULL */
	bool migrated;
	bool pages_stay;		/* they could not be moved back */
	struct np_migrate_result moved; /* sums over all calls for this task */
	struct np_err err;
};

/* Result of one move of a file's pages, p->files->move[i]. */
struct np_file_step {
	struct np_migrate_result moved; /* sum over its parts */
	bool back;			/* undone: all of its pages have gone back */
	struct np_err err;		/* why all of it, or the rest, stayed; "": nothing failed */
};

struct np_applied;

/* With what, how fast, and until when. */
struct np_apply_how {
	const struct np_engine_ops *engine;
	struct np_throttle throttle;
	const volatile sig_atomic_t *stop; /* set: undo and end with -EINTR */
	const char *by;			   /* np_place_request.by */
	bool note_pages; /* in the state file, for `restore --pages`, before they move */
	/*
	 * Called while pages move, with what the call that runs has done; NULL: no progress is
	 * reported.
	 */
	void (*watch)(const struct np_applied *a, const struct np_migrate_result *so_far);
	/* Where the tasks are slower afterwards, everything is undone: -ERANGE. */
	struct np_verify verify;
};

struct np_applied {
	const struct np_request *p;
	struct np_apply_how how;
	struct np_step *step;		/* [p->plan.n] */
	bool *noted;			/* [p->plan.n] its pages are in the state file since now */
	struct np_file_step *file_step; /* [p->files->n] */
	bool *file_noted;		/* [p->files->n] in the state file, since now */
	size_t skipped;
	bool placing;		  /* a task has been placed: the next ones follow */
	bool undone;		  /* false also where nothing had been done */
	struct np_err not_undone; /* the first thing that could not be, and what to do; "": all was */
	bool no_memory_policy;	  /* the engine cannot set one */
	struct np_err note;	  /* parts that were not carried out; "" if none */
	struct np_effect effect; /* with how.verify */
};

/*
 * 0, or -errno with one line in err after undoing everything that this call
 * did. A task that has exited is skipped. Released with np_applied_free() in
 * either case.
 */
int np_apply(struct np_applied *a, const struct np_request *p, const struct np_apply_how *how,
	     struct np_err *err);
void np_applied_free(struct np_applied *a);

/* True when the decision asks for something that is not so already. */
bool np_decision_acts(const struct np_request *p, size_t i);

/* np_request_json() with "engine", "skipped", "undone", "notes" and each decision's result. */
json_t *np_applied_json(const struct np_applied *a);
void np_applied_print(FILE *out, const struct np_applied *a);

/* Parts of np_apply(). */

/* Makes plan->move step by step; a->note then names what had no room. */
int np_apply_pages(struct np_applied *a, struct np_err *err);

/* Then makes p->files->move; a file that cannot be moved says so in its step. */
int np_apply_files(struct np_applied *a, struct np_err *err);
void np_apply_files_undo(struct np_applied *a);

/* Moves pages back and restores what was bound, last task first. */
void np_apply_undo(struct np_applied *a);

#endif
