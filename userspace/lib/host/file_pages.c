// SPDX-License-Identifier: GPL-2.0-only
#include "file_pages.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/grow.h"
#include "mempolicy.h"
#include "numa_maps.h"
#include "proc.h"

struct scan {
	struct np_file_pages *f;
	const struct np_machine *m;
	pid_t pid;
	char policy[NP_MAPPING_POLICY]; /* of its memory, as far as no mapping has its own */
	bool add;			/* files that are not known yet */
	/* The ranges of pid that are of known files, by address, as both files of /proc list them. */
	struct known {
		uint64_t start;
		struct np_file *file;
	} *known;
	size_t n_known, at;
};

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* In ascending order, each once. How many those are. */
static size_t sort_pids(pid_t *pids, size_t n)
{
	size_t kept = 0;

	qsort(pids, n, sizeof(*pids), compare_pids);
	for (size_t i = 0; i < n; i++)
		if (!i || pids[i] != pids[i - 1])
			pids[kept++] = pids[i];
	return kept;
}

static int compare_ids(const void *a, const void *b)
{
	const struct np_file_id *x = &((const struct np_file *)a)->id,
				*y = &((const struct np_file *)b)->id;

	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	if (x->ipc != y->ipc)
		return x->ipc < y->ipc ? -1 : 1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static struct np_file *find_file(const struct np_file_pages *f, const struct np_file_id *id)
{
	const struct np_file key = { .id = *id };
	struct np_file *const *found = tfind(&key, &f->by_id, compare_ids);

	return found ? *found : NULL;
}

static void free_file(struct np_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->n_readers; i++)
		free(file->reader[i].pages);
	free(file->reader);
	free(file->pages);
	free(file->path);
	free(file);
}

/* NULL without memory. */
static struct np_file *add_file(struct np_file_pages *f, const struct np_machine *m,
				const struct np_file_id *id, const char *path)
{
	struct np_file *file = calloc(1, sizeof(*file));

	if (file) {
		file->id = *id;
		file->path = strdup(path);
		file->pages = calloc(m->n_nodes, sizeof(*file->pages));
	}
	if (!file || !file->path || !file->pages || np_grow(&f->file, f->n, sizeof(*f->file)) ||
	    !tsearch(file, &f->by_id, compare_ids)) {
		free_file(file);
		return NULL;
	}
	f->file[f->n++] = file;
	return file;
}

/* An empty file is mapped nowhere: it has no name but that of stat(2). */
static int identify(const struct np_mapped_file *mapped, const struct stat *st,
		    struct np_file_id *id)
{
	if (mapped->memory)
		return np_mapped_file_identify(mapped, id);
	*id = (struct np_file_id) { .major = UINT32_MAX,
				    .minor = (unsigned int)st->st_dev,
				    .inode = st->st_ino };
	return 0;
}

static int add_path(struct np_file_pages *f, const struct np_machine *m, const char *path,
		    struct np_err *err)
{
	struct np_mapped_file mapped;
	struct np_file *file = NULL;
	struct np_file_id id;
	struct stat st;
	int e = np_mapped_file_open(&mapped, path, err);

	if (!e) {
		e = stat(path, &st) ? -errno : identify(&mapped, &st, &id);
		if (!e && !find_file(f, &id)) {
			file = add_file(f, m, &id, path);
			e = file ? np_mapped_file_count(&mapped, m, file->pages) : -ENOMEM;
		}
		if (e)
			np_fail(err, e, "the pages of %s cannot be counted: %s", mapped.name,
				strerror(-e));
	}
	if (file) {
		file->named = true;
		file->device = st.st_dev;
		file->born = mapped.born;
	}
	np_mapped_file_close(&mapped);
	return e;
}

static int see_range(const struct np_file_range *range, void *arg)
{
	struct scan *s = arg;
	struct np_file *file = find_file(s->f, &range->id);
	dev_t device;

	if (!file && s->add) {
		file = add_file(s->f, s->m, &range->id, range->path);
		if (!file)
			return -ENOMEM;
		file->device = np_file_range_device(s->pid, range);
	}
	if (!file)
		return 0;
	device = file->device ? np_file_range_device(s->pid, range) : 0;
	if (device && device != file->device)
		return 0; /* of another subvolume */
	if (np_grow(&s->known, s->n_known, sizeof(*s->known)))
		return -ENOMEM;
	s->known[s->n_known++] = (struct known) { range->start, file };
	return 0;
}

