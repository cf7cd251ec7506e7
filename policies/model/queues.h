/* SPDX-License-Identifier: GPL-2.0-only */
/* The queues of a machine and the flows that visit them: internal to the model. */
#ifndef NUMAPLACE_QUEUES_H
#define NUMAPLACE_QUEUES_H

#include "model.h"

#define NS_PER_S 1e9

/* Own port, both directions of every link of the route, the controller. */
#define VISITS_MAX (2 + 2 * NP_MODEL_HOPS)

/*
 * Controllers and links serve two classes, each in a queue of its own: lines
 * for the own cores and for others, packets outward and packets back. The two
 * queues of a server are neighbours, so that q ^ 1 is the other class.
 */
enum { LOCAL, REMOTE };
enum { OUTWARD, BACK };

#define DRAM(node, class) (2 * (node) + (class))
#define LINK(link, direction, class) \
	(DRAM(NP_MODEL_NODES, 0) + 4 * (link) + 2 * (direction) + (class))
#define PORT(node) (LINK(NP_MODEL_LINKS, 0, 0) + (node))
#define QUEUES_MAX PORT(NP_MODEL_NODES)

struct queue {
	double whole;	 /* capacity of the server, bytes per nanosecond */
	double share;	 /* reserved for this class; 0: the queue has the server to itself */
	double capacity; /* left to this class by the other one */
	double scale_ns; /* waiting time where the queue is half busy */
	double load_ns;	 /* and what is added to it in proportion to the load, where it is full */
	double wait_ns;	 /* of a line that weighs 1 */
	double load;	 /* bytes per nanosecond, weighted */
	double change;	 /* part of the load that the last sweep changed */
	unsigned int first_visit, n_visits;
};

struct customer {
	double bytes;	    /* in flight, those that no core waits for included */
	double think_ns;    /* that a core does without memory */
	double time_ns;	    /* of one line: thinking, unloaded latency, waiting */
	double per_ns;	    /* 1 / time_ns */
	double asked_lines; /* in flight on an idle machine */
	unsigned int n_visits;
	unsigned short queue[VISITS_MAX];
	double weight[VISITS_MAX];
};

struct visit {
	unsigned short customer;
	double weight; /* bytes that the queue handles for each byte of traffic */
};

struct queues {
	struct queue queue[QUEUES_MAX];
	unsigned short used[QUEUES_MAX];
	size_t n_used;
	struct customer customer[NP_MODEL_FLOWS];
	struct visit visit[NP_MODEL_FLOWS * VISITS_MAX];
};

/* A flow as a closed customer: its bytes in flight, and where its time goes. */
void np_queues_customer(struct customer *c, const struct np_model *m,
			const struct np_model_flow *f);

/* Sets up queues and visits. Every flow's customer must be set but for its visits. */
void np_queues_build(struct queues *s, const struct np_model *m, const struct np_model_flow *flow,
		     size_t n);

/*
 * Adapts the capacity of queue q to what the other class of its server takes;
 * returns by which part of the whole.
 */
double np_queues_share(struct queues *s, unsigned int q);

/* Adds up the load of every queue anew. */
void np_queues_total(struct queues *s, size_t n);

#endif
