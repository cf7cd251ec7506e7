// SPDX-License-Identifier: GPL-2.0-only
#include "task_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../policies/plan/plan.h"
#include "../lib/base/cpulist.h"
#include "../lib/counters/counters.h"
#include "../lib/host/exclude.h"
#include "cmd.h"

static const char *const sort_name[] = {
	[NP_SORT_COST] = "cost",   [NP_SORT_BUSY] = "busy",	  [NP_SORT_REMOTE] = "remote",
	[NP_SORT_MPKI] = "mpki",   [NP_SORT_PENALTY] = "penalty", [NP_SORT_LOCAL] = "local",
	[NP_SORT_PAGES] = "pages", [NP_SORT_PID] = "pid",
};

/* Of the column "most". */
#define MOST_NODES 3
#define MOST_WIDTH 24

#define N_SORTS (sizeof(sort_name) / sizeof(sort_name[0]))

const char *np_sort_name(enum np_sort sort)
{
	return (size_t)sort < N_SORTS ? sort_name[sort] : NULL;
}

int np_arg_sort(const char *word, enum np_sort *sort)
{
	for (size_t i = 0; i < N_SORTS; i++)
		if (!strcmp(sort_name[i], word)) {
			*sort = (enum np_sort)i;
			return 0;
		}
	return np_failed(ECANCELED,
			 "no order \"%s\"; there are cost, busy, remote, mpki, penalty, local, "
			 "pages, pid",
			 word);
}

static const struct np_count *counted(const struct np_task_table *v, size_t task, enum np_event e)
{
	const struct np_count *c = v->t->counted ? &v->t->counted[task].event[e] : NULL;

	return c && c->source && v->t->counted[task].seconds > 0 ? c : NULL;
}

/* Lines a second from memory of other nodes; negative: not known. */
static double remote_rate(const struct np_task_table *v, size_t task)
{
	const struct np_count *c = counted(v, task, NP_REMOTE_DRAM);

	return c ? c->value / v->t->counted[task].seconds : -1;
}

static uint64_t pages(const struct np_task_table *v, size_t task, bool elsewhere)
{
	const struct np_task *t = &v->t->task[task];
	uint64_t sum = 0;

	for (size_t i = 0; i < v->m->n_nodes; i++)
		if (!elsewhere || (int)i != t->node)
			sum += t->pages[i];
	return sum;
}

static uint64_t shm_pages(const struct np_task_table *v, size_t task)
{
	const uint64_t *shm = v->t->task[task].shm_pages;
	uint64_t sum = 0;

	for (size_t i = 0; shm && i < v->m->n_nodes; i++)
		sum += shm[i];
	return sum;
}

/*
 * The cost of a task's remote memory: remote accesses a second * penalty (1 when
 * unknown). Where nothing counts, pages on other nodes * CPUs kept busy * penalty,
 * which always ranks below every counted cost.
 */
static double task_cost(const struct np_task_table *v, size_t task)
{
	const struct np_task *t = &v->t->task[task];
	double penalty = t->penalty_source == NP_PROVENANCE_NONE ? 1 : t->penalty;
	double rate = remote_rate(v, task);

	if (rate >= 0)
		return rate * penalty;
	/* Below zero, so after all that were counted; more pages nearer to it. */
	return -1 / (1 + (double)pages(v, task, true) * v->t->busy[task] * penalty);
}

static double key(const struct np_task_table *v, size_t task)
{
	const struct np_task *t = &v->t->task[task];
	double locality;

	switch (v->sort) {
	case NP_SORT_COST:
		return task_cost(v, task);
	case NP_SORT_BUSY:
		return v->t->busy[task];
	case NP_SORT_REMOTE:
		return remote_rate(v, task);
	case NP_SORT_MPKI:
		return t->mpki_source == NP_PROVENANCE_NONE ? -1 : t->mpki;
	case NP_SORT_PENALTY:
		return t->penalty_source == NP_PROVENANCE_NONE ? -1 : t->penalty;
	case NP_SORT_LOCAL: /* the least local first; without memory last */
		locality = np_task_locality(v->m, t);
		return locality < 0 ? -2 : -locality;
	case NP_SORT_PAGES:
		return (double)pages(v, task, false);
	case NP_SORT_PID:
		return -(double)t->pid;
	}
	return 0;
}

struct keyed {
	double key;
	size_t task;
};

/* Equal ones keep their order. */
static int larger_first(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->task > y->task ? 1 : -1;
}

static bool wanted(const struct np_task_table *v, size_t task)
{
	const struct np_task *t = &v->t->task[task];

	if (v->comm && !np_name_matches(v->comm, t->comm))
		return false;
	if (v->busy && !(v->t->busy[task] > 0))
		return false;
	return v->node < 0 || t->node == v->node || t->pages[v->node] > 0;
}

