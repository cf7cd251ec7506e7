// SPDX-License-Identifier: GPL-2.0-only
#include "plan_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/host/proc.h"
#include "../fixture.h"

char engine_notes[4096];
unsigned int engine_followed;
size_t engine_spread_nodes;
bool engine_overfilled, engine_keeps_failing;

static struct plan_fixture *fixture;
static unsigned int fail_at;
static int fail_error;
static bool sets_mem;
static uint64_t free_pages[2], left_to_move[MAX_TASKS];

void plan_fixture_init(struct plan_fixture *f, uint64_t free0, uint64_t free1)
{
	static const int distance[] = { 10, 21, 21, 10 }, cpu_node[] = { 0, 0, 1, 1 };

	memset(f, 0, sizeof(*f));
	memcpy(f->distance, distance, sizeof(distance));
	memcpy(f->cpu_node, cpu_node, sizeof(cpu_node));
	for (int i = 0; i < 2; i++)
		f->node[i] = (struct np_node) {
			.id = i,
			.cpus = 2,
			.has_memory = true,
			.mem_total = 1ULL << 30,
			.mem_free = (i ? free1 : free0) * 4096,
		};
	f->p.machine = (struct np_machine) {
		.name = "written-down",
		.n_nodes = 2,
		.node = f->node,
		.distance = f->distance,
		.n_cpus = 4,
		.cpu_node = f->cpu_node,
		.page_size = 4096,
	};
	f->p.tasks = (struct np_tasks) { .task = f->task, .start = f->start, .cpus = f->cpus };
	f->p.policy = np_policy_find("maximum-local");
	np_options_defaults(f->p.policy, &f->p.options);
	f->p.plan.decision = f->decision;
	f->p.plan.pages_after = f->after;
	f->p.tasks.pages = &f->pages[0][0];
}

void plan_fixture_add(struct plan_fixture *f, pid_t pid, int node, int to, uint64_t pages0,
		      uint64_t pages1)
{
	size_t i = f->p.tasks.n++;

	f->pages[i][0] = pages0;
	f->pages[i][1] = pages1;
	f->task[i] = (struct np_task) {
		.pid = pid,
		.comm = "sleeper",
		.threads = 1,
		.cores = 1,
		.node = node,
		.pages = f->pages[i],
		.penalty = 1.25,
		.penalty_source = NP_PROVENANCE_DECLARED,
	};
	f->cpus[i] = numa_bitmask_alloc(NP_MAX_CPUS);
	numa_bitmask_setbit(f->cpus[i], (unsigned int)node * 2);
	numa_bitmask_setbit(f->cpus[i], (unsigned int)node * 2 + 1);
	f->decision[i] = (struct np_decision) {
		.from = node,
		.to = to,
		.home = pages1 > pages0,
		.pages_to = to,
		.spread = NP_NODE_NONE,
		.nodes = NP_NODE_NONE,
		.bonus = 1,
		.pages_to_move = to ? pages0 : pages1,
		.cost = 0.5,
		.gain = 1.25,
		.penalty = 1.25,
		.penalty_source = NP_PROVENANCE_DECLARED,
		.reason = "written down",
	};
	f->p.plan.n = f->p.tasks.n;
}

static unsigned long resident_kib(pid_t pid)
{
	char path[64];
	unsigned long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "r");
	CU_ASSERT_FATAL(f && fscanf(f, "%*u %lu", &pages) == 1);
	fclose(f);
	return pages * 4;
}

/* Has addresses for the engine to be asked about. */
static _Noreturn void sleeper(void)
{
	static char memory[16 << 20];

	memset(memory, 1, sizeof(memory));
	while (true)
		pause();
}

void plan_fixture_start(struct plan_fixture *f, int node, int to, uint64_t pages0, uint64_t pages1)
{
	struct np_proc_stat st;
	pid_t pid = fork();

	if (pid == 0)
		sleeper();
	CU_ASSERT_FATAL(pid > 0 && !np_proc_stat(pid, &st));
	while (resident_kib(pid) < 16 << 10)
		usleep(1000);
	plan_fixture_add(f, pid, node, to, pages0, pages1);
	f->start[f->p.tasks.n - 1] = st.start;
}

void plan_fixture_own_cpus(struct plan_fixture *f)
{
	for (size_t i = 0; i < f->p.tasks.n; i++) {
		numa_bitmask_clearall(f->cpus[i]);
		numa_sched_getaffinity(f->task[i].pid, f->cpus[i]);
		numa_bitmask_setbit(f->cpus[i], 0);
		numa_bitmask_setbit(f->cpus[i], 1);
	}
}

