// SPDX-License-Identifier: GPL-2.0-only
/* A task set, which users write. */
#include "../lib/files/machine_file.h"
#include "../lib/files/task_set.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"[[task]]\nname = \"triad\"\ncount = 2\nnode = 0\nmemory = { \"1\" = \"128 MiB\" }\npenalty = 1.5\nmpki = 40\n"
	"[[task]]\nnode = 1\nmemory = \"8 MiB\"\noutstanding = 1\n",
	"[[task]]\nname = \"a\"\nthreads = 3\ncores = 2\ngroup = \"g\"\nbandwidth_mb_s = 9\n[[task]]\ngroup = \"g\"\nmessages = 4\n",
	"task = [{}, {count = 100000}]\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct np_machine m;
	static struct np_model model;
	struct np_err err = { "" };
	struct np_tasks t;
	char path[64];
	int fd = fuzz_file(data, size, path);

	FUZZ_CLAIM(m.n_nodes || !np_machine_file_read("2x2:1G", &m, &model, &err));
	if (np_task_set_read(path, &m, &t, &err)) {
		FUZZ_CLAIM(err.text[0] && !strchr(err.text, '\n'));
	} else {
		FUZZ_CLAIM(t.n > 0);
		np_tasks_free(&t);
	}
	close(fd);
	return 0;
}
