// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints as JSON what the tool's TOML reader makes of each file named, a line a file; test_toml.py
 * compares it.
 */
#include <stdio.h>

#include "../../../lib/base/toml.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct np_err err;
		json_t *value = np_toml_read(argv[i], &err);

		if (!value)
			value = json_pack("s", err.text);
		json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
		putchar('\n');
		json_decref(value);
	}
	return 0;
}
