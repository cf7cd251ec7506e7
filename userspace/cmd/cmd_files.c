// SPDX-License-Identifier: GPL-2.0-only
/* files: where the pages of files are, who maps them, and which are remote to those. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/base/printable.h"
#include "../lib/host/file_pages.h"
#include "../lib/host/proc.h"
#include "cmd_args.h"
#include "task_table.h"

#define READER_WIDTH 24

struct arguments {
	struct np_common common;
	struct np_words paths;
	unsigned long limit;
};

enum { KEY_LIMIT = NP_KEY_OWN };

static const struct argp_option options[] = {
	{ "limit", KEY_LIMIT, "N", 0, "Print the first N only", 0 },
	NP_CGROUP_OPTION,
	NP_UNIT_OPTION,
	NP_JSON_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_LIMIT:
		return np_arg_number(arg, "--limit", 1000000000, &a->limit);
	case ARGP_KEY_ARG:
		if (arg[strspn(arg, "0123456789")])
			return np_words_add(&a->paths, arg);
		break;
	case ARGP_KEY_END:
		if (!a->paths.n && !a->common.pids.n && !a->common.cgroup && !a->common.unit)
			return np_failed(ECANCELED,
					 "files: name a process, a file, --cgroup or --unit");
		return 0;
	}
	return np_common_parse(key, arg, &a->common);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID..\nPATH..",
	.doc = "Shows files and shared memory: the nodes of their pages that are in memory, the share "
	       "of those that processes map which is on another node than the process runs on, and who "
	       "maps them. Of a process: the files that it maps; a file whose name is a number is "
	       "./NUMBER.\v"
	       "Pages that nobody maps count too. Those of a file with a * are counted as far as one process "
	       "maps them: this user may not open it, or it is of a pool of huge pages. The files with the most pages come first. "
	       "`numaplace migrate --file PATH` and --shm ID move them; --json has a path to each file "
	       "that has no name.",
};

/* NODE:PAGES of the nodes that have some, where there are too many for columns. */
static void print_few(const struct np_machine *m, const uint64_t *pages)
{
	const char *separator = "";

	for (size_t i = 0; i < m->n_nodes; i++) {
		if (!pages[i])
			continue;
		printf("%s%d:%llu", separator, m->node[i].id, (unsigned long long)pages[i]);
		separator = " ";
	}
	printf("%s", *separator ? " " : "- ");
}

static void print_heading(const struct np_machine *m)
{
	if (m->n_nodes > NP_VIEW_NODES)
		printf("NODE:PAGES ");
	for (size_t i = 0; m->n_nodes <= NP_VIEW_NODES && i < m->n_nodes; i++)
		printf("%7s%d ", "N", m->node[i].id);
	printf("REMOTE %-*s FILE\n", READER_WIDTH, "MAPPED BY");
}

static void print_readers(const struct np_file_pages *f, const struct np_file *file)
{
	long row = file->n_readers ? np_file_reader_row(f, &file->reader[0]) : -1;
	char text[64] = "-", others[24] = "";

	if (file->n_readers > 1)
		snprintf(others, sizeof(others), " +%zu", file->n_readers - 1);
	if (file->n_readers)
		snprintf(text, sizeof(text), "%s[%d]%s",
			 row < 0 ? "ended" : f->readers.task[row].comm, file->reader[0].pid,
			 others);
	printf("%-*s ", READER_WIDTH, text);
}

static void print_name(const struct np_file *file)
{
	char *name = strdup(file->path);

	if (name)
		np_printable(name);
	printf("%s", name ? name : "?");
	if (np_file_segment(file) >= 0)
		printf(" --shm %lld", np_file_segment(file));
	puts(file->error ? " *" : "");
	free(name);
}

static void print_file(const struct np_file_pages *f, const struct np_file *file,
		       const struct np_machine *m)
{
	double remote = np_file_remote_share(f, file, m);

	if (m->n_nodes > NP_VIEW_NODES)
		print_few(m, file->pages);
	for (size_t i = 0; m->n_nodes <= NP_VIEW_NODES && i < m->n_nodes; i++)
		printf("%8llu ", (unsigned long long)file->pages[i]);
	if (remote < 0)
		printf("%6s ", "-");
	else
		printf("%5.1f%% ", remote * 100);
	print_readers(f, file);
	print_name(file);
}

static json_t *describe_readers(const struct np_file_pages *f, const struct np_file *file,
				const struct np_machine *m)
{
	json_t *readers = json_array();

	for (size_t i = 0; i < file->n_readers; i++) {
		long row = np_file_reader_row(f, &file->reader[i]);
		const struct np_task *task = row < 0 ? NULL : &f->readers.task[row];

		if (task)
			json_array_append_new(readers,
					      json_pack("{s:i,s:o,s:o,s:o}", "pid", task->pid, "comm",
						   np_json_text(task->comm), "node", np_json_node(m, task->node),
						   "pages", np_json_pages(m, file->reader[i].pages)));
	}
	return readers;
}

static json_t *describe_file(const struct np_file_pages *f, const struct np_file *file,
			     const struct np_machine *m)
{
	double remote = np_file_remote_share(f, file, m);
	char through[NP_THROUGH_LEN];
	json_t *one = json_pack("{s:o,s:o,s:o,s:b,s:o}", "path", np_json_text(file->path), "pages",
				np_json_pages(m, file->pages), "remote_share",
				remote < 0 ? json_null() : json_real(remote), "mapped_only", file->error != 0,
				"readers", describe_readers(f, file, m));

	if (!file->named && np_file_find_path(file, through))
		json_object_set_new(one, "through", json_string(through));
	if (np_file_segment(file) >= 0)
		json_object_set_new(one, "shm", json_integer(np_file_segment(file)));
	return one;
}

static void print(const struct arguments *a, const struct np_file_pages *f,
		  const struct np_machine *m)
{
	size_t n = a->limit && a->limit < f->n ? a->limit : f->n;
	json_t *files = json_array();

	if (!np_json)
		print_heading(m);
	for (size_t i = 0; i < n; i++) {
		if (np_json)
			json_array_append_new(files, describe_file(f, f->file[i], m));
		else
			print_file(f, f->file[i], m);
	}
	if (np_json)
		np_json_print(json_pack("{s:O}", "files", files));
	json_decref(files);
}

static int show(const struct arguments *a, const struct np_machine *m)
{
	struct np_file_pages f;
	struct np_err err;
	int e = np_file_pages_read(&f, m, (char *const *)a->paths.word, a->paths.n,
				   a->common.pids.pid, a->common.pids.n, true, &err);

	if (!e && f.denied) {
		np_proc_denied(f.denied_pid, "read the files of", &err);
		fprintf(stderr, "numaplace: %zu process%s left out, such as: %s\n", f.denied,
			f.denied == 1 ? "" : "es", err.text);
	}
	if (!e)
		print(a, &f, m);
	else
		np_error("%s", err.text);
	np_file_pages_free(&f);
	return e ? np_engine_exit(e) : NP_EXIT_OK;
}

int cmd_files(int argc, char **argv)
{
	struct arguments a = { 0 };
	struct np_machine m = { 0 };
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status)
		status = np_cmd_machine(&m);
	if (!status)
		status = np_common_resolve(&a.common);
	if (!status)
		status = show(&a, &m);
	np_machine_free(&m);
	np_common_free(&a.common);
	free(a.paths.word);
	return status;
}
