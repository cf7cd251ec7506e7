// SPDX-License-Identifier: GPL-2.0-only
/* top: the table of ps, refreshed in the terminal. */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/base/clock.h"
#include "../lib/files/penalty.h"
#include "../lib/host/cgroup.h"
#include "arg_units.h"
#include "cmd_args.h"
#include "task_table.h"

#define INTERVAL_US	  2000000
#define MIN_INTERVAL_US	  100000
#define MAX_INTERVAL_US	  3600000000u
#define COUNT_TASKS	  64
#define LONGEST_SAMPLE_MS 500
#define LINE		  16384

enum { KEY_COLUMNS = NP_KEY_OWN };

struct top {
	unsigned int interval_us;
	const char *cgroup;
	bool all_nodes; /* a line for each, also where there are many */
	struct np_task_table view;
	struct np_machine m;
	struct np_tasks t;
	struct np_err why; /* why nothing is counted; "" where something is */
	size_t first;	   /* row at the top of the table */
};

static const struct argp_option options[] = {
	{ "interval", 'i', "TIME", 0, "Read anew after this time (2s)", 0 },
	{ "sort", 'S', "KEY", 0, "As ps has it (cost)", 0 },
	{ "columns", KEY_COLUMNS, "LIST", 0, "As ps has it", 0 },
	NP_CGROUP_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (key) {
	case 'i':
		return np_arg_microseconds(arg, "--interval", MIN_INTERVAL_US, MAX_INTERVAL_US,
					   &top->interval_us);
	case 'S':
		return np_arg_sort(arg, &top->view.sort);
	case KEY_COLUMNS:
		return np_arg_columns(arg, &top->view);
	case NP_KEY_CGROUP:
		top->cgroup = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Shows what ps shows, live. Keys: q leaves; s takes the next order; a shows busy tasks "
	       "only, or all; n shows each node, or "
	       "the first few; arrows, PgUp, PgDn, Home and End move; any other key reads anew.",
};

/* Restores the screen first. */
static int fail(const char *err)
{
	if (stdscr)
		endwin();
	return np_failed(NP_EXIT_FAIL, "%s", err);
}

/* The cgroup is listed anew each time: its tasks come and go. */
static int read_tasks(struct top *top, struct np_err *err)
{
	pid_t *pids = NULL;
	size_t n = 0;
	int e;

	if (!top->cgroup)
		return np_tasks_read(&top->t, &top->m, NULL, 0, err);
	e = np_cgroup_tasks(top->cgroup, &pids, &n, err);
	if (!e)
		e = np_tasks_read_some(&top->t, &top->m, pids, n, err);
	free(pids);
	return e;
}

static int read_all(struct top *top)
{
	unsigned int sample_ms = top->interval_us / 4000;
	struct np_err err;

	if (sample_ms > LONGEST_SAMPLE_MS)
		sample_ms = LONGEST_SAMPLE_MS;
	np_tasks_free(&top->t);
	np_machine_free(&top->m);
	top->why.text[0] = '\0';
	if (np_machine_read(&top->m, "", &err) || read_tasks(top, &err))
		return fail(err.text);
	np_tasks_watch(&top->t, &top->m, COUNT_TASKS, sample_ms, &top->why);
	if (np_penalties_apply(&top->t, &err))
		return fail(err.text);
	top->view.m = &top->m;
	top->view.t = &top->t;
	return NP_EXIT_OK;
}

static double busy_on(const struct top *top, int node)
{
	double busy = 0;

	for (size_t i = 0; i < top->t.n; i++)
		if (top->t.task[i].node == node)
			busy += top->t.busy[i];
	return busy;
}

static void title_line(const struct top *top, char *line, size_t len)
{
	struct np_err sampled = { "" };
	bool any = np_tasks_were_sampled(&top->t, &sampled);

	snprintf(line, len, "numaplace top - %s (%s)  %zu tasks, %zu shown, by %s%s%s%s%s",
		 top->m.name, np_platform_name(np_machine_platform("")), top->t.n, top->view.n,
		 np_sort_name(top->view.sort), top->why.text[0] ? "  " : "", top->why.text,
		 any ? "  " : "", sampled.text);
}

static void node_line(const struct top *top, size_t k, char *line, size_t len)
{
	const struct np_node *node = &top->m.node[k];

	snprintf(line, len, "node %-3d %3u CPUs, %6.2f busy, memory %8.0f MiB, %8.0f free",
		 node->id, node->cpus, busy_on(top, (int)k), (double)node->mem_total / (1 << 20),
		 (double)node->mem_free / (1 << 20));
}

/* With many nodes the last line says that there are more. */
static size_t node_lines(const struct top *top)
{
	return top->all_nodes || top->m.n_nodes <= NP_VIEW_NODES ? top->m.n_nodes : NP_VIEW_NODES;
}

static void head_line(const struct top *top, size_t k, char *line, size_t len)
{
	if (node_lines(top) < top->m.n_nodes && k == NP_VIEW_NODES - 1)
		snprintf(line, len, "%zu more nodes: n shows all", top->m.n_nodes - k);
	else
		node_line(top, k, line, len);
}

static void draw_line(int y, const char *line, int attributes)
{
	int width = getmaxx(stdscr);

	attrset((attr_t)attributes);
	mvaddnstr(y, 0, line, width);
	if (attributes)
		for (int x = getcurx(stdscr); getcury(stdscr) == y && x < width; x++)
			mvaddch(y, x, ' ');
	attrset(A_NORMAL);
}

static size_t table_height(const struct top *top)
{
	int height = getmaxy(stdscr) - 2 - (int)node_lines(top) - 1;

	return height > 0 ? (size_t)height : 0;
}

/* One less than the width: a character in the last corner would scroll some terminals. */
static void draw(struct top *top)
{
	static const char keys[] = "q quit  s order  a all or busy  n nodes  arrows PgUp PgDn move";
	char line[LINE];
	size_t width = (size_t)getmaxx(stdscr), rows = table_height(top), y = 0, cut;

	if (width >= sizeof(line))
		width = sizeof(line) - 1;
	if (top->first + rows > top->view.n)
		top->first = top->view.n > rows ? top->view.n - rows : 0;
	erase();
	title_line(top, line, sizeof(line));
	draw_line((int)y++, line, A_BOLD);
	for (size_t k = 0; k < node_lines(top); k++) {
		head_line(top, k, line, sizeof(line));
		draw_line((int)y++, line, 0);
	}
	cut = np_task_table_heading(&top->view, line, width);
	draw_line((int)y++, line, A_REVERSE);
	for (size_t i = 0; i < rows && top->first + i < top->view.n; i++) {
		np_task_table_line(&top->view, top->first + i, line, width);
		draw_line((int)y++, line, 0);
	}
	snprintf(line, sizeof(line), cut ? "%s  columns cut: %zu (see --columns)" : "%s", keys,
		 cut);
	draw_line(getmaxy(stdscr) - 1, line, A_DIM);
	refresh();
}

static void move_by(struct top *top, long rows)
{
	if (rows < 0 && top->first < (size_t)-rows)
		top->first = 0;
	else
		top->first += (size_t)rows;
}

/* Carries out a key. False: read the tasks again. */
static bool obey(struct top *top, int key)
{
	long page = (long)table_height(top);

	switch (key) {
	case 'q':
		np_stopped = 1;
		return true;
	case 's':
		top->view.sort = np_sort_name(top->view.sort + 1) ? top->view.sort + 1 : 0;
		break;
	case 'n':
		top->all_nodes = !top->all_nodes;
		return true;
	case 'a':
		top->view.busy = !top->view.busy;
		break;
	case KEY_UP:
		move_by(top, -1);
		break;
	case KEY_DOWN:
		move_by(top, 1);
		break;
	case KEY_PPAGE:
		move_by(top, -page);
		break;
	case KEY_NPAGE:
		move_by(top, page);
		break;
	case KEY_HOME:
		top->first = 0;
		break;
	case KEY_END:
		top->first = top->view.n;
		break;
	case KEY_RESIZE:
		break;
	default:
		return false;
	}
	return !np_task_table_arrange(&top->view);
}

/* Without a controlling terminal no signal reports the hang-up, and no key can come. */
static bool is_hung_up(void)
{
	struct pollfd terminal = { .fd = STDIN_FILENO };

	return poll(&terminal, 1, 0) > 0 && terminal.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* Handles keys until the next reading. */
static void listen(struct top *top, double until)
{
	double left;

	while (!np_stopped && (left = until - np_clock(CLOCK_MONOTONIC)) > 0) {
		int key;

		timeout(left > 60 ? 60000 : (int)(left * 1000) + 1);
		key = getch();
		if (key == ERR && is_hung_up())
			np_stopped = SIGHUP;
		if (key == ERR)
			continue;
		if (!obey(top, key))
			return;
		draw(top);
	}
}

static int live(struct top *top)
{
	int status = NP_EXIT_OK;

	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin))
		return np_failed(NP_EXIT_CANNOT,
				 "top: terminal \"%s\" is not known; `numaplace ps` needs none",
				 getenv("TERM") ? getenv("TERM") : "");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	while (!np_stopped && !status) {
		double began = np_clock(CLOCK_MONOTONIC);

		status = read_all(top);
		if (!status && np_task_table_arrange(&top->view))
			status = NP_EXIT_FAIL;
		if (status)
			break;
		draw(top);
		listen(top, began + top->interval_us / 1e6);
	}
	endwin();
	return status;
}

int cmd_top(int argc, char **argv)
{
	struct top top = { .interval_us = INTERVAL_US, .view.node = -1 };
	int status = np_args(&argp, argc, argv, 0, &top);

	np_tasks_sample_above(NP_VIEW_SAMPLE_ABOVE);
	if (!status && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		status = np_failed(NP_EXIT_CANNOT,
				   "top: this is no terminal; `numaplace ps` prints the same once");
	np_stop_by_signals(0);
	if (!status)
		status = live(&top);
	np_task_table_free(&top.view);
	np_tasks_free(&top.t);
	np_machine_free(&top.m);
	return status;
}
