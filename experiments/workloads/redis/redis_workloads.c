// SPDX-License-Identifier: GPL-2.0-only
#include "redis_workloads.h"
#include "../emit.h"
#include "redis_tokens.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRUCTURES   3 /* lists, sorted sets */
#define KEYS_AT_ONCE 1000
#define SCORES	     100 /* scores and their increments are 0..99 */

/* Streams of the data set: which string or number of an element is meant. */
enum { STREAM_KEY = 0, STREAM_SET = 8, STREAM_SCORE = 16, STREAM_LIST = 1024 };

static const char *const lists[STRUCTURES] = { "mylist1", "mylist2", "mylist3" };
static const char *const zsets[STRUCTURES] = { "myzset1", "myzset2", "myzset3" };

/* A new stream for every rewriting of a list, of increments for every update of a set. */
static unsigned int list_stream(unsigned int list, unsigned int generation)
{
	return STREAM_LIST + generation * STRUCTURES + list;
}

static unsigned int score_stream(unsigned int set, unsigned int generation)
{
	return STREAM_SCORE + generation * STRUCTURES + set;
}

/* One command whose last argument is a string of the data set. */
static int send_string(struct np_client *c, int argc, const char **argv, const char *string,
		       size_t string_len)
{
	size_t len[8];

	for (int i = 0; i < argc - 1; i++)
		len[i] = strlen(argv[i]);
	argv[argc - 1] = string;
	len[argc - 1] = string_len;
	return np_client_send(c, argc, argv, len);
}

static int delete_all(struct np_client *c, const char *const *names)
{
	for (int k = 0; k < STRUCTURES; k++)
		if (np_client_send(c, 2, (const char *[]) { "DEL", names[k] }, NULL))
			return -1;
	return np_client_drain(c);
}

static redisReply *whole(struct np_client *c, const char *command, const char *name, bool scores)
{
	const char *argv[] = { command, name, "0", "-1", "WITHSCORES" };

	return np_client_ask(c, REDIS_REPLY_ARRAY, scores ? 5 : 4, argv, NULL);
}

static bool is_string(const struct np_data *d, unsigned int stream, uint64_t i, const redisReply *r)
{
	char expected[NP_STRING_MAX];
	size_t len = np_data_string(d, stream, i, expected);

	return r->type == REDIS_REPLY_STRING && (size_t)r->len == len &&
	       !memcmp(r->str, expected, len);
}

/* The digest is a sum, so the order in which elements arrive does not matter. */
static void take(struct np_check *check, unsigned int structure, uint64_t i, const redisReply *r,
		 const char *value)
{
	uint64_t h = np_data_hash(structure * 0x10001 + i, r->str, r->len);

	check->found++;
	check->digest += np_data_hash(h, value, strlen(value));
}

/* ---- three lists: LPUSH in turn, LRANGE, LSET of every element ---- */

static int lists_load(struct np_client *c, const struct np_data *d)
{
	char text[NP_STRING_MAX];
	size_t len;

	if (delete_all(c, lists))
		return -1;
	for (uint64_t i = 0; i < d->elements; i++)
		for (unsigned int k = 0; k < STRUCTURES; k++) {
			len = np_data_string(d, list_stream(k, 0), i, text);
			if (send_string(c, 3, (const char *[]) { "LPUSH", lists[k], "" }, text,
					len))
				return -1;
		}
	return np_client_drain(c);
}

static int lists_update(struct np_client *c, const struct np_data *d, unsigned int generation)
{
	char text[NP_STRING_MAX], index[24];
	redisReply *all;
	size_t len;
	int err = 0;

	for (unsigned int k = 0; k < STRUCTURES && !err; k++) {
		all = whole(c, "LRANGE", lists[k], false);
		if (!all)
			return -1;
		for (uint64_t i = 0; i < all->elements && !err; i++) {
			snprintf(index, sizeof(index), "%llu", (unsigned long long)i);
			len = np_data_string(d, list_stream(k, generation + 1), i % d->elements,
					     text);
			err = send_string(c, 4, (const char *[]) { "LSET", lists[k], index, "" },
					  text, len);
		}
		err = err ? err : np_client_drain(c);
		freeReplyObject(all);
	}
	return err;
}

