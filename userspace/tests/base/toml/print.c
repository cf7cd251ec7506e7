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
		struct np_toml_file file = { .path = argv[i], .err = &err };
		json_t *fault = np_toml_open(&file) ? json_string(err.text) : NULL;

		json_dumpf(fault ? fault : file.root, stdout,
			   JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
		putchar('\n');
		json_decref(fault);
		np_toml_release(&file);
	}
	return 0;
}
