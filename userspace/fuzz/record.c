// SPDX-License-Identifier: GPL-2.0-only
/* The module's replies, and lines of the simulated lab's counters. */
#include "../lib/base/cpulist.h"
#include "../lib/base/record.h"
#include "../lib/counters/lab.h"
#include "../lib/host/module_files.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"job=12 pid=4 state=done from=0-1 to=0 asked=18446744073709551615 moved=1 bytes=\n",
	"numaplace=0.1.0 abi=2\n",
	"cpu=3 instructions=20 cycles=10 llc_references=7 llc_misses=6 local_dram=3 remote_dram=2 "
	"remote_cache=1 sim_ns=9 stall_ns=4 dram_node0=5\n",
	"cpu=0 cycles=18446744073709551615",
	"tid=1 pid=1 comm=a cpus=0-1\ntid=2 pid=1\n\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "job", "state", "asked", "pid", "", "=", "abi" };
	char *text = fuzz_string(data, size), value[16];
	struct np_module_info info;
	double total[NP_EVENTS];
	uint64_t number;
	int cpu = -1;

	for (const char *line = text; line && *line; line = np_record_next(line)) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (np_record_get(line, keys[i], value, sizeof(value)))
				FUZZ_CLAIM(strlen(value) < sizeof(value) && !strpbrk(value, " \n"));
			np_record_number(line, keys[i], &number);
		}
		if (np_lab_line(line, &cpu, total))
			for (int e = 0; e < NP_EVENTS; e++)
				FUZZ_CLAIM(cpu >= 0 && cpu < NP_MAX_CPUS && total[e] >= 0);
	}
	np_module_version_parse(text, &info);
	free(text);
	return 0;
}
