// SPDX-License-Identifier: GPL-2.0-only
/* measure-penalty: measures the penalty of tasks, into the machine file if asked. */
#include <errno.h>
#include <limits.h>
#include <numa.h>
#include <numaif.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../../policies/plan/plan.h"
#include "../lib/counters/counters.h"
#include "../lib/files/penalty.h"
#include "../lib/host/proc.h"
#include "../lib/plan/penalty_probe.h"
#include "arg_units.h"
#include "cmd_args.h"
#include "spawn.h"

#define FLIP_MS	  100
#define MAX_TASKS 64
#define POLL_MS	  5

enum { KEY_TASK = NP_KEY_OWN, KEY_FLIP, KEY_NODE, KEY_REMOTE, KEY_SAVE };

struct penalty_args {
	const char *task[MAX_TASKS];
	size_t n_tasks;
	struct np_pids flips;
	unsigned long ms;
	const char *node, *remote, *save;
};

static const struct argp_option options[] = {
	{ "task", KEY_TASK, "CMD", 0,
	  "Run the shell command CMD twice, with its memory local and remote; may be repeated", 0 },
	{ "flip", KEY_FLIP, "PID", 0,
	  "Run this task for a moment away from its memory; may be repeated", 0 },
	{ "sample", 's', "TIME", 0, "Length of each of a flip's four phases (100ms)", 0 },
	{ "node", KEY_NODE, "NODE", 0, "Node whose CPUs run CMD (the last with CPUs and memory)",
	  0 },
	{ "remote", KEY_REMOTE, "NODE", 0,
	  "Node that is remote: of CMD's memory, of the flipped task's CPUs (the farthest)", 0 },
	{ "save", KEY_SAVE, "FILE", 0,
	  "Put what was measured into the [penalty] of this machine file; only when every task was",
	  0 },
	NP_JSON_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct penalty_args *a = state->input;

	switch (key) {
	case KEY_TASK:
		if (a->n_tasks == MAX_TASKS)
			return np_failed(ECANCELED, "measure-penalty: more than %d tasks",
					 MAX_TASKS);
		a->task[a->n_tasks++] = arg;
		return 0;
	case KEY_FLIP:
		return np_arg_add_pid(arg, &a->flips);
	case 's':
		return np_arg_milliseconds(arg, "--sample", NP_FLIP_MAX_MS, &a->ms);
	case KEY_NODE:
		a->node = arg;
		return 0;
	case KEY_REMOTE:
		a->remote = arg;
		return 0;
	case KEY_SAVE:
		a->save = arg;
		return 0;
	case 'j':
		np_json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Measures the NUMA penalty of tasks: cycles an instruction with memory remote / with "
	       "memory local.\v"
	       "--task runs a command to its end twice, on the same CPUs, and counts all of it. "
	       "--flip takes a running task: its pages stay, its threads run at home, away, away "
	       "and at home again; then they get their CPUs back, also when interrupted, and by "
	       "`numaplace restore` should this program be killed. A file with three tasks or more "
	       "also gets a fit of the penalty by MPKI. ps and plan read the file that "
	       "NUMAPLACE_MACHINE_FILE names, else /etc/numaplace/machine.toml.",
};

static int fail(int e, const char *err)
{
	return np_failed(e == -EACCES || e == -EOPNOTSUPP ? NP_EXIT_CANNOT : NP_EXIT_FAIL, "%s",
			 err);
}

/* The last node: most other tasks run on the first. */
static int default_node(const struct np_machine *m)
{
	for (size_t i = m->n_nodes; i--;)
		if (m->node[i].cpus && m->node[i].has_memory)
			return (int)i;
	return NP_NODE_NONE;
}

/* The farthest node with memory from those of node's CPUs. */
static int far_memory(const struct np_machine *m, int node)
{
	int far = NP_NODE_NONE, most = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		int distance = m->distance[(size_t)node * m->n_nodes + i];

		if ((int)i != node && m->node[i].has_memory && distance > most) {
			most = distance;
			far = (int)i;
		}
	}
	return far;
}

