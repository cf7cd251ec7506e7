// SPDX-License-Identifier: GPL-2.0-only
/* Lists as users and as the kernel write them. */
#include "../lib/base/cpulist.h"
#include "../lib/base/error.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = { "0-3,8", "!1", "+0-1", "all", "!+0", "0,2,4-7\n", "63", NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bitmask *exist, *again;
	char *text = fuzz_string(data, size), list[4096];
	struct np_err err = { "" };
	struct np_list_space space;
	struct bitmask *mask;

	if (!exist) {
		exist = numa_bitmask_alloc(64);
		again = numa_bitmask_alloc(64);
		np_list_parse_kernel("0-3,8,63", exist);
	}
	space = (struct np_list_space) { "node", exist, exist };
	mask = np_list_parse(text, &space, &err);
	FUZZ_CLAIM(!mask == !!err.text[0]);
	if (mask) {
		/* What it means can be written down and read back. */
		np_list_format(mask, list, sizeof(list));
		FUZZ_CLAIM(numa_bitmask_weight(mask) > 0);
		FUZZ_CLAIM(!np_list_parse_kernel(list, again) && numa_bitmask_equal(mask, again));
		numa_bitmask_free(mask);
	}
	if (!np_list_parse_kernel(text, again))
		np_list_format(again, list, 8);
	free(text);
	return 0;
}
