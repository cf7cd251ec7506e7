// SPDX-License-Identifier: GPL-2.0-only
/* A machine's shape, which users write instead of a name. */
#include "../lib/files/machine_shape.h"
#include "../lib/files/machine_file.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = { "2x2",	  "4x2:512M", "2x2+1:1G", "16x15:1024G",
				   "1x1:2048K+3", "2x",	      NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *shape = fuzz_string(data, size);
	struct np_err err = { "" };
	struct np_machine m;
	struct np_model model;

	if (!np_machine_shape_is(shape)) {
		free(shape);
		return 0;
	}
	if (np_machine_file_read(shape, &m, &model, &err)) {
		/* A shape that is taken is a machine that the reader of files takes. */
		FUZZ_CLAIM(strstr(err.text, "is no shape") || !strncmp(err.text, "machine '", 9));
		FUZZ_CLAIM(!strchr(err.text, '\n'));
	} else {
		FUZZ_CLAIM(m.n_nodes <= 16 && m.n_cpus <= 255 && !strcmp(m.name, shape));
		FUZZ_CLAIM(m.model == &model);
		np_machine_free(&m);
	}
	free(shape);
	return 0;
}