/* CPUs and memory nodes of a command. */
struct where {
	struct bitmask *cpus, *memory;
};

/* In the child, which ends with its parent: an uncounted run has no result. */
static int bind_child(void *arg)
{
	const struct where *w = arg;

	return prctl(PR_SET_PDEATHSIG, SIGTERM) || numa_sched_setaffinity(0, w->cpus) ||
			       set_mempolicy(MPOL_BIND, w->memory->maskp, w->memory->size + 1) ?
		       errno :
		       0;
}

/* Waits until the command has ended or stop is set. */
static void wait_for(struct np_child *c)
{
	while (!np_stopped && !np_child_has_ended(c))
		poll(NULL, 0, POLL_MS);
}

static int count_run(const struct np_machine *m, const char *command, struct np_child *c,
		     char **words, struct np_reading *r)
{
	const struct np_subject task = { -1, c->pid };
	struct np_reading before, after;
	struct np_counters counters;
	struct np_err err;
	int e = np_counters_open(&counters, m, &task, 1, &err), status;

	if (e)
		return fail(e, err.text);
	np_counters_read(&counters, &before);
	status = np_child_go(c, words);
	if (!status) {
		wait_for(c);
		np_counters_read(&counters, &after);
		*r = np_reading_between(&before, &after);
	}
	np_counters_close(&counters);
	if (!status && np_stopped)
		status = np_failed(NP_EXIT_FAIL, "interrupted while \"%s\" ran", command);
	else if (!status && c->status)
		status = np_failed(NP_EXIT_FAIL,
				   "\"%s\" ended with status %d, so what was counted says nothing",
				   command, c->status);
	return status;
}

static int run_once(const struct np_machine *m, const char *command, int node, int memory,
		    struct np_reading *r)
{
	char shell[] = "sh", option[] = "-c", *words[] = { shell, option, NULL, NULL };
	struct where w = { .cpus = np_machine_cpus_of_node(m, node),
			   .memory = numa_bitmask_alloc(NP_MAX_NODES) };
	struct np_child c;
	int status;

	numa_bitmask_setbit(w.memory, (unsigned int)m->node[memory].id);
	np_penalty_probe_leave(m, node);
	words[2] = (char *)(uintptr_t)command;
	status = np_child_start(&c, words,
				&(struct np_child_how) {
					.quiet = true,
					.prepare = bind_child,
					.arg = &w,
				});
	if (!status)
		status = count_run(m, command, &c, words, r);
	np_child_end(&c);
	np_penalty_probe_return(m);
	numa_bitmask_free(w.memory);
	numa_bitmask_free(w.cpus);
	return status;
}

/* The file that the command's first word names, when it is a program; else "". */
static void program_of(const char *command, char *exe, size_t len)
{
	const char *path = getenv("PATH") ?: "/usr/bin:/bin";
	int n = (int)strcspn(command, " \t");
	bool local = memchr(command, '/', (size_t)n);
	char file[PATH_MAX], real[PATH_MAX], magic[4] = "";
	FILE *f = NULL;

	for (const char *folder = path; !f && folder; folder = strchr(folder, ':')) {
		folder += *folder == ':';
		if (local)
			snprintf(file, sizeof(file), "%.*s", n, command);
		else
			snprintf(file, sizeof(file), "%.*s/%.*s", (int)strcspn(folder, ":"), folder,
				 n, command);
		f = access(file, X_OK) || !realpath(file, real) ? NULL : fopen(real, "re");
	}
	/* The program of a script is its interpreter, which other scripts share. */
	if (f && fread(magic, 1, 4, f) == 4 && !memcmp(magic, "\177ELF", 4))
		snprintf(exe, len, "%s", real);
	else
		exe[0] = '\0';
	if (f)
		fclose(f);
}

/* The program's name, as the kernel will show it. */
static void name_of(const char *command, char *name, size_t len)
{
	char word[256];
	char *slash;

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(command, " \t"), command);
	slash = strrchr(word, '/');
	snprintf(name, len, "%.*s", (int)len - 1, slash ? slash + 1 : word);
}