int np_task_table_arrange(struct np_task_table *v)
{
	struct keyed *k = calloc(v->t->n + 1, sizeof(*k));

	free(v->row);
	v->row = calloc(v->t->n + 1, sizeof(*v->row));
	v->n = 0;
	if (!k || !v->row) {
		free(k);
		return -ENOMEM;
	}
	for (size_t i = 0; i < v->t->n; i++)
		if (wanted(v, i))
			k[v->n++] = (struct keyed) { key(v, i), i };
	qsort(k, v->n, sizeof(*k), larger_first);
	for (size_t i = 0; i < v->n; i++)
		v->row[i] = k[i].task;
	free(k);
	return 0;
}

void np_task_table_free(struct np_task_table *v)
{
	free(v->row);
	v->row = NULL;
	v->n = 0;
}

struct text {
	char *line;
	size_t len, used;
	size_t cut; /* cells that did not fit: none after the first of them is tried */
};

/* One more cell of the line, a blank before it. */
__attribute__((format(printf, 2, 3))) static void cell(struct text *t, const char *format, ...)
{
	char text[NP_LIST_LEN + 64]; /* the longest cell: a list, with its column's padding */
	va_list ap;
	size_t n;

	va_start(ap, format);
	n = (size_t)vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (n >= sizeof(text))
		n = sizeof(text) - 1;
	if (t->cut || t->used + n + 2 > t->len) {
		t->cut++;
		return;
	}
	if (t->used)
		t->line[t->used++] = ' ';
	memcpy(t->line + t->used, text, n + 1);
	t->used += n;
}

static void known(struct text *t, int width, double value, bool is)
{
	if (is)
		cell(t, "%*.2f", width, value);
	else
		cell(t, "%*s", width, "-");
}

static void print_node(const struct np_task_table *v, size_t i, struct text *t)
{
	int node = v->t->task[i].node;

	if (node == NP_NODE_NONE)
		cell(t, "%4s", "-");
	else
		cell(t, "%4d", v->m->node[node].id);
}

static void print_local(const struct np_task_table *v, size_t i, struct text *t)
{
	double locality = np_task_locality(v->m, &v->t->task[i]);

	if (locality < 0)
		cell(t, "%6s", "-");
	else
		cell(t, "%5.1f%%", locality * 100);
}

static void print_rate(const struct np_task_table *v, size_t i, struct text *t)
{
	double r = remote_rate(v, i);

	if (r < 0)
		cell(t, "%7s", "-");
	else if (r < 1e4)
		cell(t, "%7.0f", r);
	else if (r < 1e7)
		cell(t, "%6.0fk", r / 1e3);
	else
		cell(t, "%6.0fM", r / 1e6);
}

static void print_pid(const struct np_task_table *v, size_t i, struct text *t)
{
	cell(t, "%7d", v->t->task[i].pid);
}

static void print_command(const struct np_task_table *v, size_t i, struct text *t)
{
	cell(t, "%-15s", v->t->task[i].comm);
}

static void print_threads(const struct np_task_table *v, size_t i, struct text *t)
{
	cell(t, "%4u", v->t->task[i].threads);
}

static void print_busy(const struct np_task_table *v, size_t i, struct text *t)
{
	cell(t, "%5.2f", v->t->busy[i]);
}

static void print_ipc(const struct np_task_table *v, size_t i, struct text *t)
{
	known(t, 5, v->t->task[i].ipc.value, v->t->task[i].ipc.source != NP_PROVENANCE_NONE);
}

static void print_mpki(const struct np_task_table *v, size_t i, struct text *t)
{
	known(t, 7, v->t->task[i].mpki, v->t->task[i].mpki_source != NP_PROVENANCE_NONE);
}

static void print_penalty(const struct np_task_table *v, size_t i, struct text *t)
{
	known(t, 6, v->t->task[i].penalty, v->t->task[i].penalty_source != NP_PROVENANCE_NONE);
}

static void print_from(const struct np_task_table *v, size_t i, struct text *t)
{
	enum np_provenance source = v->t->task[i].penalty_source;

	cell(t, "%-8s", source == NP_PROVENANCE_NONE ? "-" : np_provenance_name(source));
}

static void print_shm(const struct np_task_table *v, size_t i, struct text *t)
{
	cell(t, "%8llu", (unsigned long long)shm_pages(v, i));
}

static void print_pages(const struct np_task_table *v, size_t i, struct text *t)
{
	for (size_t k = 0; k < v->m->n_nodes; k++)
		cell(t, "%8llu", (unsigned long long)v->t->task[i].pages[k]);
}

static void head_pages(const struct np_task_table *v, struct text *t)
{
	for (size_t k = 0; k < v->m->n_nodes; k++)
		cell(t, "%7s%d", "N", v->m->node[k].id);
}

/*
 * The node with the most pages of those that have fewer than this one, or as many and a higher
 * index.
 */
