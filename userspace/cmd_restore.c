// SPDX-License-Identifier: GPL-2.0-only
/* numaplace restore */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"

struct arguments {
	struct np_pids pids;
	bool all;
};

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "Everything under control", 0 },
	{ "json", 'j', NULL, 0, "Print one JSON object", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'a':
		a->all = true;
		return 0;
	case 'j':
		np_json = true;
		return 0;
	case ARGP_KEY_ARG:
		return np_arg_add_pid(arg, &a->pids);
	case ARGP_KEY_END:
		if (a->all == (a->pids.n > 0)) {
			np_error("restore: name either processes or --all");
			return ECANCELED;
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID..\n--all",
	.doc = "Gives tasks back the CPUs and the memory policy that they had before numaplace "
	       "first changed them. What the user changed afterwards is left alone.",
};

/* Restores one pid, or with 0 all; adds to the totals. */
static int restore(pid_t pid, size_t *n, size_t *kept)
{
	char err[NP_ERR_LEN] = "";
	size_t restored = 0, left = 0;
	int e = np_control_restore(pid, &restored, &left, err, sizeof(err));

	*n += restored;
	*kept += left;
	if (e)
		np_error("%s", err);
	else if (left && !np_json)
		fprintf(stderr, "numaplace: %s\n", err);
	return np_control_exit(e);
}

int cmd_restore(int argc, char **argv)
{
	struct arguments a = { 0 };
	size_t n = 0, kept = 0;
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status && a.all)
		status = restore(0, &n, &kept);
	for (size_t i = 0; !status && i < a.pids.n; i++)
		status = restore(a.pids.pid[i], &n, &kept);
	if (!status && np_json)
		np_json_print(json_pack("{s:I,s:I}", "restored", (json_int_t)n, "left_alone",
					(json_int_t)kept));
	else if (!status)
		printf("restored %zu placement%s\n", n, n == 1 ? "" : "s");
	free(a.pids.pid);
	return status;
}
