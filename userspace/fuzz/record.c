// SPDX-License-Identifier: GPL-2.0-only
/* The module's replies. */
#include "../lib/base/record.h"
#include "../lib/host/module_files.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"job=12 pid=4 state=done from=0-1 to=0 asked=18446744073709551615 moved=1 bytes=\n",
	"numaplace=0.1.0 abi=1\n",
	"tid=1 pid=1 comm=a cpus=0-1\ntid=2 pid=1\n\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "job", "state", "asked", "pid", "", "=", "abi" };
	char *text = fuzz_string(data, size), value[16];
	struct np_module_info info;
	uint64_t number;

	for (const char *line = text; line && *line; line = np_record_next(line)) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (np_record_get(line, keys[i], value, sizeof(value)))
				FUZZ_CLAIM(strlen(value) < sizeof(value) && !strpbrk(value, " \n"));
			np_record_number(line, keys[i], &number);
		}
	}
	np_module_version_parse(text, &info);
	free(text);
	return 0;
}