static json_t *json_pair(const struct np_machine *m, const struct np_cpi_pair *p,
			 const struct np_penalty_key *key, const char *name, int pid,
			 const char *source)
{
	return json_pack("{s:s,s:s,s:o,s:o,s:f,s:s,s:f,s:f,s:o,s:o,s:o,s:s}", "exe", key->exe,
			 "unit", key->unit, "name", np_json_text(name), "pid",
			 pid ? json_integer(pid) : json_null(), "penalty", p->remote / p->local,
			 "source", source, "cpi_local", p->local, "cpi_remote", p->remote, "mpki",
			 p->mpki < 0 ? json_null() : json_real(p->mpki), "home",
			 np_json_node(m, p->home), "away", np_json_node(m, p->away), "counted_by",
			 p->source);
}

static void print_pair(const struct np_machine *m, const struct np_cpi_pair *p,
		       const struct np_penalty_key *key, const char *name, const char *source)
{
	char mpki[32] = "-";

	if (p->mpki >= 0)
		snprintf(mpki, sizeof(mpki), "%.3f", p->mpki);
	printf("%-15s %7.3f %-8s %9.3f %10.3f %9s %4d %4d  %-10s  %s%s%s\n", name,
	       p->remote / p->local, source, p->local, p->remote, mpki, m->node[p->home].id,
	       m->node[p->away].id, p->source, key->exe[0] ? key->exe : "its name",
	       key->unit[0] ? " in " : "", key->unit);
}

struct results {
	struct np_machine m;
	struct np_penalties file;
	json_t *list;
	bool header;
};

static void report(struct results *r, const struct np_cpi_pair *p, const struct np_penalty_key *key,
		   const char *name, int pid, const char *source)
{
	if (np_json) {
		json_array_append_new(r->list, json_pair(&r->m, p, key, name, pid, source));
		return;
	}
	if (!r->header)
		printf("%-15s %7s %-8s %9s %10s %9s %4s %4s  %-10s  %s\n", "NAME", "PENALTY",
		       "FROM", "CPI-LOCAL", "CPI-REMOTE", "MPKI", "HOME", "AWAY", "COUNTED BY",
		       "KNOWN BY");
	r->header = true;
	print_pair(&r->m, p, key, name, source);
	fflush(stdout);
}

static void describe(const struct results *r, const struct np_cpi_pair *p,
		     enum np_provenance method, char *text, size_t len)
{
	time_t now = time(NULL);
	struct tm day;

