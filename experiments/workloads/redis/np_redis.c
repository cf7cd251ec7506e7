// SPDX-License-Identifier: GPL-2.0-only
/*
 * A Redis client whose every element can be checked afterwards. Phases come
 * as words on the command line or, so that a runner can act between them, as
 * lines on stdin; results leave on stdout, one JSON object a line.
 */
#include "../emit.h"
#include "redis_workloads.h"

#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PIPELINE 65536
#define MAX_ELEMENTS 1000000000ULL

struct client_state {
	struct np_client client;
	struct np_data data;
	const struct np_workload *workload;
	unsigned int pipeline;	 /* unless the phase says another */
	unsigned int generation; /* updates so far */
};

struct options {
	const char *socket, *text;
	unsigned long long elements, pipeline, seed, max_length;
};

static void print_usage(void)
{
	puts("usage: np-redis --socket PATH --workload NAME [--elements N] [--max-length N]\n"
	     "                [--pipeline N] [--seed N] [--text FILE] [PHASE..] | --version\n"
	     "  --elements    of each list or sorted set, or keys, or tokens (default 10000)\n"
	     "  --max-length  of a random string, 1 to that many characters (default 20)\n"
	     "  --pipeline    commands sent before an answer is awaited (default 1)\n"
	     "  --text        count the tokens of this file, not of a text made of the seed\n"
	     "  PHASE         load, update, verify; without any, lines on stdin:\n"
	     "                load|update [PIPELINE], verify, quit\n"
	     "  workloads:");
	for (const struct np_workload *w = np_workloads; w->name; w++)
		printf("    %-8s%s\n", w->name, w->summary);
}

static int find_workload(struct client_state *s, const char *name)
{
	for (s->workload = np_workloads; s->workload->name; s->workload++)
		if (!strcmp(name, s->workload->name))
			return 0;
	return np_fail("--workload %s: there is none of that name; see --help", name);
}

static int parse_value(struct client_state *s, struct options *o, int opt, const char *text)
{
	static const struct {
		int opt;
		const char *name;
		unsigned long long min, max;
		size_t offset;
	} numbers[] = {
		{ 'e', "elements", 1, MAX_ELEMENTS, offsetof(struct options, elements) },
		{ 'l', "max-length", 1, NP_STRING_MAX, offsetof(struct options, max_length) },
		{ 'p', "pipeline", 1, MAX_PIPELINE, offsetof(struct options, pipeline) },
		{ 'r', "seed", 0, UINT64_MAX, offsetof(struct options, seed) },
	};
	unsigned long long *value;

	if (opt == 'w')
		return find_workload(s, text);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (opt != numbers[i].opt)
			continue;
		value = (unsigned long long *)((char *)o + numbers[i].offset);
		if (!np_parse_count(text, numbers[i].max, value) && *value >= numbers[i].min)
			return 0;
		return np_fail("--%s %s: needs a number from %llu to %llu", numbers[i].name, text,
			       numbers[i].min, numbers[i].max);
	}
	*(opt == 't' ? &o->text : &o->socket) = text;
	return 0;
}

static int parse_options(struct client_state *s, struct options *o, int argc, char **argv)
{
	static const struct option table[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "workload", required_argument, NULL, 'w' },
		{ "elements", required_argument, NULL, 'e' },
		{ "max-length", required_argument, NULL, 'l' },
		{ "pipeline", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 'r' },
		{ "text", required_argument, NULL, 't' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (opt == 'v' || opt == 'h') {
			if (opt == 'h')
				print_usage();
			else
				puts("np-redis " NP_VERSION "; " NP_BUILT_WITH);
			exit(0);
		}
		if (opt == '?' || parse_value(s, o, opt, optarg))
			return -1;
	}
	if (!o->socket || !s->workload)
		return np_fail("--socket and --workload are needed; see --help");
	s->data = (struct np_data) { o->seed, o->elements, o->max_length, o->text };
	s->pipeline = o->pipeline;
	if (o->max_length >= np_data_min_length(&s->data))
		return 0;
	return np_fail("--max-length %llu: %llu different strings need at least %u characters",
		       o->max_length, o->elements, np_data_min_length(&s->data));
}

