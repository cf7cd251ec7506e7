// SPDX-License-Identifier: GPL-2.0-only
#include "redis_tokens.h"
#include "../emit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_A_WORD 13
#define STREAM_WORD   2048
#define STREAM_RANK   2049
#define DRAWS	      (1ULL << 40)
#define WORDS_AT_ONCE 1000
#define BLANKS	      " \t\r\n\f\v"

/* The tokens in the text's order; made once, as all phases go over the same ones. */
static struct {
	char **token;
	size_t n;
} text;

static int add(const char *token)
{
	static size_t capacity;
	char **larger;

	if (text.n == capacity) {
		capacity = capacity ? 2 * capacity : 1024;
		larger = realloc(text.token, capacity * sizeof(*larger));
		if (!larger)
			return np_fail("cannot hold the text: out of memory");
		text.token = larger;
	}
	text.token[text.n] = strdup(token);
	return text.token[text.n++] ? 0 : np_fail("cannot hold the text: out of memory");
}

static int read_file(const struct np_data *d)
{
	FILE *file = fopen(d->text_file, "re");
	size_t capacity = 0;
	char *line = NULL, *save, *token;
	int err = 0;

	if (!file)
		return np_fail("--text %s: %s", d->text_file, strerror(errno));
	while (!err && text.n < d->elements && getline(&line, &capacity, file) > 0)
		for (token = strtok_r(line, BLANKS, &save); token && text.n < d->elements && !err;
		     token = strtok_r(NULL, BLANKS, &save))
			err = add(token);
	free(line);
	fclose(file);
	return err || text.n ? err : np_fail("--text %s: has no words", d->text_file);
}

/* A rank whose logarithm is uniform: word k comes in proportion to about 1 / k. */
static int make_text(const struct np_data *d)
{
	double words = d->elements / TOKENS_A_WORD + 1;
	char token[NP_STRING_MAX + 1];
	uint64_t rank;
	int err = 0;

	for (uint64_t i = 0; i < d->elements && !err; i++) {
		rank = (uint64_t)exp(np_data_number(d, STREAM_RANK, i, DRAWS) / (double)DRAWS *
				     log(words + 1)) -
		       1;
		token[np_data_string(d, STREAM_WORD, rank < d->elements ? rank : 0, token)] = '\0';
		err = add(token);
	}
	return err;
}

static int have_text(const struct np_data *d)
{
	if (text.n)
		return 0;
	return d->text_file ? read_file(d) : make_text(d);
}

static int count_token(struct np_client *c, const char *token)
{
	redisReply *r = np_client_ask(c, REDIS_REPLY_INTEGER, 2,
				      (const char *[]) { "EXISTS", token }, NULL);
	long long there;

	if (!r)
		return -1;
	there = r->integer;
	freeReplyObject(r);
	r = there ? np_client_ask(c, REDIS_REPLY_INTEGER, 2, (const char *[]) { "INCR", token },
				  NULL) :
		    np_client_ask(c, REDIS_REPLY_STATUS, 3, (const char *[]) { "SET", token, "1" },
				  NULL);
	freeReplyObject(r);
	return r ? 0 : -1;
}

int np_tokens_update(struct np_client *c, const struct np_data *d, unsigned int generation)
{
	int err = 0;

	if (have_text(d)) /* another process may have loaded it */
		return -1;
	for (size_t i = 0; i < text.n && !err; i++)
		err = count_token(c, text.token[i]);
	return err;
}

int np_tokens_load(struct np_client *c, const struct np_data *d)
{
	redisReply *r;

	if (have_text(d))
		return -1;
	r = np_client_ask(c, REDIS_REPLY_STATUS, 1, (const char *[]) { "FLUSHDB" }, NULL);
	if (!r)
		return -1;
	freeReplyObject(r);
	return np_tokens_update(c, d, 0);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Some words and how often each is in the text, in one command. */
static int check_words(struct np_client *c, char *const *word, const size_t *times, size_t n,
		       unsigned int generation, struct np_check *check)
{
	const char *argv[1 + WORDS_AT_ONCE] = { "MGET" };
	size_t len[1 + WORDS_AT_ONCE] = { 4 };
	char right[32];
	redisReply *r;

	for (size_t k = 0; k < n; k++) {
		argv[1 + k] = word[k];
		len[1 + k] = strlen(word[k]);
	}
	r = np_client_ask(c, REDIS_REPLY_ARRAY, 1 + n, argv, len);
	if (!r)
		return -1;
	for (size_t k = 0; k < n && k < r->elements; k++) {
		const redisReply *got = r->element[k];
		const char *value = got->type == REDIS_REPLY_STRING ? got->str : "";

		snprintf(right, sizeof(right), "%zu", times[k] * (generation + 1));
		check->found += got->type == REDIS_REPLY_STRING;
		check->mismatches += strcmp(value, right) != 0;
		check->digest += np_data_hash(np_data_hash(0, word[k], len[1 + k]), value,
					      strlen(value));
	}
	freeReplyObject(r);
	return 0;
}

/* Keys that are no words of the text. */
static int check_size(struct np_client *c, struct np_check *check)
{
	redisReply *r = np_client_ask(c, REDIS_REPLY_INTEGER, 1, (const char *[]) { "DBSIZE" },
				      NULL);

	if (!r)
		return -1;
	check->mismatches += (uint64_t)r->integer > check->found ? r->integer - check->found : 0;
	freeReplyObject(r);
	return 0;
}

int np_tokens_verify(struct np_client *c, const struct np_data *d, unsigned int generation,
		     struct np_check *check)
{
	size_t times[WORDS_AT_ONCE], n = 0, next;
	char **sorted, *word[WORDS_AT_ONCE];
	int err = 0;

	if (have_text(d))
		return -1;
	sorted = malloc(text.n * sizeof(*sorted) + 1);
	if (!sorted)
		return np_fail("cannot check the words: out of memory");
	memcpy(sorted, text.token, text.n * sizeof(*sorted));
	qsort(sorted, text.n, sizeof(*sorted), by_text);
	for (size_t i = 0; i < text.n && !err; i = next) {
		for (next = i + 1; next < text.n && !strcmp(sorted[i], sorted[next]); next++)
			;
		word[n] = sorted[i];
		times[n++] = next - i;
		check->expected++;
		if (n < WORDS_AT_ONCE && next < text.n)
			continue;
		err = check_words(c, word, times, n, generation, check);
		n = 0;
	}
	free(sorted);
	return err ? err : check_size(c, check);
}