void plan_fixture_order(struct plan_fixture *f)
{
	for (size_t i = 0; i < f->p.plan.n; i++) {
		const struct np_decision *d = &f->decision[i];
		uint64_t *after = f->after + 2 * i;

		if (d->spread != NP_NODE_NONE)
			continue;
		memcpy(after, f->pages[i], sizeof(f->pages[i]));
		if (d->pages_to == NP_NODE_NONE)
			continue;
		after[d->pages_to] += d->pages_to_move;
		after[!d->pages_to] -= d->pages_to_move;
	}
	CU_ASSERT_EQUAL_FATAL(np_plan_order(&f->p.plan, &f->p.machine, f->task), 0);
}

void plan_fixture_kill(struct plan_fixture *f, size_t i)
{
	fixture_end_child(f->task[i].pid);
	f->start[i] = 0;
}

void plan_fixture_free(struct plan_fixture *f)
{
	for (size_t i = 0; i < f->p.tasks.n; i++) {
		if (f->start[i])
			plan_fixture_kill(f, i);
		numa_bitmask_free(f->cpus[i]);
	}
	free(f->p.plan.move);
	f->p.plan.move = NULL;
}

void engine_reset(struct plan_fixture *f, unsigned int at, int error, bool mem)
{
	fixture = f;
	fail_at = at;
	fail_error = error;
	sets_mem = mem;
	engine_notes[0] = '\0';
	engine_followed = 0;
	engine_overfilled = engine_keeps_failing = false;
	for (size_t i = 0; i < 2; i++)
		free_pages[i] = f->node[i].mem_free / 4096;
	for (size_t i = 0; i < f->p.plan.n; i++)
		left_to_move[i] = f->decision[i].pages_to_move;
}

static void note(const char *format, ...)
{
	size_t at = strlen(engine_notes);
	va_list ap;

	va_start(ap, format);
	vsnprintf(engine_notes + at, sizeof(engine_notes) - at, format, ap);
	va_end(ap);
}

static int task_of(pid_t pid)
{
	for (size_t i = 0; i < fixture->p.tasks.n; i++)
		if (fixture->task[i].pid == pid)
			return (int)i;
	return -1;
}

static int answer(struct np_err *err)
{
	if (!fail_at || --fail_at)
		return 0;
	fail_at = engine_keeps_failing;
	return np_fail(err, fail_error, "told to fail");
}

static int place(const struct np_place_request *r, struct np_err *err)
{
	char cpus[NP_LIST_LEN] = "-", mem[NP_LIST_LEN] = "-";

	if (r->cpus)
		np_list_format(r->cpus, cpus, sizeof(cpus));
	if (r->mem_nodes)
		np_list_format(r->mem_nodes, mem, sizeof(mem));
	engine_followed += r->follows;
	if (r->mem_mode >= 0 && !sets_mem)
		return np_fail(err, -EOPNOTSUPP, "no memory policies here");
	note("place %d cpus=%s mem=%s%s%s; ", task_of(r->pid), cpus, mem, r->by ? " by=" : "",
	     r->by ? r->by : "");
	return answer(err);
}

static int spread(const struct np_migrate_request *r, struct np_migrate_result *out,
		  struct np_err *err)
{
	int i = task_of(r->pid), e = answer(err);
	uint64_t pages = fixture->decision[i].pages_to_move;
	bool to = r->share[1] * (double)(fixture->pages[i][0] + fixture->pages[i][1]) >
		  (double)fixture->pages[i][1];

	*out = (struct np_migrate_result) { .engine = "notes" };
	note("spread %d %.2f %.2f; ", i, r->share[0], r->share[1]);
	engine_spread_nodes = r->n_nodes;
	if (e)
		return e;
	engine_overfilled |= pages > free_pages[to];
	free_pages[to] -= pages;
	free_pages[!to] += pages;
	out->asked = out->moved = pages;
	return 0;
}

/* As if the pages lay one after the other wherever a range is asked for. */
static int migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
		   struct np_err *err)
{
	int i = task_of(r->pid), e;
	uint64_t pages = left_to_move[i];

	if (r->share)
		return spread(r, out, err);
	e = answer(err);
	*out = (struct np_migrate_result) { .engine = "notes" };
	note("move %d %sto=%d; ", i, r->limit ? "part " : "", r->to);
	if (e)
		return e;
	if (r->limit && r->limit < pages)
		pages = r->limit;
	engine_overfilled |= pages > free_pages[r->to];
	free_pages[r->to] -= pages;
	free_pages[!r->to] += pages;
	left_to_move[i] -= pages;
	out->asked = out->moved = pages;
	out->bytes = pages * 4096;
	return 0;
}

static int restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	*n = 1;
	*kept = 0;
	note("restore");
	for (size_t i = 0; i < whose->n; i++)
		note(" %d", task_of(whose->pids[i]));
	note("; ");
	return 0;
}

static int undo(const struct np_undo *u, size_t n, struct np_err *err)
{
	note("undo");
	for (size_t i = 0; i < n; i++)
		note(" %d", task_of(u[i].pid));
	note("; ");
	return 0;
}

const struct np_engine_ops engine = {
	.name = "notes",
	.place = place,
	.undo = undo,
	.migrate = migrate,
	.restore = restore,
};
