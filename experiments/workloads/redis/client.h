/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection that keeps a number of commands in flight and times each of them. */
#ifndef NP_CLIENT_H
#define NP_CLIENT_H

#include "histogram.h"

#include <hiredis/hiredis.h>

#define NP_CLIENT_TEXT 200

struct np_client {
	redisContext *redis;
	unsigned int pipeline; /* commands sent before the first answer is awaited */
	unsigned int under_way;
	double batch_start; /* s, when the first command in flight was made */
	uint64_t ops, errors;
	char first_error[NP_CLIENT_TEXT];
	struct np_histogram latency; /* ns; of a pipelined command: its batch's */
};

/* Returns 0, or -1 after saying why. */
int np_client_open(struct np_client *c, const char *socket_path);
void np_client_close(struct np_client *c);

/* Sets the counts and the histogram to zero. */
void np_client_reset(struct np_client *c);

/* Sends, and waits for the whole batch when the pipeline is full. len NULL: of strings. 0, or -1 after saying why. */
int np_client_send(struct np_client *c, int argc, const char **argv, const size_t *len);

/* Waits for every command in flight. */
int np_client_drain(struct np_client *c);

/*
 * Drains, sends one command (len NULL: of strings) and hands its reply over, for freeReplyObject().
 * NULL after saying why: the connection broke, or the server's answer is not
 * of the wanted type (REDIS_REPLY_*).
 */
redisReply *np_client_ask(struct np_client *c, int type, int argc, const char **argv,
			  const size_t *len);

#endif