	gmtime_r(&now, &day);
	snprintf(text, len, "calibrated: %s node %d, %s (%s), counted by %s, %04d-%02d-%02d",
		 method == NP_PROVENANCE_FLIP ? "flip away from" : "two runs on",
		 r->m.node[p->home].id, r->m.name, np_platform_name(np_machine_platform("")),
		 p->source, day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

/* Prints a result, and keeps it for the file. */
static int keep(struct results *r, const struct np_cpi_pair *p, const struct np_penalty_key *key,
		const char *name, int pid, enum np_provenance method)
{
	struct np_penalty_task task = {
		.key = *key,
		.mpki = p->mpki,
		.penalty = p->remote / p->local,
		.method = method,
		.distance = np_cpi_pair_distance(&r->m, p, method),
	};

	describe(r, p, method, task.source, sizeof(task.source));
	report(r, p, key, name, pid, np_provenance_name(method));
	if (!np_penalties_add(&r->file, &task))
		return NP_EXIT_OK;
	return np_failed(NP_EXIT_FAIL, "out of memory");
}

static int two_runs(struct results *r, const char *command, int node, int remote)
{
	struct np_cpi_pair pair = { .home = node, .away = remote };
	struct np_reading near, far;
	struct np_count local, away, mpki;
	struct np_penalty_key key;
	char name[NP_COMM_LEN], exe[PATH_MAX];
	int status = run_once(&r->m, command, node, node, &near);

	if (!status)
		status = run_once(&r->m, command, node, remote, &far);
	if (status)
		return status;
	local = np_reading_cpi(&near);
	away = np_reading_cpi(&far);
	mpki = np_reading_mpki(&near);
	if (!local.source || !away.source)
		return np_failed(NP_EXIT_CANNOT,
				 "the penalty of \"%s\" is not available because %s", command,
				 local.source ? away.why : local.why);
	pair.local = local.value;
	pair.remote = away.value;
	pair.mpki = mpki.source ? mpki.value : -1;
	pair.source = local.source;
	name_of(command, name, sizeof(name));
	program_of(command, exe, sizeof(exe));
	np_penalty_key_of(0, name, &key);
	np_penalty_key_program(exe, &key);
	return keep(r, &pair, &key, name, 0, NP_PROVENANCE_RUNS);
}

static int flip(struct results *r, pid_t pid, int away, unsigned int ms)
{
	struct np_cpi_pair pair;
	struct np_penalty_key key;
	struct np_proc_stat st;
	struct np_err err;
	int e = np_proc_check(pid, false, &st, &err);

	if (!e) {
		np_penalty_key_of(pid, st.comm, &key);
		e = np_penalty_probe(&r->m, pid, away, ms, &np_stopped, &pair, &err);
	}
	if (e)
		return fail(e, err.text);
	return keep(r, &pair, &key, st.comm, pid, NP_PROVENANCE_FLIP);
}

static int measure(struct results *r, const struct penalty_args *a)
{
	int node, remote,
		status = np_arg_node(&r->m, "measure-penalty", a->node, default_node(&r->m), &node);

	if (!status)
		status = np_arg_node(&r->m, "measure-penalty", a->remote, NP_NODE_NONE, &remote);
	if (status)
		return status;
	for (size_t i = 0; !status && i < a->flips.n; i++)
		status = flip(r, a->flips.pid[i], remote, (unsigned int)a->ms);
	if (remote == NP_NODE_NONE && node != NP_NODE_NONE)
		remote = far_memory(&r->m, node);
	if (!status && a->n_tasks && (remote == NP_NODE_NONE || node == NP_NODE_NONE))
		return np_failed(NP_EXIT_CANNOT,
				 "machine %s has one node with memory, so no memory is remote; `numaplace lab "
				 "run --machine demo-2s -- COMMAND` boots one with two",
				 r->m.name);
	for (size_t i = 0; !status && i < a->n_tasks; i++)
		status = two_runs(r, a->task[i], node, remote);
	return status;
}

static int measure_and_save(const struct penalty_args *a)
{
	const enum np_platform platform = np_machine_platform("");
	struct results r = { .list = json_array() };
	struct np_err err;
	int status = np_cmd_machine(&r.m);

	if (!status && a->save &&
	    (np_penalties_read(&r.file, a->save, &err) || np_penalties_may_write(a->save, &err)))
		status = fail(-EINVAL, err.text);
	np_stop_by_signals(0);
	if (!status)
		status = measure(&r, a);
	if (!status && a->save && np_penalties_write(&r.file, a->save, &err))
		status = fail(-EIO, err.text);
	if (!status && np_json)
		np_json_print(json_pack("{s:s,s:O}", "platform", np_platform_name(platform),
					"tasks", r.list));
	json_decref(r.list);
	np_penalties_free(&r.file);
	np_machine_free(&r.m);
	return status;
}

int cmd_measure_penalty(int argc, char **argv)
{
	struct penalty_args a = { .ms = FLIP_MS };
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status && !a.n_tasks && !a.flips.n)
		status = np_usage("measure-penalty: say --task CMD or --flip PID");
	if (!status && a.ms < NP_FLIP_MIN_MS)
		status = np_usage("measure-penalty: a phase of less than %d ms says nothing",
				  NP_FLIP_MIN_MS);
	if (!status)
		status = measure_and_save(&a);
	free(a.flips.pid);
	return status;
}
