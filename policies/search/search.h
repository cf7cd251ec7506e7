/* SPDX-License-Identifier: GPL-2.0-only */
/* Search for the placement that the predictor scores highest. */
#ifndef NUMAPLACE_SEARCH_H
#define NUMAPLACE_SEARCH_H

#include "../plan/placer.h"
#include "../predict/predict.h"

enum np_objective { NP_OBJECTIVE_THROUGHPUT, NP_OBJECTIVE_FAIRNESS };

#define NP_SEARCH_FLOW_WORK 16 /* units of work for each flow, compared with a task's 1 */
#define NP_SEARCH_TASK_WORK (1 + 2 * NP_SEARCH_FLOW_WORK) /* of a task with its pages split */
#define NP_QUARTERS	    4 /* in which a task's pages are split between two nodes */

/*
 * Placement of a task and of its pages. The task: on one node, on those of a row, or where it is now.
 * Its pages: by the weights of a row, in quarters on two nodes, or as they are now.
 */
struct np_placement_choice {
	short node;	    /* NP_NODE_NONE: those of nodes */
	short nodes;	    /* a row of the search; NP_NODE_NONE: those that it is on now */
	short row;	    /* of weights of its pages; NP_NODE_NONE: by the next */
	short a, b;	    /* nodes of its pages; a NP_NODE_NONE: as they are now */
	unsigned char on_a; /* quarters of them on a; the rest on b */
};

/* Weights of nodes, or a set of them. */
struct np_row {
	unsigned int sum;  /* of the weights */
	unsigned int cpus; /* of nodes whose weight is not 0 */
	uint8_t weight[];  /* [k] */
};

struct np_search {
	struct np_predictor p;
	const struct np_machine *m;
	const struct np_task *tasks;
	struct np_plan *plan;
	size_t n, k;
	enum np_objective objective;
	bool pages, split;   /* may pages move, may they be split */
	struct np_row **row; /* [n_rows], see rows.c */
	size_t n_rows, row_room;
	size_t first_set, n_sets; /* of the rows: the sets of nodes that tasks are tried on */
	double seconds_per_page;  /* of moving / of the time in which it must pay; 0: free */
	double budget;		  /* units of work left, see np_search_score() */
	struct np_placement_choice *choice; /* [n] */
	struct np_placement_choice *best;   /* [n] the best found so far */
	double best_score;
	uint64_t *all;	  /* [n] pages of each task */
	float *before;	  /* [n] speed of each task as everything is now */
	float *move_cost; /* [n] part of its speed that moving its pages takes */
	double *busy;	  /* [k] cores that run there; those of no node left out */
	double *room;	  /* [k] pages that still fit */
	double *traffic;  /* [k] bytes a second that a controller serves */
	size_t *order;	  /* [n] to sort in */
	double *key;	  /* [n] to sort by, highest first */
	double total_cores;
};

/* 0, -ENOMEM or -EINVAL. Starts with everything as it is. Free with np_search_free(). */
int np_search_init(struct np_search *s, const struct np_machine *m, const struct np_task *tasks,
		   size_t n, struct np_plan *plan);
void np_search_free(struct np_search *s);

/* The task on node, NP_NODE_NONE: where it is now; its pages where they are. */
static inline struct np_placement_choice np_choice_stay(int node)
{
	return (struct np_placement_choice) { (short)node,  NP_NODE_NONE, NP_NODE_NONE,
					      NP_NODE_NONE, NP_NODE_NONE, 0 };
}

/* The task's pages on one node. */
static inline struct np_placement_choice np_choice_on(int node, int pages_on)
{
	return (struct np_placement_choice) { (short)node,     NP_NODE_NONE,	NP_NODE_NONE,
					      (short)pages_on, (short)pages_on, NP_QUARTERS };
}

/* The same with the task on another node. */
static inline struct np_placement_choice np_choice_moved(struct np_placement_choice choice,
							 int node)
{
	choice.node = (short)node;
	choice.nodes = NP_NODE_NONE;
	return choice;
}

/* The pages of the choice where they are. */
static inline bool np_choice_stays(struct np_placement_choice choice)
{
	return choice.a == NP_NODE_NONE && choice.row == NP_NODE_NONE;
}

/* Rows that every choice of np_search_choice() may name. 0 or -ENOMEM. */
int np_search_rows_init(struct np_search *s);
void np_search_rows_free(struct np_search *s);

/* The row of weights by the bandwidth that a node's CPUs get; NP_NODE_NONE: the same for all. */
static inline short np_row_by_bandwidth(const struct np_search *s, int node)
{
	return (short)(node == NP_NODE_NONE ? (int)s->k : node);
}

/* Part of task i's cores that choice has on node; nothing is known of where it is now on several. */
double np_choice_cores(const struct np_search *s, struct np_placement_choice choice, size_t node);

/* The choice that a plan has made for task i. */
struct np_placement_choice np_choice_of(struct np_search *s, size_t i, const struct np_plan *plan);

/* Puts task i somewhere else if it fits there; false, and nothing done, if not. */
bool np_search_put(struct np_search *s, size_t i, struct np_placement_choice choice);

/* The same, where it is known that it fits (it came from there). */
void np_search_put_back(struct np_search *s, size_t i, struct np_placement_choice choice);

/*
 * Score of the placement, higher is better; takes its work from the budget:
 * one unit a task and flow looked at.
 */
double np_search_score(struct np_search *s, bool restart);

/* Makes the placement the best so far if its score says so. */
void np_search_keep(struct np_search *s, double score);

/* Goes back to the best so far. */
void np_search_return(struct np_search *s);

/* Sorts s->order by s->key, highest first, equal ones as given. */
void np_search_sort(struct np_search *s);

/* Pages of task i that choice has on node. */
double np_choice_pages(const struct np_search *s, size_t i, struct np_placement_choice choice,
		       size_t node);

/* Task i's choice number 0, 1, ..; false after the last. Some are the same, that is no harm. */
bool np_search_choice(const struct np_search *s, size_t i, size_t number,
		      struct np_placement_choice *choice);

/* Sets what the options of the policy `measured` say. */
void np_measured_options(struct np_search *s, const struct np_options *o);

#define NP_FEW_TASKS  16  /* of which every choice is tried */
#define NP_MANY_TASKS 256 /* more move together */

/*
 * Tries placements made by rule and the plans of policies[], which ends with NULL, but self's,
 * improves them, and ends at the best of all.
 */
void np_search_starting_points(struct np_search *s, const struct np_policy *const *policies,
			       const struct np_policy *self);

/* Freedom that the tried placements have with a task's pages. */
enum np_page_freedom {
	NP_FREE_TO_RUN,	   /* nothing */
	NP_FREE_TO_FOLLOW, /* on the task's node */
	NP_FREE_TO_MOVE,   /* where they are, or on any one node */
	NP_FREE_TO_SPLIT,  /* or in quarters between the task's node and another, too */
};

/* Number of placements of n tasks on k nodes, each of which runs tasks and holds pages. */
double np_search_placements(size_t n, size_t k, enum np_page_freedom freedom);

/* Tries every placement of every task on one node; ends at the best that fits. */
void np_search_exhaustive(struct np_search *s, enum np_page_freedom freedom);

/*
 * Improves the present placement step by step, until no step improves it or the budget is
 * spent, and keeps it if it is the best.
 */
void np_search_hill_climb(struct np_search *s);

#endif
