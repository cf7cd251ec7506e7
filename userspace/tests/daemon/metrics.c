// SPDX-License-Identifier: GPL-2.0-only
/* The daemon's metrics, in a folder that is another user's. */
#include "../../lib/daemon/event_log.h"
#include "../../lib/daemon/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/host/proc.h"
#include "../fixture.h"

static void the_file_is_written_through_no_link(void)
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

static void only_a_file_is_written(void)
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
static void events_wait_for_no_reader_of_a_fifo(void)
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

static CU_TestInfo metrics_tests[] = {
	{ "the file is written through no link", the_file_is_written_through_no_link },
	{ "events wait for no reader of a FIFO", events_wait_for_no_reader_of_a_fifo },
	{ "only a file is written", only_a_file_is_written },
	CU_TEST_INFO_NULL,
};

TEST_SUITE("metrics", metrics_tests);
