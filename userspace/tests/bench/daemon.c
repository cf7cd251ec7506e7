// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of the daemon: CPU time for each interval over real processes. Only the
 * machine is written down, two nodes that share this machine's CPUs, so that it can
 * be measured on a machine of one node; what is read from /proc is real, and tasks
 * are bound to CPUs.
 *
 * bench_daemon TASKS INTERVALS INTERVAL_MS idle|busy [metrics]
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/daemon/daemon.h"
#include "../../lib/daemon/metrics.h"
#include "../../lib/engine/engines.h"

#define MEMORY (2 << 20)
/* So many intervals in which nothing is placed end the warm-up. */
#define QUIET 10

static const volatile sig_atomic_t never;

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/*
 * On one of the two nodes, with memory; a busy one also wakes up ten times a
 * second and writes to some of it.
 */
static _Noreturn void task(size_t i, bool busy)
{
	char *memory = malloc(MEMORY);
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(i % 2, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(memory, 1, MEMORY);
	while (true) {
		nap(busy ? 100 : 3600000);
		for (size_t at = 0; at < MEMORY; at += 65536)
			memory[at]++;
	}
}

static void write_text(const char *root, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = strchr(path + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/* CPU 0 and the even ones belong to node 0, the others to node 1. */
static void write_machine(const char *root)
{
	static const char meminfo[] = "Node %d MemTotal: 16777216 kB\nNode %d MemFree: 8388608 kB\n";
	char cpus[2][1024] = { "", "" }, name[128], text[256];

	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		snprintf(cpus[cpu % 2] + strlen(cpus[cpu % 2]), 24, "%s%ld", cpu > 1 ? "," : "",
			 cpu);
	write_text(root, "sys/devices/system/node/online", "0-1\n");
	write_text(root, "sys/devices/system/node/has_memory", "0-1\n");
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d/cpulist", i);
		write_text(root, name, cpus[i]);
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d/distance", i);
		write_text(root, name, i ? "21 10\n" : "10 21\n");
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d/meminfo", i);
		snprintf(text, sizeof(text), meminfo, i, i);
		write_text(root, name, text);
	}
	write_text(root, "proc/sys/kernel/hostname", "written-down\n");
}

/* Until every task is known and has its place. Returns the CPU seconds that it took. */
static double warm_up(struct np_daemon *d, bool busy)
{
	double used = 0;

	for (int quiet = 0; quiet < QUIET && d->now < 2000;) {
		unsigned long long moves = d->counts.moved_tasks;

		nap(20);
		np_daemon_step(d);
		used += d->counts.last_interval_cpu_seconds;
		quiet = (d->watch.eligible < d->watch.n_watched && busy) ||
					d->counts.moved_tasks != moves ?
				0 :
				quiet + 1;
	}
	return used;
}

static void measure(struct np_daemon *d, int intervals, long interval_ms, bool busy)
{
	double first = warm_up(d, busy), most = 0, sum = 0;
	unsigned long long plans = d->counts.plans;

	for (int i = 0; i < intervals; i++) {
		double used;

		nap(interval_ms);
		np_daemon_step(d);
		used = d->counts.last_interval_cpu_seconds * 1e3;
		sum += used;
		most = used > most ? used : most;
	}
	printf("%zu tasks watched, %zu eligible, %llu placed once for %.0f ms CPU "
	       "altogether;\n"
	       "then %.3f ms CPU an interval (most %.3f), %llu plans in %d intervals: %.3f %% of "
	       "one CPU "
	       "at %ld ms\n",
	       d->watch.n_watched, d->watch.eligible, d->counts.moved_tasks, first * 1e3,
	       sum / intervals, most, d->counts.plans - plans, intervals,
	       sum / intervals / (double)interval_ms * 100, interval_ms);
}

static void run(const char *root, const pid_t *pids, size_t n, bool busy, char **argv, bool metrics)
{
	struct np_daemon d = {
		.args.policy = np_policy_find("maximum-local"), .root = root,
		.watch_rules = {
			.pids = pids, .n_pids = n, .min_busy = busy ? 0 : 0.1, .min_pages = 256,
			.pause = 6, .read_budget = 0.002,
		},
		.hysteresis_rules = { .plans = 2, .window = 30, .back_off = 60 },
		.how = { .engine = &np_engine_syscall, .stop = &never },
	};
	char *text;
	struct np_err err;

	np_options_defaults(d.args.policy, &d.args.options);
	/* There is no second node that pages could go to. */
	if (np_options_set(d.args.policy, &d.args.options, "pages=stay", err.text,
			   sizeof(err.text)))
		exit(1);
	if (np_daemon_open(&d, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	measure(&d, atoi(argv[2]), atol(argv[3]), busy);
	text = metrics ? np_metrics_text(&d) : NULL;
	if (text)
		fputs(text, stdout);
	free(text);
	np_daemon_restore(&d, &n);
	np_daemon_close(&d);
}

int main(int argc, char **argv)
{
	size_t n = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
	bool busy = argc > 4 && !strcmp(argv[4], "busy");
	char root[] = "/tmp/numaplace-bench-XXXXXX", command[64];
	pid_t *pids = calloc(n + 1, sizeof(*pids));

	if (!n || !pids || !mkdtemp(root)) {
		fprintf(stderr, "bench_daemon TASKS INTERVALS INTERVAL_MS idle|busy [metrics]\n");
		return 2;
	}
	write_machine(root);
	for (size_t i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			task(i, busy);
	}
	nap(1000);
	run(root, pids, n, busy, argv, argc > 5);
	for (size_t i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}
