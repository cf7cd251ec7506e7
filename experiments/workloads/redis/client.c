// SPDX-License-Identifier: GPL-2.0-only
#include "client.h"
#include "../emit.h"

#include <string.h>

/* Paper's limit for connecting; a reply to KEYS over all the data may take long. */
static const struct timeval connect_limit = { .tv_sec = 1, .tv_usec = 500000 };
static const struct timeval reply_limit = { .tv_sec = 120 };

int np_client_open(struct np_client *c, const char *socket_path)
{
	c->redis = redisConnectUnixWithTimeout(socket_path, connect_limit);
	if (!c->redis)
		return np_fail("cannot connect to %s: out of memory", socket_path);
	if (c->redis->err || redisSetTimeout(c->redis, reply_limit) != REDIS_OK)
		return np_fail("cannot connect to %s: %s; is redis-server running with "
			       "--unixsocket %s?",
			       socket_path, c->redis->errstr, socket_path);
	return 0;
}

void np_client_close(struct np_client *c)
{
	redisFree(c->redis);
	c->redis = NULL;
}

void np_client_reset(struct np_client *c)
{
	c->ops = 0;
	c->errors = 0;
	c->first_error[0] = '\0';
	memset(&c->latency, 0, sizeof(c->latency));
}

static redisReply *next_reply(struct np_client *c)
{
	void *reply = NULL;

	if (redisGetReply(c->redis, &reply) != REDIS_OK) {
		np_fail("lost the server after %llu commands: %s", (unsigned long long)c->ops,
			c->redis->errstr);
		return NULL;
	}
	return reply;
}

static void account(struct np_client *c, const redisReply *reply)
{
	c->ops++;
	np_histogram_add(&c->latency, (uint64_t)((np_now() - c->batch_start) * 1e9), 1);
	if (reply->type != REDIS_REPLY_ERROR)
		return;
	if (!c->errors++)
		snprintf(c->first_error, sizeof(c->first_error), "%s", reply->str);
}

int np_client_drain(struct np_client *c)
{
	redisReply *reply;

	for (; c->under_way; c->under_way--) {
		reply = next_reply(c);
		if (!reply)
			return -1;
		account(c, reply);
		freeReplyObject(reply);
	}
	return 0;
}

int np_client_send(struct np_client *c, int argc, const char **argv, const size_t *len)
{
	if (!c->under_way)
		c->batch_start = np_now();
	if (redisAppendCommandArgv(c->redis, argc, argv, len) != REDIS_OK)
		return np_fail("cannot send %s: %s", argv[0], c->redis->errstr);
	return ++c->under_way < c->pipeline ? 0 : np_client_drain(c);
}

redisReply *np_client_ask(struct np_client *c, int type, int argc, const char **argv,
			  const size_t *len)
{
	redisReply *reply;

	if (np_client_drain(c))
		return NULL;
	c->batch_start = np_now();
	if (redisAppendCommandArgv(c->redis, argc, argv, len) != REDIS_OK) {
		np_fail("cannot send %s: %s", argv[0], c->redis->errstr);
		return NULL;
	}
	reply = next_reply(c);
	if (!reply)
		return NULL;
	account(c, reply);
	if (reply->type == type)
		return reply;
	np_fail("%s: the server answered %s", argv[0],
		reply->type == REDIS_REPLY_ERROR ? reply->str : "with another type of value");
	freeReplyObject(reply);
	return NULL;
}
