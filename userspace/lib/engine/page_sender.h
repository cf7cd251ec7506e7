/* SPDX-License-Identifier: GPL-2.0-only */
/* Sending pages of a process to nodes with move_pages(2), each to one of its own. */
#ifndef NUMAPLACE_LIB_PAGE_SENDER_H
#define NUMAPLACE_LIB_PAGE_SENDER_H

#include "../host/page_walk.h"
#include "engine.h"

/* In np_sender.error[] after np_send(), besides the -errno of the last try. */
#define NP_SENT 1

struct np_sender {
	const struct np_migrate_request *r; /* whose pages, how fast, whom to tell */
	uint64_t page_size;
	struct np_migrate_result *out; /* gets what moved */
	struct np_err *err;

	size_t n;   /* pages that were added */
	int *error; /* [n] what became of each */
	bool said;  /* err has a line */

	/* The rest is its own. */
	uint64_t began;
	size_t room, call; /* pages in the next call */
	void **page;
	uint32_t *weight;
	int *to;
	void **arg; /* arguments of one call */
	size_t *index;
	int *node, *status;
};

/*
 * Walks the pages that r names, of which walk->each() sends some, and fills *out. Of the sender, r, out
 * and err are given, of the walk all but pid, page size and range. 0, or -errno with one line in err.
 */
int np_sender_walk(struct np_sender *s, struct np_page_walk *walk);

/*
 * weight: base pages in it. Those for the same node are best added together: each change is a
 * batch.
 */
void np_sender_add(struct np_sender *s, void *page, uint32_t weight, int to);

/*
 * Sends what was added since the sender was empty, those that are busy again after
 * a moment, and fills error[]. Only pages that the kernel then says are on their
 * node count as moved. 0, or -errno with one line in err. The caller sets n to 0.
 */
int np_send(struct np_sender *s);

/* The node of each page, or -errno, into status. 0, or -errno with one line in err. */
int np_sender_ask(struct np_sender *s, void **page, size_t n, int *status);

/* 0, or -ECANCELED with one line in err when progress() says that it is to end. */
int np_sender_go_on(struct np_sender *s);

/*
 * How far one move_pages(2) call got, from the nodes passed to it and the
 * statuses it stored; those it did not store hold NP_STATUS_UNSET. The call
 * goes from batch to batch, and a batch of which a page stays is its last:
 * returns how many of the n pages were tried, at least 1.
 */
#define NP_STATUS_UNSET (-4096)
size_t np_sender_tried(const int *node, const int *status, size_t n);

/* The time after which so many bytes are due at rate_mib > 0 MiB/s. */
uint64_t np_sender_due_ns(uint64_t bytes, unsigned int rate_mib);

/* Adds weight to the count that a refused page's -errno stands for. */
void np_sender_count(struct np_migrate_result *out, int error, uint64_t weight);

#endif