static int lists_verify(struct np_client *c, const struct np_data *d, unsigned int generation,
			struct np_check *check)
{
	redisReply *all;
	uint64_t i;

	check->expected = STRUCTURES * d->elements;
	for (unsigned int k = 0; k < STRUCTURES; k++) {
		all = whole(c, "LRANGE", lists[k], false);
		if (!all)
			return -1;
		for (i = 0; i < all->elements; i++) {
			/* LPUSH puts the newest element first, LSET keeps the places. */
			uint64_t number = generation ? i : d->elements - 1 - i;

			take(check, k, i, all->element[i], "");
			check->mismatches += i >= d->elements ||
					     !is_string(d, list_stream(k, generation), number,
							all->element[i]);
		}
		freeReplyObject(all);
	}
	return 0;
}

/* ---- random keys: SET, KEYS *, INCR of every key ---- */

static int keys_load(struct np_client *c, const struct np_data *d)
{
	char text[NP_STRING_MAX];
	const char *argv[] = { "SET", text, "1" };
	size_t len[] = { 3, 0, 1 };

	if (np_client_send(c, 1, (const char *[]) { "FLUSHDB" }, NULL) || np_client_drain(c))
		return -1;
	for (uint64_t i = 0; i < d->elements; i++) {
		len[1] = np_data_string(d, STREAM_KEY, i, text);
		if (np_client_send(c, 3, argv, len))
			return -1;
	}
	return np_client_drain(c);
}

static redisReply *every_key(struct np_client *c)
{
	return np_client_ask(c, REDIS_REPLY_ARRAY, 2, (const char *[]) { "KEYS", "*" }, NULL);
}

static int keys_update(struct np_client *c, const struct np_data *d, unsigned int generation)
{
	redisReply *all = every_key(c);
	int err = 0;

	if (!all)
		return -1;
	for (size_t i = 0; i < all->elements && !err; i++)
		err = send_string(c, 2, (const char *[]) { "INCR", "" }, all->element[i]->str,
				  all->element[i]->len);
	freeReplyObject(all);
	return err ? err : np_client_drain(c);
}

/* Marks element i as seen; false if it is unknown or was seen before. */
static bool first_time(unsigned char *seen, uint64_t i)
{
	if (i == UINT64_MAX || seen[i])
		return false;
	seen[i] = 1;
	return true;
}

/*
 * The values of some of the keys, in one command: a round trip a key would take longer than
 * loading.
 */
static int check_keys(struct np_client *c, const struct np_data *d, redisReply *const *keys,
		      size_t n, const char *value, unsigned char *seen, struct np_check *check)
{
	const char *argv[1 + KEYS_AT_ONCE] = { "MGET" };
	size_t len[1 + KEYS_AT_ONCE] = { 4 };
	redisReply *values;

	for (size_t k = 0; k < n; k++) {
		argv[1 + k] = keys[k]->str;
		len[1 + k] = keys[k]->len;
	}
	values = np_client_ask(c, REDIS_REPLY_ARRAY, 1 + n, argv, len);
	if (!values)
		return -1;
	for (size_t k = 0; k < n && k < values->elements; k++) {
		const redisReply *got = values->element[k];
		const char *text = got->type == REDIS_REPLY_STRING ? got->str : "";
		uint64_t i = np_data_index(d, keys[k]->str, keys[k]->len);

		take(check, 0, 0, keys[k], text);
		check->mismatches += !first_time(seen, i) || strcmp(text, value) ||
				     !is_string(d, STREAM_KEY, i, keys[k]);
	}
	freeReplyObject(values);
	return 0;
}

static int keys_verify(struct np_client *c, const struct np_data *d, unsigned int generation,
		       struct np_check *check)
{
	unsigned char *seen = calloc(d->elements, 1);
	redisReply *all = seen ? every_key(c) : NULL;
	char value[16];
	int err = 0;

	if (!all) {
		free(seen);
		return seen ? -1 : np_fail("cannot check the keys: out of memory");
	}
	snprintf(value, sizeof(value), "%u", generation + 1);
	check->expected = d->elements;
	for (size_t i = 0, n; i < all->elements && !err; i += n) {
		n = all->elements - i < KEYS_AT_ONCE ? all->elements - i : KEYS_AT_ONCE;
		err = check_keys(c, d, all->element + i, n, value, seen, check);
	}
	freeReplyObject(all);
	free(seen);
	return err;
}

