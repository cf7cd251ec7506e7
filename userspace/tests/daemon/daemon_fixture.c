// SPDX-License-Identifier: GPL-2.0-only
#include "daemon_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "../fixture.h"

pid_t daemon_fixture_start(void)
{
	pid_t pid = fork();

	if (!pid)
		for (volatile int i = 0;; i++)
			;
	CU_ASSERT_FATAL(pid > 0); /* to be killed later: -1 is every process */
	return pid;
}

void daemon_fixture_node(int node, const char *cpus, const char *distance)
{
	char name[128], text[256];

	snprintf(name, sizeof(name), "sys/devices/system/node/node%d/cpulist", node);
	fixture_write(name, cpus);
	snprintf(name, sizeof(name), "sys/devices/system/node/node%d/distance", node);
	fixture_write(name, distance);
	snprintf(name, sizeof(name), "sys/devices/system/node/node%d/meminfo", node);
	snprintf(text, sizeof(text), "Node %d MemTotal: 16777216 kB\nNode %d MemFree: 8388608 kB\n",
		 node, node);
	fixture_write(name, text);
}

void daemon_fixture_machine(void)
{
	fixture_write("sys/devices/system/node/online", "1-2\n");
	fixture_write("sys/devices/system/node/has_memory", "1-2\n");
	daemon_fixture_node(1, "0\n", "10 21\n");
	daemon_fixture_node(2, "1-8191\n", "21 10\n");
	fixture_write("proc/sys/kernel/hostname", "written-down\n");
}

void daemon_fixture_open(struct np_daemon *d, const pid_t *pids, size_t n, const char *root)
{
	static const volatile sig_atomic_t never;
	struct np_err err;

	*d = (struct np_daemon) {
		.args.policy = np_policy_find("maximum-local"),
		.root = root,
		.watch_rules = { .pids = pids, .n_pids = n, .pause = 6, .read_budget = 1 },
		.hysteresis_rules = { .plans = 1, .window = 30, .back_off = 60 },
		.how = { .engine = &fake_engine, .stop = &never },
		.sampling = { .most = 4, .budget = 1 },
	};
	np_options_defaults(d->args.policy, &d->args.options);
	CU_ASSERT_EQUAL_FATAL(np_daemon_open(d, &err), 0);
}
