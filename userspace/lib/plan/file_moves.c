// SPDX-License-Identifier: GPL-2.0-only
#include "file_moves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/grow.h"
#include "../base/printable.h"
#include "../engine/migrate_file.h"
#include "../files/json.h"
#include "../host/proc.h"

/* Files of fewer pages are programs and libraries as a rule: 1 MiB of small ones. */
#define LEAST_PAGES 256

/* The kernel rounds, and pages come and go: what is as near as this to its shares stays. */
#define NEAR_ENOUGH 0.02

/* A pid that now belongs to another process is not the task that was planned for. */
static long find_task(const struct np_file_plan *p, const struct np_file_pages *files, long row)
{
	for (size_t i = 0; row >= 0 && i < p->tasks->n; i++)
		if (p->tasks->task[i].pid == files->readers.task[row].pid &&
		    p->tasks->start[i] == files->readers.start[row])
			return (long)i;
	return -1;
}

static double sum(const double *share, size_t n)
{
	double all = 0;

	for (size_t i = 0; i < n; i++)
		all += share[i];
	return all;
}

/* Adds weight to the nodes of a row of plan->spread, each its part of it. */
static void add_row(const struct np_plan *plan, size_t nodes, int row, double weight, double *share)
{
	const uint8_t *part = plan->spread + (size_t)row * nodes;
	double all = 0;

	for (size_t i = 0; i < nodes; i++)
		all += part[i];
	for (size_t i = 0; i < nodes && all > 0; i++)
		share[i] += weight * part[i] / all;
}

/* Where a task's memory goes; where it stays, its pages of files go to where the task runs. */
static void add_task(const struct np_file_plan *p, size_t task, double weight, double *share)
{
	const struct np_decision *d = &p->plan->decision[task];
	int row = d->spread != NP_NODE_NONE   ? d->spread :
		  d->pages_to == NP_NODE_NONE ? d->nodes :
						NP_NODE_NONE;
	int node = d->pages_to != NP_NODE_NONE ? d->pages_to :
		   d->to != NP_NODE_NONE       ? d->to :
						 p->tasks->task[task].node;

	if (row != NP_NODE_NONE)
		add_row(p->plan, p->machine->n_nodes, row, weight, share);
	else if (node != NP_NODE_NONE && np_may_hold(p->machine, &p->tasks->task[task], node))
		share[node] += weight;
}

static double count_mapped(const struct np_file_reader *reader, size_t nodes)
{
	double pages = 0;

	for (size_t k = 0; k < nodes; k++)
		pages += (double)reader->pages[k];
	return pages;
}

/*
 * The shares that a file's readers ask for, each by the pages that it maps. False: the file stays, as of
 * its readers none runs on a known node, one has a memory policy that was chosen for it, or others map more
 * of it than the plan's tasks do.
 */
static bool choose_shares(const struct np_file_plan *p, const struct np_file_pages *files,
			  const struct np_file *file, double *share)
{
	size_t nodes = p->machine->n_nodes;
	double ours = 0, others = 0, all;

	for (size_t i = 0; i < file->n_readers; i++) {
		long row = np_file_reader_row(files, &file->reader[i]),
		     at = find_task(p, files, row);
		double weight = count_mapped(&file->reader[i], nodes);

		if (file->reader[i].chosen && !p->override)
			return false;
		if (at >= 0) {
			ours += weight;
			add_task(p, (size_t)at, weight, share);
		} else if (row >= 0) {
			others += weight;
			if (files->readers.task[row].node != NP_NODE_NONE)
				share[files->readers.task[row].node] += weight;
		}
	}
	all = sum(share, nodes);
	for (size_t k = 0; k < nodes && all > 0; k++)
		share[k] /= all;
	return ours >= others && all > 0;
}

/* Whether each node has room for these pages, for those that the plan brings there, and for other files. */
static bool has_room(const struct np_file_plan *p, const struct np_file_moves *moves,
		     const uint64_t *coming)
{
	for (size_t k = 0; k < p->machine->n_nodes; k++) {
		uint64_t room = p->machine->node[k].mem_free / p->machine->page_size,
			 all = coming[k] + moves->promised[k];

		for (size_t i = 0; i < p->plan->n_moves; i++)
			all += p->plan->move[i].to == (int)k ? p->plan->move[i].pages : 0;
		if (coming[k] && all > room)
			return false;
	}
	return true;
}

/* How many pages are elsewhere than their shares say; coming [n_nodes] gets those that each node has to take. */
static uint64_t count_moves(const struct np_file *file, const double *share,
			    const struct np_machine *m, uint64_t *coming)
{
	double all = (double)np_file_total(file, m);
	uint64_t pages = 0;

	for (size_t k = 0; k < m->n_nodes; k++) {
		double wanted = share[k] * all;

		coming[k] = wanted > (double)file->pages[k] ?
				    (uint64_t)(wanted - (double)file->pages[k]) :
				    0;
		pages += coming[k];
	}
	return pages;
}

/* Whether the file goes elsewhere, to share [n_nodes]; coming [n_nodes] and *pages are what moves. */
static bool is_to_move(const struct np_file_moves *moves, const struct np_file_plan *p,
		       const struct np_file *file, double *share, uint64_t *coming, uint64_t *pages)
{
	uint64_t total = np_file_total(file, p->machine);

	if (total < LEAST_PAGES || (file->chosen && !p->override) ||
	    !choose_shares(p, &moves->files, file, share))
		return false;
	*pages = count_moves(file, share, p->machine, coming);
	return (double)*pages > NEAR_ENOUGH * (double)total && has_room(p, moves, coming);
}

/* One that cannot be opened would move; where it has just gone, there is nothing to say. */
static void leave_out(struct np_file_moves *moves, const struct np_file *file)
{
	if (file->error != -ESTALE && !moves->left_out++)
		moves->example = file;
}