/* NULL without memory. Several ranges of a process may be of one file. */
static struct np_file_reader *get_reader(struct np_file *file, const struct scan *s)
{
	char text[NP_MAPPING_POLICY];
	struct np_file_reader *last = file->n_readers ? &file->reader[file->n_readers - 1] : NULL;

	if (last && last->pid == s->pid)
		return last;
	if (np_grow(&file->reader, file->n_readers, sizeof(*file->reader)))
		return NULL;
	last = &file->reader[file->n_readers];
	last->pid = s->pid;
	last->chosen = *np_mempolicy_chosen(s->policy, text, sizeof(text));
	last->pages = calloc(s->m->n_nodes, sizeof(*last->pages));
	if (!last->pages)
		return NULL;
	file->n_readers++;
	return last;
}

static int add_pages(const struct np_mapping *map, void *arg)
{
	struct scan *s = arg;
	struct np_file_reader *reader;

	while (s->at < s->n_known && s->known[s->at].start < map->start)
		s->at++;
	/* Its own copies of pages that it has written to are told apart where the whole range is of them. */
	if (s->at == s->n_known || s->known[s->at].start != map->start || np_mapping_anonymous(map))
		return 0;
	s->known[s->at].file->chosen |= np_mapping_chosen(map->policy, s->policy);
	reader = get_reader(s->known[s->at].file, s);
	if (!reader)
		return -ENOMEM;
	for (size_t i = 0; i < s->m->n_nodes; i++)
		reader->pages[i] += map->pages[s->m->node[i].id];
	return 0;
}

static int scan_process(struct scan *s, pid_t pid)
{
	struct np_mapping first = { 0 };
	int e;

	s->pid = pid;
	s->n_known = s->at = 0;
	e = np_file_ranges(pid, see_range, s);
	if (e || !s->n_known)
		return e;
	e = np_mapping_first(np_proc_memory_thread(pid), &first);
	strcpy(s->policy, first.policy);
	return e ? e : np_mappings(pid, s->m->page_size, add_pages, s);
}

static void note_denied(struct np_file_pages *f, int e, pid_t pid)
{
	if (e != -EACCES && e != -EPERM)
		return;
	f->denied++;
	f->denied_pid = pid;
}

/* Those that are named say which files. 0, or -errno with one line in err. */
static int scan_named(struct scan *s, const pid_t *pids, size_t n, bool strict, struct np_err *err)
{
	struct np_proc_stat st;

	s->add = true;
	for (size_t i = 0; i < n; i++) {
		int e = strict ? np_proc_check(pids[i], false, &st, err) : 0;

		if (e)
			return e;
		e = scan_process(s, pids[i]);
		if (e == -ENOMEM)
			return np_fail(err, e, "out of memory");
		if (!strict)
			note_denied(s->f, e, pids[i]);
		else if (e == -EACCES || e == -EPERM)
			return np_proc_denied(pids[i], "read the files of", err);
		else if (e)
			return np_fail(err, e, "the files of process %d (%s) cannot be read: %s",
				       pids[i], st.comm,
				       e == -ESRCH ? "it has just exited" : strerror(-e));
	}
	return 0;
}

/* All other processes, of which those that may not be read are counted. named is in ascending order. */
static int scan_others(struct scan *s, const pid_t *named, size_t n_named, struct np_err *err)
{
	pid_t *all = NULL;
	size_t n = 0;
	int e = np_proc_all(&all, &n);

	s->add = false;
	if (e)
		return np_fail(err, e, "/proc cannot be read: %s", strerror(-e));
	for (size_t i = 0; s->f->n && i < n && e != -ENOMEM; i++) {
		if (all[i] == getpid() ||
		    bsearch(&all[i], named, n_named, sizeof(*named), compare_pids))
			continue;
		e = scan_process(s, all[i]);
		note_denied(s->f, e, all[i]);
	}
	free(all);
	return e == -ENOMEM ? np_fail(err, e, "out of memory") : 0;
}