static json_t *latency_json(const struct np_histogram *h)
{
	return json_pack("{sf sf sf sf sf sf sf}", "min", h->min / 1e3,
			 "p50", np_histogram_at(h, 0.50) / 1e3, "p90", np_histogram_at(h, 0.90) / 1e3,
			 "p99", np_histogram_at(h, 0.99) / 1e3,
			 "p999", np_histogram_at(h, 0.999) / 1e3, "max", h->max / 1e3,
			 "resolution", NP_HIST_RESOLUTION);
}

static int change(struct client_state *s, bool update)
{
	struct np_client *c = &s->client;
	double started, seconds;
	int err;

	np_client_reset(c);
	started = np_now();
	err = update ? s->workload->update(c, &s->data, s->generation) :
		       s->workload->load(c, &s->data);
	seconds = np_now() - started;
	if (err)
		return err;
	s->generation = update ? s->generation + 1 : 0;
	np_emit(json_pack("{ss ss ss sI sf sf sI sI so}", "event", "result",
			  "phase", update ? "update" : "load", "workload", s->workload->name,
			  "ops", (json_int_t)c->ops, "seconds", seconds,
			  "ops_per_second", c->ops / seconds, "errors", (json_int_t)c->errors,
			  "pipeline", (json_int_t)c->pipeline,
			  "latency_us", latency_json(&c->latency)));
	return c->errors ? np_fail("%llu of %llu commands failed, the first with: %s",
				   (unsigned long long)c->errors, (unsigned long long)c->ops,
				   c->first_error) :
			   0;
}

static int verify(struct client_state *s)
{
	struct np_check check = { 0 };
	char digest[24];
	bool ok;

	if (s->workload->verify(&s->client, &s->data, s->generation, &check))
		return -1;
	ok = !check.mismatches && check.found == check.expected;
	snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)check.digest);
	np_emit(json_pack("{ss ss sI sI sI si ss sb}", "event", "verify",
			  "workload", s->workload->name, "elements", (json_int_t)check.found,
			  "expected", (json_int_t)check.expected,
			  "mismatches", (json_int_t)check.mismatches,
			  "updates", (int)s->generation, "digest", digest, "ok", ok));
	return ok ? 0 :
		    np_fail("the server's data are wrong: %llu elements of %llu, %llu differ",
			    (unsigned long long)check.found, (unsigned long long)check.expected,
			    (unsigned long long)check.mismatches);
}

static int phase(struct client_state *s, const char *name, const char *pipeline)
{
	unsigned long long value = s->pipeline;
	bool change_it = !strcmp(name, "load") || !strcmp(name, "update");

	if (!change_it && (strcmp(name, "verify") || pipeline))
		return np_fail("'%s' is not 'load [PIPELINE]', 'update [PIPELINE]', 'verify' or 'quit'",
			       name);
	if (pipeline && (np_parse_count(pipeline, MAX_PIPELINE, &value) || !value))
		return np_fail("%s %s: the pipeline is a number from 1 to %d", name, pipeline,
			       MAX_PIPELINE);
	s->client.pipeline = value;
	return change_it ? change(s, !strcmp(name, "update")) : verify(s);
}

static int serve(struct client_state *s)
{
	char *words[3];
	int n;

	np_emit(json_pack("{ss si ss}", "event", "ready", "pid", (int)getpid(),
			  "workload", s->workload->name));
	while ((n = np_read_words(words, 3)) >= 0) {
		if (!n)
			continue;
		if (!strcmp(words[0], "quit"))
			break;
		if (phase(s, words[0], n > 1 ? words[1] : NULL))
			return -1;
	}
	return 0;
}

/*
 * Memory that loading has touched is kept and used again: the node of this
 * process's pages is decided then, not anew with every large answer.
 */
static void keep_heap(void)
{
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int main(int argc, char **argv)
{
	struct options o = { .elements = 10000, .pipeline = 1, .seed = 1, .max_length = 20 };
	static struct client_state s;
	int err = 0;

	if (parse_options(&s, &o, argc, argv))
		return 2;
	keep_heap();
	if (np_client_open(&s.client, o.socket))
		return 1;
	if (optind == argc)
		err = serve(&s);
	for (int i = optind; i < argc && !err; i++)
		err = phase(&s, argv[i], NULL);
	np_client_close(&s.client);
	return err ? 1 : 0;
}
