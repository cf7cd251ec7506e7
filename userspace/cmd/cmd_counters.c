// SPDX-License-Identifier: GPL-2.0-only
/* counters: hardware counters of memory accesses, interval by interval. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/base/clock.h"
#include "../lib/host/proc.h"
#include "arg_units.h"
#include "cmd_args.h"
#include "counters_table.h"
#include "spawn.h"

#define DEFAULT_MS 1000
#define MAX_MS	   3600000
#define MAX_COUNT  1000000000

struct counters_args {
	struct np_pids pids;
	const char *cpus;
	unsigned long interval_ms, count;
	bool json, table;
	char **command;
};

enum { KEY_TABLE = NP_KEY_OWN, KEY_PID };

static const struct argp_option options[] = {
	{ "pid", KEY_PID, "PID", 0,
	  "Count for this task, all threads and those it starts; may be repeated", 0 },
	{ "cpus", 'C', "LIST", 0, "Count on these CPUs (all)", 0 },
	{ "interval", 'i', "TIME", 0,
	  "Print each time that this time has passed (1s; with a command: at its end)", 0 },
	{ "count", 'n', "N", 0, "End after N intervals", 0 },
	{ "json", 'j', NULL, 0,
	  "Print one JSON object an interval, each on a line; a first one without rows says that "
	  "counting has begun",
	  0 },
	{ "table", KEY_TABLE, NULL, 0, "Print which events are counted on which processor", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct counters_args *a = state->input;

	switch (key) {
	case KEY_PID:
		return np_arg_add_pid(arg, &a->pids);
	case 'C':
		a->cpus = arg;
		return 0;
	case 'i':
		return np_arg_milliseconds(arg, "--interval", MAX_MS, &a->interval_ms);
	case 'n':
		return np_arg_number(arg, "--count", MAX_COUNT, &a->count);
	case 'j':
		a->json = true;
		return 0;
	case KEY_TABLE:
		a->table = true;
		return 0;
	case ARGP_KEY_ARG:
		a->command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[-- COMMAND [ARGUMENT..]]",
	.doc = "Prints cycles, instructions, last-level-cache misses and accesses to local and "
	       "remote memory, for each CPU, its node and the machine, or for tasks, or for a "
	       "command that it starts.\v"
	       "SOURCE is what counted: lab (the simulated machine) or perf (the processor). "
	       "What cannot be counted here is \"-\", null in JSON, with the reason "
	       "on standard error or beside it. COUNTED below 100% says that the processor's counters were shared in turns and the numbers "
	       "scaled up. Ends after --count intervals, with the tasks, or by Ctrl-C. A command "
	       "is always waited for: signals are handed on to it, and its exit status is this "
	       "one's.",
};

struct counting {
	const struct counters_args *args;
	struct np_machine m;
	struct np_subject *subject;
	size_t n;
	struct np_counters counters;
	struct np_reading *before, *after;
	struct np_counters_row *row;
	struct np_counters_table rows;
	struct np_child child;
	sigset_t unblocked;
};

static volatile sig_atomic_t stopped, command;

/* The command's end is the end of counting. A signal from the terminal reaches it directly. */
static void stop(int signal, siginfo_t *info, void *context)
{
	if (!command)
		stopped = signal;
	else if (info->si_code <= 0)
		kill(command, signal);
}

/* Signals are unblocked only during the wait, so that an interval is printed whole. */
static void catch_signals(sigset_t *unblocked)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_sigaction = stop, .sa_flags = SA_SIGINFO };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigaddset(&blocked, ours[i]);
	sigprocmask(SIG_BLOCK, &blocked, unblocked);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		np_catch(ours[i], &action);
	sigaction(SIGCHLD, &(struct sigaction) { .sa_handler = SIG_DFL }, NULL);
}

