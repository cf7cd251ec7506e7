/* SPDX-License-Identifier: GPL-2.0-only */
/* A daemon for real, busy processes: a machine that is written down, an engine that does nothing. */
#ifndef NUMAPLACE_TESTS_DAEMON_FIXTURE_H
#define NUMAPLACE_TESTS_DAEMON_FIXTURE_H

#include "../../lib/daemon/daemon.h"

pid_t daemon_fixture_start(void);

/* Below fixture_begin(): CPU 0 is node 1's, the others are node 2's. */
void daemon_fixture_machine(void);
void daemon_fixture_node(int node, const char *cpus, const char *distance);

/* Watches these processes, by the policy maximum-local. */
void daemon_fixture_open(struct np_daemon *d, const pid_t *pids, size_t n, const char *root);

#endif
