/* SPDX-License-Identifier: GPL-2.0-only */
/* Two nodes with two CPUs and 16 MiB each: small caches, so that tests can fill them. */
#ifndef NP_PLUGIN_FIXTURE_H
#define NP_PLUGIN_FIXTURE_H

#include "../timing.h"
#include "../decode/decode.h"
#include "../contention.h"
#include "../../../../tests/cunit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_LINES (16u << 20 >> 6) /* node 1's first line */
#define LLC_LINES  4096u
#define L2_LINES   512u
#define L1_LINES   64u
#define SERVED_L1  ((enum np_served) - 1)

#define CONFIG \
	"shared=/dev/null\ncpu_node=0,0,1,1\ncore=2000 2\nline=64\nl1=4096\n" \
	"l2=32768 8 4\nllc=262144 16 15\nram=0 0x0 0x1000000\nram=1 0x100000000 0x101000000\n" \
	"machine name=t line_bytes=64\n" \
	"node 0 core_outstanding=10 dram_bytes_per_s=1.2e10 dram_latency_ns=80 " \
	"dram_variability=0.1 cache_latency_ns=40\n" \
	"node 1 core_outstanding=10 dram_bytes_per_s=1.2e10 dram_latency_ns=80 " \
	"dram_variability=0.1 cache_latency_ns=40\n" \
	"link 0 1 bytes_per_s=6e9 latency_ns=50 variability=0.1\n"

/* Reads a configuration from a text; returns what np_config_read() does. */
int read_text(const char *text, struct np_config *c, char *err, size_t err_len);

/* The host's clock, which tests advance: a busy host ends nothing that waits for it. */
extern uint64_t host_ns;

/* A machine in np_sim: of CONFIG, or of CONFIG and more lines. */
void begin(void);
void begin_with(const char *lines);
void end(void);

/* A CPU uses a line, through its first level as the plugin does. */
struct np_result use(unsigned int cpu, uint32_t line, bool store);

/* Threads that slept until another called. */
extern unsigned int woken;

#endif
