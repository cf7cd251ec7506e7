// SPDX-License-Identifier: GPL-2.0-only
/* numaplace jobs and numaplace cancel: page moves by the module. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/base/record.h"
#include "../lib/engine/module.h"
#include "../lib/host/module_files.h"
#include "cmd_args.h"

static const struct argp argp_jobs = {
	.options = np_json_only,
	.parser = np_json_only_parse,
	.doc = "Lists the page moves that the module has been asked for, running and done.",
};

/* Plain system calls have no jobs: their moves end with the command that began them. */
static int need_module(void)
{
	struct np_module_info info;
	struct np_err err;

	if (!np_module_probe(&info, &err))
		return NP_EXIT_OK;
	return np_failed(NP_EXIT_CANNOT, "only the module has jobs: %s", err.text);
}

/* A record as an object: numbers as numbers, the rest as strings. */
static json_t *json_record(const char *line)
{
	json_t *j = json_object();
	char *copy = strndup(line, strcspn(line, "\n")), *save, *word, *value, *end;

	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		value = strchr(word, '=');
		if (!value)
			continue;
		*value++ = '\0';
		json_int_t number = strtoll(value, &end, 10);
		json_object_set_new(j, word,
				    *value && !*end ? json_integer(number) : json_string(value));
	}
	free(copy);
	return j;
}

static void print_jobs(const char *text)
{
	static const char *const columns[] = { "job",	"pid",	 "state",   "from",   "to",
					       "asked", "moved", "already", "absent", "busy" };
	const size_t n = sizeof(columns) / sizeof(columns[0]);

	for (size_t i = 0; i < n; i++)
		printf("%*s%s", i ? 10 : 6, columns[i], i + 1 < n ? "" : "\n");
	for (const char *line = text; line && *line; line = np_record_next(line)) {
		for (size_t i = 0; i < n; i++) {
			char value[64] = "-";

			np_record_get(line, columns[i], value, sizeof(value));
			printf("%*s%s", i ? 10 : 6, value, i + 1 < n ? "" : "\n");
		}
	}
}

static void print_jobs_json(const char *text)
{
	json_t *jobs = json_array();

	for (const char *line = text; line && *line; line = np_record_next(line))
		json_array_append_new(jobs, json_record(line));
	np_json_print(json_pack("{s:o}", "jobs", jobs));
}

int cmd_jobs(int argc, char **argv)
{
	int status = np_args(&argp_jobs, argc, argv, 0, NULL);
	char *text;

	if (!status)
		status = need_module();
	if (status)
		return status;
	text = np_module_read("jobs");
	if (!text)
		return np_failed(NP_EXIT_FAIL, "the module's jobs cannot be read: %s",
				 strerror(errno));
	if (np_json)
		print_jobs_json(text);
	else
		print_jobs(text);
	free(text);
	return NP_EXIT_OK;
}

static error_t parse_cancel(int key, char *arg, struct argp_state *state)
{
	unsigned long *job = state->input;

	switch (key) {
	case 'j':
		np_json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (*job)
			return np_failed(ECANCELED, "cancel: name one job");
		return np_arg_number(arg, "job", ~0ul, job);
	case ARGP_KEY_NO_ARGS:
		return np_failed(ECANCELED, "cancel: name a job; `numaplace jobs` lists them");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp_cancel = {
	.options = np_json_only,
	.parser = parse_cancel,
	.args_doc = "JOB",
	.doc = "Ends a page move of the module. What has moved stays moved.",
};

int cmd_cancel(int argc, char **argv)
{
	unsigned long job = 0;
	int e, status = np_args(&argp_cancel, argc, argv, 0, &job);
	char line[32], state[16] = "", *record;

	if (!status)
		status = need_module();
	if (status)
		return status;
	record = np_module_job(job);
	if (record)
		np_record_get(record, "state", state, sizeof(state));
	free(record);
	if (!*state)
		return np_failed(NP_EXIT_FAIL, "there is no job %lu; `numaplace jobs` lists them",
				 job);
	/* The module ignores a cancel that comes too late. */
	if (strcmp(state, "queued") && strcmp(state, "running"))
		return np_failed(NP_EXIT_FAIL, "job %lu has ended already (%s)", job, state);
	snprintf(line, sizeof(line), "job=%lu\n", job);
	e = np_module_write("cancel", line);
	if (e)
		return np_failed(NP_EXIT_FAIL, "job %lu cannot be cancelled: %s", job,
				 strerror(-e));
	if (np_json)
		np_json_print(json_pack("{s:I}", "cancelled", (json_int_t)job));
	else
		printf("cancelled job %lu\n", job);
	return NP_EXIT_OK;
}