static void say_left_out(struct np_file_moves *moves)
{
	const struct np_file *file = moves->example;
	struct np_err why;

	if (file) {
		np_fail(&moves->note, 0, "files left out: %zu, such as %.120s: %s%s",
			moves->left_out, file->path, strerror(-file->error),
			file->error == -EPERM || file->error == -EACCES ? "; run as root" : "");
	} else if (moves->n && moves->files.denied) {
		np_proc_denied(moves->files.denied_pid, "read the files of", &why);
		np_fail(&moves->note, 0,
			"processes left out that may map these files: %zu, such as: %s",
			moves->files.denied, why.text);
	}
}

/* 0, also where the file stays; or -ENOMEM. */
static int plan_file(struct np_file_moves *moves, const struct np_file_plan *p,
		     const struct np_file *file)
{
	double *share = calloc(p->machine->n_nodes, sizeof(*share));
	uint64_t coming[NP_MAX_NODES], pages;
	bool goes;

	if (!share || np_grow(&moves->move, moves->n, sizeof(*moves->move))) {
		free(share);
		return -ENOMEM;
	}
	goes = is_to_move(moves, p, file, share, coming, &pages);
	if (goes && file->error)
		leave_out(moves, file);
	if (!goes || file->error) {
		free(share);
		return 0;
	}
	for (size_t k = 0; k < p->machine->n_nodes; k++)
		moves->promised[k] += coming[k];
	moves->move[moves->n++] = (struct np_file_move) { file, share, pages };
	return 0;
}

int np_file_moves_plan(struct np_file_moves *moves, const struct np_file_plan *p,
		       struct np_err *err)
{
	pid_t *pids = calloc(p->tasks->n + 1, sizeof(*pids));
	int e;

	memset(moves, 0, sizeof(*moves));
	moves->promised = calloc(p->machine->n_nodes, sizeof(*moves->promised));
	if (!pids || !moves->promised) {
		free(pids);
		return np_fail(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < p->tasks->n; i++)
		pids[i] = p->tasks->task[i].pid;
	e = np_file_pages_read(&moves->files, p->machine, NULL, 0, pids, p->tasks->n, false, err);
	free(pids);
	for (size_t i = 0; !e && i < moves->files.n; i++)
		if (plan_file(moves, p, moves->files.file[i]))
			e = np_fail(err, -ENOMEM, "out of memory");
	say_left_out(moves);
	return e;
}

void np_file_moves_free(struct np_file_moves *moves)
{
	for (size_t i = 0; i < moves->n; i++)
		free(moves->move[i].share);
	free(moves->move);
	free(moves->promised);
	np_file_pages_free(&moves->files);
	memset(moves, 0, sizeof(*moves));
}

json_t *np_file_moves_json(const struct np_file_moves *moves, const struct np_machine *m)
{
	json_t *files = json_array();

	for (size_t i = 0; i < moves->n; i++) {
		const struct np_file_move *move = &moves->move[i];

		json_array_append_new(files,
				      json_pack("{s:o,s:o,s:o,s:I,s:I}", "path", np_json_text(move->file->path),
						       "pages", np_json_pages(m, move->file->pages), "share",
						       np_json_reals(m, move->share), "pages_to_move",
						       (json_int_t)move->pages, "readers",
						       (json_int_t)move->file->n_readers));
	}
	return files;
}

void np_file_moves_print(FILE *out, const struct np_file_moves *moves, const struct np_machine *m)
{
	for (size_t i = 0; i < moves->n; i++) {
		const struct np_file_move *move = &moves->move[i];
		char *path = strdup(move->file->path);

		if (path)
			np_printable(path);
		fprintf(out, "file %s, which %zu map: %llu of %llu pages go to", path ? path : "?",
			move->file->n_readers, (unsigned long long)move->pages,
			(unsigned long long)np_file_total(move->file, m));
		for (size_t k = 0; k < m->n_nodes; k++)
			if (move->share[k] > 0)
				fprintf(out, " node %d (%.0f %%)", m->node[k].id,
					move->share[k] * 100);
		fputc('\n', out);
		free(path);
	}
	if (moves->note.text[0])
		fprintf(out, "%s\n", moves->note.text);
}

bool np_file_shares(const struct np_file *file, const struct np_machine *m, double *share)
{
	double total = (double)np_file_total(file, m);

	for (size_t k = 0; k < m->n_nodes && total > 0; k++)
		share[k] = (double)file->pages[k] / total;
	return total > 0;
}

int np_file_move_to(const struct np_file *file, const double *share, const struct np_machine *m,
		    const struct np_mover *mover, struct np_migrate_result *out, struct np_err *err)
{
	double by_number[NP_MAX_NODES] = { 0 };
	struct np_migrate_request r = {
		.share = by_number,
		.rate_mib = mover->throttle.rate_mib,
		.max_stall_us = mover->throttle.max_stall_us,
		.progress = mover->go_on,
		.progress_arg = mover->arg,
	};
	struct np_mapped_file mapped = { 0 };
	int e;

	for (size_t k = 0; k < m->n_nodes; k++) {
		size_t id = (size_t)m->node[k].id;

		by_number[id] = share[k];
		r.n_nodes = id + 1 > r.n_nodes ? id + 1 : r.n_nodes;
		if (share[k] < 1)
			continue;
		r.share = NULL;
		r.to = m->node[k].id;
	}
	memset(out, 0, sizeof(*out));
	e = np_file_open(file, &mapped, err);
	if (!e)
		e = np_migrate_file(&mapped, mover->engine, &r, out, err);
	np_mapped_file_close(&mapped);
	return e;
}