static int choose_cpus(struct counting *c)
{
	struct np_node_args nodes;
	struct bitmask *cpus;
	struct np_err err;

	np_node_args_open(&nodes, &c->m);
	cpus = np_list_parse(c->args->cpus ? c->args->cpus : "all", &nodes.cpu, &err);
	np_node_args_close(&nodes);
	if (!cpus)
		return np_usage("counters: %s", err.text);
	for (unsigned int cpu = 0; cpu < c->m.n_cpus; cpu++)
		if (numa_bitmask_isbitset(cpus, cpu))
			c->subject[c->n++] = (struct np_subject) { .cpu = (int)cpu };
	numa_bitmask_free(cpus);
	return NP_EXIT_OK;
}

static int choose_tasks(struct counting *c)
{
	struct np_proc_stat st;
	struct np_err err;

	for (size_t i = 0; i < c->args->pids.n; i++) {
		pid_t pid = c->args->pids.pid[i];

		if (np_proc_check(pid, false, &st, &err))
			return np_failed(NP_EXIT_FAIL, "%s", err.text);
		c->subject[c->n++] = (struct np_subject) { .cpu = -1, .pid = pid };
	}
	return NP_EXIT_OK;
}

static int choose(struct counting *c)
{
	size_t room = c->m.n_cpus + c->args->pids.n + 1;
	int status = NP_EXIT_OK;

	c->subject = calloc(room, sizeof(*c->subject));
	c->before = calloc(room, sizeof(*c->before));
	c->after = calloc(room, sizeof(*c->after));
	c->row = calloc(room + c->m.n_nodes + 1, sizeof(*c->row));
	if (!c->subject || !c->before || !c->after || !c->row)
		return np_failed(NP_EXIT_FAIL, "out of memory");
	if (c->args->command) {
		status = np_child_start(&c->child, c->args->command,
					&(struct np_child_how) { .mask = &c->unblocked });
		c->subject[c->n++] = (struct np_subject) { .cpu = -1, .pid = c->child.pid };
		return status;
	}
	return c->args->pids.n ? choose_tasks(c) : choose_cpus(c);
}

static int open_counters(struct counting *c)
{
	struct np_err err;
	int e = np_counters_open(&c->counters, &c->m, c->subject, c->n, &err);

	if (!e)
		return NP_EXIT_OK;
	return np_failed(e == -EACCES || e == -EOPNOTSUPP ? NP_EXIT_CANNOT : NP_EXIT_FAIL, "%s",
			 err.text);
}

static struct np_counters_row task_row(const struct counting *c, size_t i)
{
	struct np_counters_row row = { .scope = "task", .id = c->subject[i].pid, .node = -1 };
	struct np_proc_stat st;
	int node = NP_NODE_NONE;

	if (!np_proc_stat(row.id, &st)) {
		snprintf(row.name, sizeof(row.name), "%s", st.comm);
		if (st.cpu >= 0 && (size_t)st.cpu < c->m.n_cpus)
			node = c->m.cpu_node[st.cpu];
	}
	if (node != NP_NODE_NONE)
		row.node = c->m.node[node].id;
	return row;
}

/* CPUs, then the nodes that they are on, then all of them. Returns how many. */
static size_t add_sums(struct counting *c)
{
	size_t n = c->n;
	struct np_counters_row all = { .scope = "all", .id = -1, .node = -1 };

	for (size_t k = 0; k < c->m.n_nodes; k++) {
		struct np_counters_row node = { .scope = "node",
						.id = c->m.node[k].id,
						.node = c->m.node[k].id };
		bool any = false;

		for (size_t i = 0; i < c->n; i++)
			if (c->row[i].node == node.node) {
				np_reading_add(&node.r, &c->row[i].r);
				any = true;
			}
		if (any)
			c->row[n++] = node;
	}
	for (size_t i = 0; i < c->n; i++)
		np_reading_add(&all.r, &c->row[i].r);
	c->row[n++] = all;
	return n;
}