/* ---- three sorted sets: ZADD in turn, ZRANGE, ZINCRBY of every member ---- */

static uint64_t score(const struct np_data *d, unsigned int set, uint64_t i,
		      unsigned int generation)
{
	uint64_t sum = 0;

	for (unsigned int g = 0; g <= generation; g++)
		sum += np_data_number(d, score_stream(set, g), i, SCORES);
	return sum;
}

static int zsets_load(struct np_client *c, const struct np_data *d)
{
	char text[NP_STRING_MAX], points[24];
	size_t len;

	if (delete_all(c, zsets))
		return -1;
	for (uint64_t i = 0; i < d->elements; i++)
		for (unsigned int k = 0; k < STRUCTURES; k++) {
			len = np_data_string(d, STREAM_SET + k, i, text);
			snprintf(points, sizeof(points), "%llu",
				 (unsigned long long)score(d, k, i, 0));
			if (send_string(c, 4, (const char *[]) { "ZADD", zsets[k], points, "" },
					text, len))
				return -1;
		}
	return np_client_drain(c);
}

static int zsets_update(struct np_client *c, const struct np_data *d, unsigned int generation)
{
	redisReply *all, *member;
	char points[24];
	uint64_t number;
	int err = 0;

	for (unsigned int k = 0; k < STRUCTURES && !err; k++) {
		all = whole(c, "ZRANGE", zsets[k], false);
		if (!all)
			return -1;
		for (size_t i = 0; i < all->elements && !err; i++) {
			member = all->element[i];
			number = np_data_index(d, member->str, member->len);
			snprintf(points, sizeof(points), "%llu",
				 (unsigned long long)np_data_number(d,
								    score_stream(k, generation + 1),
								    number, SCORES));
			err = send_string(c, 4,
					  (const char *[]) { "ZINCRBY", zsets[k], points, "" },
					  member->str, member->len);
		}
		err = err ? err : np_client_drain(c);
		freeReplyObject(all);
	}
	return err;
}

/* Members and scores alternate; scores must ascend. */
static void check_zset(const struct np_data *d, unsigned int set, unsigned int generation,
		       const redisReply *all, unsigned char *seen, struct np_check *check)
{
	double previous = -1, now;
	uint64_t i;

	for (size_t k = 0; k + 1 < all->elements; k += 2) {
		const redisReply *member = all->element[k], *points = all->element[k + 1];

		i = np_data_index(d, member->str, member->len);
		now = strtod(points->str, NULL);
		take(check, set, 0, member, points->str);
		check->mismatches += !first_time(seen, i) || now < previous ||
				     !is_string(d, STREAM_SET + set, i, member) ||
				     now != score(d, set, i, generation);
		previous = now;
	}
}

static int zsets_verify(struct np_client *c, const struct np_data *d, unsigned int generation,
			struct np_check *check)
{
	unsigned char *seen = calloc(d->elements, 1);
	redisReply *all = NULL;

	if (!seen)
		return np_fail("cannot check the sorted sets: out of memory");
	check->expected = STRUCTURES * d->elements;
	for (unsigned int k = 0; k < STRUCTURES; k++) {
		all = whole(c, "ZRANGE", zsets[k], true);
		if (!all)
			break;
		memset(seen, 0, d->elements);
		check_zset(d, k, generation, all, seen, check);
		freeReplyObject(all);
	}
	free(seen);
	return all ? 0 : -1;
}

const struct np_workload np_workloads[] = {
	{ "lists", "three lists: LPUSH in turn, LRANGE, LSET of all", lists_load, lists_update,
	  lists_verify },
	{ "keys", "random keys: SET, KEYS *, INCR of all", keys_load, keys_update, keys_verify },
	{ "zsets", "three sorted sets: ZADD in turn, ZRANGE, ZINCRBY of all", zsets_load,
	  zsets_update, zsets_verify },
	{ "tokens", "a text's tokens: EXISTS, then SET or INCR", np_tokens_load, np_tokens_update,
	  np_tokens_verify },
	{ 0 },
};
