// SPDX-License-Identifier: GPL-2.0-only
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/host/proc.h"
#include "../lib/plan/saved_pages.h"
#include "../lib/undo/saved_affinity.h"
#include "fixture.h"

static char root[64];

const char *fixture_begin(void)
{
	snprintf(root, sizeof(root), "/tmp/numaplace-test-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
	return root;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void fixture_end(void)
{
	CU_ASSERT_EQUAL(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void fixture_write(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	CU_ASSERT_EQUAL(fclose(f), 0);
}

static bool every(size_t i, const void *arg)
{
	return true;
}

bool fixture_note_pages(const struct np_machine *m, pid_t pid, uint64_t on_1)
{
	uint64_t pages[] = { 0, on_1 };
	struct np_task task = { .pid = pid, .pages = pages };
	struct np_proc_stat st;
	struct np_tasks t = { .n = 1, .task = &task, .pages = pages, .start = &st.start };
	struct np_err err;
	bool added = false;

	CU_ASSERT_EQUAL(np_proc_stat(pid, &st), 0);
	CU_ASSERT_EQUAL(np_saved_pages_add(m, &t, every, NULL, &added, &err), 0);
	return added;
}

pid_t fixture_start_idle(void)
{
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	return child;
}

pid_t fixture_hold_state(const char *path)
{
	struct np_saved_affinity held;
	struct np_err err;
	int ready[2];
	char byte;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		np_saved_affinity_open(&held, path, &err);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

void fixture_end_child(pid_t child)
{
	CU_ASSERT_FATAL(child > 0); /* -1 is every process */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
