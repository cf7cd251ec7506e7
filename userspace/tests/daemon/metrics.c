// SPDX-License-Identifier: GPL-2.0-only
/* The daemon's metrics, in a folder that is another user's. */
#include "../../lib/daemon/event_log.h"
#include "../../lib/daemon/metrics.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/host/proc.h"
#include "../fixture.h"

TEST(the_file_is_written_through_no_link)
{
	static const char *const names[] = { "m.prom", "m.prom.new", "m.prom.new.%d" };
	const struct np_daemon d = {
		.args.policy = np_policy_find("maximum-local"),
		.how.engine = &fake_engine,
	};
	const char *root = fixture_begin();
	char file[128], target[128], link[128], name[64], *text;
	struct np_err err;
	struct np_metrics x;
	struct stat st;

	fixture_write("passwd", "of somebody else");
	snprintf(target, sizeof(target), "%s/passwd", root);
	snprintf(file, sizeof(file), "%s/m.prom", root);
	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), names[i], getpid());
		snprintf(link, sizeof(link), "%s/%s", root, name);
		CU_ASSERT_EQUAL(symlink(target, link), 0);
	}
	CU_ASSERT_EQUAL_FATAL(np_metrics_open(&x, file, &err), 0);
	CU_ASSERT_EQUAL(np_metrics_write(&x, &d, &err), 0);
	CU_ASSERT(!lstat(file, &st) && S_ISREG(st.st_mode) && st.st_size > 100);
	text = np_read_file(target);
	CU_ASSERT_STRING_EQUAL(text, "of somebody else");
	free(text);
	np_metrics_close(&x);
	fixture_end();
}

TEST(only_a_file_is_written)
{
	static const char *const wrong[] = { "unix:/run/numaplace/metrics",
					     "http://localhost:9100" };
	struct np_err err;
	struct np_metrics x;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CU_ASSERT_EQUAL(np_metrics_open(&x, wrong[i], &err), -EINVAL);
		CU_ASSERT(strstr(err.text, wrong[i]) && strstr(err.text, "give its path"));
	}
}

/* Nobody reads it: opening it for writing would wait for a reader. */
TEST(events_wait_for_no_reader_of_a_fifo)
{
	const char *root = fixture_begin();
	struct np_events events = { 0 };
	struct np_err err;
	char path[128];

	snprintf(path, sizeof(path), "%s/events", root);
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	alarm(60); /* ends the tests where it waits */
	CU_ASSERT_EQUAL(np_events_open(&events, path, &err), -ENXIO);
	alarm(0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "a FIFO that nobody reads"));
}

/* As on a full disk: files become no larger. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_full_disk_is_told_once)
{
	const struct np_daemon d = {
		.args.policy = np_policy_find("maximum-local"),
		.how.engine = &fake_engine,
	};
	struct np_metrics x;
	struct np_err err;
	char path[128];

	snprintf(path, sizeof(path), "%s/m.prom", fixture_begin());
	CU_ASSERT_EQUAL_FATAL(np_metrics_open(&x, path, &err), 0);
	CU_ASSERT_EQUAL(np_metrics_write(&x, &d, &err), 0);
	limit_files(1000);
	CU_ASSERT_EQUAL(np_metrics_write(&x, &d, &err), -EFBIG);
	CU_ASSERT_EQUAL(np_metrics_write(&x, &d, &err), 0);
	limit_files(RLIM_INFINITY);
	CU_ASSERT_EQUAL(np_metrics_write(&x, &d, &err), 0);
	limit_files(1000);
	CU_ASSERT_EQUAL(np_metrics_write(&x, &d, &err), -EFBIG);
	limit_files(RLIM_INFINITY);
	np_metrics_close(&x);
	fixture_end();
}

TEST(a_file_that_cannot_be_written_is_refused_at_the_start)
{
	struct np_metrics x;
	struct np_err err;
	char path[128];

	snprintf(path, sizeof(path), "%s/none/m.prom", fixture_begin());
	CU_ASSERT_EQUAL(np_metrics_open(&x, path, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "none/m.prom cannot be written: No such file"));
	np_metrics_close(&x);
	fixture_end();
}

/* A line that does not fit leaves no part of it for the next one to continue. */
TEST(an_event_is_a_whole_line_or_none)
{
	struct np_events events = { 0 };
	struct np_err err;
	char path[128], *text, *save;
	int lines = 0;

	snprintf(path, sizeof(path), "%s/events", fixture_begin());
	CU_ASSERT_EQUAL_FATAL(np_events_open(&events, path, &err), 0);
	CU_ASSERT(np_event(&events, 1, "first", NULL, &err));
	limit_files(100);
	CU_ASSERT_FALSE(np_event(&events, 2, "does not fit", NULL, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, strerror(EFBIG)));
	CU_ASSERT(np_event(&events, 3, "is told once", NULL, &err));
	limit_files(RLIM_INFINITY);
	CU_ASSERT(np_event(&events, 4, "last", NULL, &err));
	np_events_close(&events);
	text = np_read_file(path);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *event = json_loads(line, 0, NULL);

		CU_ASSERT_PTR_NOT_NULL(event);
		json_decref(event);
		lines++;
	}
	CU_ASSERT_EQUAL(lines, 2);
	free(text);
	fixture_end();
}
