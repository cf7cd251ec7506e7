/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Speed of every task at a given placement, by the machine's contention
 * model: one task's speed is its lines a second / those it would get alone on
 * an idle machine with all its memory local; 1 is the best.
 *
 * A core with pages on several nodes spends its time on each in proportion to
 * the lines there x what a line takes, which the contention changes in turn:
 * both are found together, by repetition. On a node with more busy cores than
 * CPUs each gets its part. A task that runs on several nodes is taken to run on
 * all of them by their CPUs. A page counts as every other of its task, so the
 * share of accesses is the share of pages.
 *
 * Tasks that ask for nearly the same are taken as one class, never more than
 * NP_PREDICT_CLASSES, so that a prediction costs as many flows as there are
 * pairs of nodes in use and classes, not as there are tasks.
 *
 * What was measured of a task was measured at the present placement, with
 * everything else that runs: its demand is the one that explains it there.
 */
#ifndef NUMAPLACE_PREDICT_H
#define NUMAPLACE_PREDICT_H

#include "demand.h"

#define NP_PREDICT_CLASSES 16

struct np_predictor {
	const struct np_machine *m;
	const struct np_model *model;
	const struct np_task *tasks;
	size_t n, k, n_classes;
	struct np_demand *own;			     /* [n] demand of each task */
	struct np_demand demand[NP_PREDICT_CLASSES]; /* their averages */
	double alone_ns[NP_PREDICT_CLASSES];	     /* of a line, alone and local */
	signed char *class;			     /* [n] -1: never goes to memory */
	/* The placement to predict, set by the functions below. */
	int *node;		   /* [n] NP_NODE_NONE: several */
	const uint8_t **on;	   /* [n] [k] those that are not 0; NULL: all */
	unsigned short *parts;	   /* [n] nodes that hold pages of it */
	unsigned short *part_node; /* [n * k] the first parts[i] of row i count */
	float *part_share;	   /* [n * k] their shares, adding up to 1 */
	/* Results of np_predict(). */
	float *speed;	   /* [n] */
	double throughput; /* sum of cores x speed */
	double fairness;   /* smallest speed */
	double *line_ns;   /* [k * k * n_classes] of a line, from a node, of a node */
	float *stride;	   /* [n] of present.c: which way a demand changes, and how boldly */
	/* Room to work in. */
	double *cores;	    /* [k * k * n_classes] busy with each */
	double *overcommit; /* [k] part of a CPU that a busy core gets */
	unsigned int *used; /* cells of cores that are not 0 */
	size_t n_used;
	struct np_model_flow *flow; /* [NP_MODEL_FLOWS] */
	struct np_model_result *result;
};

/*
 * Starts with the placement of tasks[] as it is. m->model must be there;
 * decision [n] says which penalties to reckon with. 0, -ENOMEM, or -EINVAL when
 * model and machine have not the same nodes. Release it with np_predictor_free().
 */
int np_predictor_init(struct np_predictor *p, const struct np_machine *m,
		      const struct np_task *tasks, const struct np_decision *decision, size_t n);
void np_predictor_free(struct np_predictor *p);

/*
 * The nodes that t has CPUs of; NULL: all, also where none of its nodes has CPUs that
 * count: they are isolated, or have gone offline since.
 */
const uint8_t *np_predict_nodes_of(const struct np_machine *m, const struct np_task *t);

void np_predict_run_on(struct np_predictor *p, size_t i, int node);
void np_predict_run_on_nodes(struct np_predictor *p, size_t i, const uint8_t *in);
void np_predict_pages(struct np_predictor *p, size_t i, const uint64_t *pages);
void np_predict_pages_on(struct np_predictor *p, size_t i, int node);
void np_predict_spread(struct np_predictor *p, size_t i, const uint8_t *weight);

/* Solves for the placement that was set; restart: not from the last answer. */
void np_predict(struct np_predictor *p, bool restart);

/* Bytes a second of task i's traffic by the last answer, all cores. */
double np_predict_traffic(const struct np_predictor *p, size_t i);

/* Part of a CPU that each of task i's cores gets, on average. */
double np_predict_cpu_share(struct np_predictor *p, size_t i);

/* Sorts the tasks' own demands into classes. */
void np_predict_classes(struct np_predictor *p);

/*
 * Sets the tasks' own demands so that the prediction of the placement that was set is
 * what was measured, as far as the machine's model allows. np_predictor_init() has
 * done it for the present placement.
 */
void np_predict_present(struct np_predictor *p);

#endif