/* Of a file that was named the pages have been counted. */
static void count_file(struct np_file *file, const struct np_machine *m)
{
	struct np_mapped_file mapped = { 0 };
	struct np_err err;

	if (file->named)
		return;
	file->error = np_file_open(file, &mapped, &err);
	if (!file->error)
		file->error = np_mapped_file_count(&mapped, m, file->pages);
	file->born = mapped.born;
	np_mapped_file_close(&mapped);
	for (size_t i = 0; file->error && i < m->n_nodes; i++) {
		file->pages[i] = 0;
		for (size_t k = 0; k < file->n_readers; k++)
			if (file->reader[k].pages[i] > file->pages[i])
				file->pages[i] = file->reader[k].pages[i];
	}
}

/* Where every reader runs, each once. */
static int locate_readers(struct np_file_pages *f, const struct np_machine *m, struct np_err *err)
{
	size_t n = 0;
	pid_t *pids;
	int e;

	for (size_t i = 0; i < f->n; i++)
		n += f->file[i]->n_readers;
	pids = calloc(n + 1, sizeof(*pids));
	if (!pids)
		return np_fail(err, -ENOMEM, "out of memory");
	n = 0;
	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->file[i]->n_readers; k++)
			pids[n++] = f->file[i]->reader[k].pid;
	e = np_tasks_locate(&f->readers, m, pids, sort_pids(pids, n), err);
	free(pids);
	return e;
}

uint64_t np_file_total(const struct np_file *file, const struct np_machine *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		sum += file->pages[i];
	return sum;
}

static int more_pages_first(const void *a, const void *b, void *m)
{
	const struct np_file *x = *(struct np_file *const *)a, *y = *(struct np_file *const *)b;
	uint64_t x_pages = np_file_total(x, m), y_pages = np_file_total(y, m);

	return x_pages < y_pages ? 1 : x_pages > y_pages ? -1 : strcmp(x->path, y->path);
}

static int scan_all(struct scan *s, const pid_t *pids, size_t n, bool strict, struct np_err *err)
{
	pid_t *named = calloc(n + 1, sizeof(*named));
	int e;

	if (!named)
		return np_fail(err, -ENOMEM, "out of memory");
	memcpy(named, pids, n * sizeof(*named));
	n = sort_pids(named, n);
	e = scan_named(s, named, n, strict, err);
	if (!e)
		e = scan_others(s, named, n, err);
	free(named);
	return e;
}

int np_file_pages_read(struct np_file_pages *f, const struct np_machine *m, char *const *paths,
		       size_t n_paths, const pid_t *pids, size_t n_pids, bool strict,
		       struct np_err *err)
{
	struct scan s = { .f = f, .m = m };
	int e = 0;

	memset(f, 0, sizeof(*f));
	for (size_t i = 0; !e && i < n_paths; i++)
		e = add_path(f, m, paths[i], err);
	if (!e)
		e = scan_all(&s, pids, n_pids, strict, err);
	free(s.known);
	if (e)
		return e;
	for (size_t i = 0; i < f->n; i++)
		count_file(f->file[i], m);
	if (f->n)
		qsort_r(f->file, f->n, sizeof(*f->file), more_pages_first, (void *)m);
	return locate_readers(f, m, err);
}

static void keep(void *file)
{
}

void np_file_pages_free(struct np_file_pages *f)
{
	tdestroy(f->by_id, keep);
	for (size_t i = 0; i < f->n; i++)
		free_file(f->file[i]);
	free(f->file);
	np_tasks_free(&f->readers);
	memset(f, 0, sizeof(*f));
}

static int compare_task(const void *pid, const void *task)
{
	return compare_pids(pid, &((const struct np_task *)task)->pid);
}

long np_file_reader_row(const struct np_file_pages *f, const struct np_file_reader *reader)
{
	const struct np_task *task = f->readers.task, *found;

	found = task ? bsearch(&reader->pid, task, f->readers.n, sizeof(*task), compare_task) :
		       NULL;
	return found ? found - task : -1;
}

double np_file_remote_share(const struct np_file_pages *f, const struct np_file *file,
			    const struct np_machine *m)
{
	uint64_t all = 0, remote = 0;

	for (size_t i = 0; i < file->n_readers; i++) {
		long row = np_file_reader_row(f, &file->reader[i]);
		int node = row < 0 ? NP_NODE_NONE : f->readers.task[row].node;

		for (size_t k = 0; node != NP_NODE_NONE && k < m->n_nodes; k++) {
			all += file->reader[i].pages[k];
			remote += (int)k == node ? 0 : file->reader[i].pages[k];
		}
	}
	return all ? (double)remote / (double)all : -1;
}