static size_t next_node(const uint64_t *pages, size_t n_nodes, size_t after)
{
	size_t next = n_nodes;

	for (size_t k = 0; k < n_nodes; k++) {
		bool comes_later = after == n_nodes || pages[k] < pages[after] ||
				   (pages[k] == pages[after] && k > after);

		if (comes_later && pages[k] && (next == n_nodes || pages[k] > pages[next]))
			next = k;
	}
	return next;
}

/* NODE:PAGES of the few nodes that have the most, and how many others have some. */
static void print_most(const struct np_task_table *v, size_t i, struct text *t)
{
	const uint64_t *pages = v->t->task[i].pages;
	size_t n = v->m->n_nodes, k = next_node(pages, n, n), shown = 0, others = 0, used = 0;
	char text[MOST_WIDTH * 2];

	text[0] = '\0';
	for (; k < n; k = next_node(pages, n, k)) {
		if (shown == MOST_NODES) {
			others++;
			continue;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d:%llu",
					 shown ? " " : "", v->m->node[k].id,
					 (unsigned long long)pages[k]);
		shown++;
	}
	if (others)
		snprintf(text + used, sizeof(text) - used, " +%zu", others);
	cell(t, "%-*s", MOST_WIDTH, shown ? text : "-");
}

static void print_cpus(const struct np_task_table *v, size_t i, struct text *t)
{
	char list[NP_LIST_LEN];

	cell(t, " %s", np_list_format(v->t->cpus[i], list, sizeof(list)));
}

static void print_memory(const struct np_task_table *v, size_t i, struct text *t)
{
	const char *memory = v->t->task[i].memory;

	cell(t, "%-14s", memory[0] ? memory : "-");
}

static const struct column {
	const char *name, *heading; /* the heading as wide as the cells; NULL: head_pages() */
	void (*print)(const struct np_task_table *v, size_t task, struct text *t);
} columns[] = {
	/* clang-format off */
	{ "pid", "    PID", print_pid },
	{ "command", "COMMAND        ", print_command },
	{ "threads", " THR", print_threads },
	{ "busy", " BUSY", print_busy },
	{ "node", "NODE", print_node },
	{ "local", " LOCAL", print_local },
	{ "ipc", "  IPC", print_ipc },
	{ "mpki", "   MPKI", print_mpki },
	{ "remote", "  REM/s", print_rate },
	{ "penalty", "PENLTY", print_penalty },
	{ "from", "FROM    ", print_from },
	{ "shm", "     SHM", print_shm },
	{ "pages", NULL, print_pages },
	{ "most", "NODE:PAGES              ", print_most },
	{ "memory", "MEMORY        ", print_memory },
	{ "cpus", " CPUS", print_cpus },
	/* clang-format on */
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))
_Static_assert(N_COLUMNS == NP_COLUMNS, "np_task_table.column has room for each column once");

static const struct column *find_column(const char *word, size_t len)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (strlen(columns[i].name) == len && !memcmp(columns[i].name, word, len))
			return &columns[i];
	return NULL;
}

int np_arg_columns(const char *words, struct np_task_table *v)
{
	v->n_columns = 0;
	for (const char *word = words; *word || word == words;) {
		size_t len = strcspn(word, ",");
		const struct column *c = find_column(word, len);

		if (!c)
			return np_failed(ECANCELED,
					 "no column \"%.*s\"; there are pid, "
					 "command, threads, busy, node, local, ipc, mpki, remote, "
					 "penalty, from, shm, pages, most, memory, cpus",
					 (int)len, word);
		if (v->n_columns == NP_COLUMNS)
			return np_failed(ECANCELED, "more columns than there are in \"%s\"", words);
		v->column[v->n_columns++] = (unsigned char)(c - columns);
		word += len + (word[len] == ',' && word[len + 1]);
	}
	return 0;
}

/* By default: all columns, with pages by node in the form that suits the number of nodes. */
static bool is_shown(const struct np_task_table *v, size_t column)
{
	bool most = columns[column].print == print_most;

	return v->n_columns || (!most && columns[column].print != print_pages) ||
	       most == (v->m->n_nodes > NP_VIEW_NODES);
}

static size_t print_line(const struct np_task_table *v, const size_t *task, char *line, size_t len)
{
	struct text t = { line, len, 0, 0 };

	line[0] = '\0';
	for (size_t i = 0; i < (v->n_columns ? v->n_columns : N_COLUMNS); i++) {
		size_t column = v->n_columns ? v->column[i] : i;

		if (!is_shown(v, column))
			continue;
		if (task)
			columns[column].print(v, *task, &t);
		else if (columns[column].heading)
			cell(&t, "%s", columns[column].heading);
		else
			head_pages(v, &t);
	}
	return t.cut;
}

size_t np_task_table_heading(const struct np_task_table *v, char *line, size_t len)
{
	return print_line(v, NULL, line, len);
}

void np_task_table_line(const struct np_task_table *v, size_t row, char *line, size_t len)
{
	print_line(v, &v->row[row], line, len);
}
