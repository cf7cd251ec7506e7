// SPDX-License-Identifier: GPL-2.0-only
/* Inputs of tasks that users declare: --assume. */
#include "../lib/base/error.h"
#include "../lib/host/tasks.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = { "pid=7,penalty=1.5,mpki=30", "mpki=0,pid=7", "pid=7,penalty=1e3",
				   NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_task task = { .pid = 7, .penalty = 1 };
	struct np_tasks t = { .n = 1, .task = &task };
	char *text = fuzz_string(data, size);
	struct np_err err = { "" };

	/* Refused with a reason and no effect, or a number that a policy can work with. */
	if (np_tasks_assume(&t, text, &err))
		FUZZ_CLAIM(err.text[0] && task.penalty_source == NP_PROVENANCE_NONE &&
			   task.mpki_source == NP_PROVENANCE_NONE);
	FUZZ_CLAIM(task.penalty >= 1 && task.penalty < 1e9 && task.mpki >= 0 && task.mpki < 1e9);
	free(text);
	return 0;
}