static void print_interval(struct counting *c, double seconds)
{
	bool tasks = c->subject[0].cpu < 0;

	np_counters_read(&c->counters, c->after);
	for (size_t i = 0; i < c->n; i++) {
		int cpu = c->subject[i].cpu;

		c->row[i] = tasks ? task_row(c, i) :
				    (struct np_counters_row) {
					    .scope = "cpu",
					    .id = cpu,
					    .node = c->m.node[c->m.cpu_node[cpu]].id
				    };
		c->row[i].r = np_reading_between(&c->before[i], &c->after[i]);
	}
	np_counters_table_print(&c->rows, seconds, c->row, tasks ? c->n : add_sums(c));
	memcpy(c->before, c->after, c->n * sizeof(*c->before));
}

/* True when the counted command or tasks have ended. */
static bool ended(struct counting *c)
{
	struct np_proc_stat st;

	if (c->args->command)
		return np_child_has_ended(&c->child);
	for (size_t i = 0; i < c->n; i++)
		if (c->subject[i].cpu >= 0 ||
		    (!np_proc_stat(c->subject[i].pid, &st) && !np_proc_has_ended(&st)))
			return false;
	return true;
}

/* Until then, a signal or the end. A command's end is seen within 20 ms. */
static void wait_until(struct counting *c, double then)
{
	while (!stopped && !ended(c)) {
		double left = then - np_clock(CLOCK_MONOTONIC),
		       step = c->args->command ? 0.02 : left;
		struct timespec t;

		if (left <= 0)
			return;
		if (step > left)
			step = left;
		t = (struct timespec) { (time_t)step, (long)((step - (double)(time_t)step) * 1e9) };
		ppoll(NULL, 0, &t, &c->unblocked);
	}
}

static int watch(struct counting *c)
{
	double interval = (double)c->args->interval_ms / 1e3, start, then;

	np_counters_read(&c->counters, c->before);
	if (c->args->command) {
		int status = np_child_go(&c->child, c->args->command);

		if (status)
			return status;
		command = c->child.pid;
	} else {
		np_counters_table_begin(&c->rows); /* tells a reader that counting has begun */
	}
	start = np_clock(CLOCK_MONOTONIC);
	for (unsigned long i = 1; !stopped && (!c->args->count || i <= c->args->count); i++) {
		then = start + (double)i * interval;
		wait_until(c, then);
		print_interval(c, np_clock(CLOCK_MONOTONIC) - start);
		if (ended(c))
			break;
	}
	while (command && !ended(c))
		wait_until(c, np_clock(CLOCK_MONOTONIC) + MAX_MS / 1e3);
	return c->child.ended ? c->child.status : NP_EXIT_OK;
}

static int count(const struct counters_args *a)
{
	struct counting c = { .args = a, .child.pid = -1 };
	int status = np_cmd_machine(&c.m);

	c.child.go = c.child.report = -1;
	catch_signals(&c.unblocked);
	if (!status)
		status = choose(&c);
	if (!status)
		status = open_counters(&c);
	c.rows.user_only = c.counters.user_only;
	if (!status)
		status = watch(&c);
	np_counters_close(&c.counters);
	np_child_end(&c.child);
	np_machine_free(&c.m);
	free(c.subject);
	free(c.before);
	free(c.after);
	free(c.row);
	return status;
}

int cmd_counters(int argc, char **argv)
{
	struct counters_args a = { 0 };
	int status = np_args(&argp, argc, argv, ARGP_IN_ORDER, &a);

	np_json = a.json;
	if (!status && (a.command != NULL) + (a.pids.n > 0) + (a.cpus != NULL) > 1)
		status = np_usage(
			"counters: count for tasks, on CPUs or for a command, one of them");
	if (!a.interval_ms)
		a.interval_ms = a.command ? MAX_MS * 24ul : DEFAULT_MS;
	if (!status && a.table)
		np_counters_table_print_table();
	else if (!status)
		status = count(&a);
	free(a.pids.pid);
	return status;
}
