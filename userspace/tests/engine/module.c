// SPDX-License-Identifier: GPL-2.0-only
/* The module's answers: version, records. */
#include "../../lib/host/module_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/base/error.h"
#include "../../lib/base/record.h"
#include "../../lib/engine/module.h"
#include "subject.h"
#include "../fixture.h"

TEST(versions)
{
	static const char *const bad[] = { "",
					   "abi=1",
					   "numaplace=1",
					   "numaplace=1 abi=",
					   "numaplace=1 abi=x",
					   "numaplace=1 abi=-1",
					   "numaplace=1 abi=99999999999",
					   "numaplace=1\nabi=1" };
	struct np_module_info info;

	CU_ASSERT_EQUAL(np_module_version_parse("numaplace=0.1.0 abi=2\n", &info), 0);
	CU_ASSERT_STRING_EQUAL(info.version, "0.1.0");
	CU_ASSERT_EQUAL(info.abi, 2);
	CU_ASSERT_EQUAL(np_module_version_parse("abi=7 new=x numaplace=2", &info), 0);
	CU_ASSERT_EQUAL(info.abi, 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(np_module_version_parse(bad[i], &info), -EINVAL);
}

/* What the module is asked, with nothing behind its file. */
static void asked(const struct np_migrate_request *r, const char *line)
{
	struct np_migrate_result out;
	char want[256], *got;
	struct np_err err;

	fixture_write("migrate", "");
	CU_ASSERT_EQUAL(np_module_migrate(r, &out, &err), -EPROTO);
	got = np_module_read("migrate");
	snprintf(want, sizeof(want), "pid=%d from=any to=1 start=0x%llx end=0x%llx%s\n", r->pid,
		 (unsigned long long)r->start, (unsigned long long)r->end, line);
	CU_ASSERT_PTR_NOT_NULL_FATAL(got);
	CU_ASSERT_STRING_EQUAL(got, want);
	free(got);
}

TEST(a_request_is_one_line)
{
	static _Alignas(4096) char pages[2][4096];
	struct np_migrate_request r = { .pid = getpid(), .to = 1 };

	r.start = (uint64_t)(uintptr_t)pages;
	r.end = r.start + sizeof(pages);
	np_module_use_dir(fixture_begin());
	asked(&r, " files=0");
	r.files = r.dry = true;
	r.limit = 17;
	r.max_stall_us = 500;
	r.rate_mib = 3;
	r.threads = 2;
	r.shared = r.split = true;
	asked(&r, " limit=17 max_stall_us=500 shared=1 split=1 dry=1");
	np_module_use_dir(NULL);
	fixture_end();
}

TEST(records)
{
	const char *text =
		"job=12 pid=4 state=done from=0-1 asked=18446744073709551615 moved=1x empty=\n"
		"job=3 state=running\n\n";
	char value[16], tiny[3];
	uint64_t number;

	CU_ASSERT(np_record_get(text, "state", value, sizeof(value)) && !strcmp(value, "done"));
	CU_ASSERT(np_record_get(text, "empty", value, sizeof(value)) == false || value[0] == '\0');
	CU_ASSERT(!np_record_get(text, "stat", value, sizeof(value)));
	CU_ASSERT(!np_record_get(text, "ob", value, sizeof(value)));
	CU_ASSERT(!np_record_get(text, "state", tiny, sizeof(tiny)));
	CU_ASSERT(np_record_number(text, "asked", &number) && number == UINT64_MAX);
	CU_ASSERT(!np_record_number(text, "moved", &number));
	CU_ASSERT(!np_record_number(text, "state", &number));
	CU_ASSERT(!np_record_number("a=18446744073709551616", "a", &number));
	CU_ASSERT(!np_record_number("a=-1", "a", &number));
	text = np_record_next(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT(np_record_number(text, "job", &number) && number == 3);
	CU_ASSERT(!np_record_get(text, "pid", value, sizeof(value)));
	CU_ASSERT_PTR_NULL(np_record_next("last"));
	CU_ASSERT_PTR_NULL(np_record_next("last\n"));
}

/* The table still has the thread after the module has refused. */
TEST(what_is_refused_is_not_counted)
{
	pid_t pid = getpid();
	size_t n = 7, kept;
	char line[256];
	struct np_err err;

	np_module_use_dir(fixture_begin());
	fixture_write("version", "numaplace=0.1.0 abi=2\n");
	fixture_write("restore/folder", ""); /* cannot be written */
	snprintf(line, sizeof(line),
		 "tid=%d pid=%d comm=a cpus=- saved_cpus=- mem=bind:0 "
		 "saved_mem=default inherit=1\n",
		 pid, pid);
	fixture_write("placements", line);
	CU_ASSERT_EQUAL(np_module_restore(NP_WHOSE(&pid), &n, &kept, &err), -EISDIR);
	CU_ASSERT(n == 0 && kept == 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the module cannot restore process"));
	CU_ASSERT_EQUAL(np_module_restore(NP_EVERYBODY, &n, &kept, &err), -EISDIR);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the module cannot restore all processes"));
	np_module_use_dir(NULL);
	fixture_end();
}

/* The folder's module takes the line and gives the process nothing of it. */
TEST(more_than_the_module_can_give_leaves_what_it_gave_before)
{
	pid_t pid = subject_start(subject_waits);
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	const struct np_place_request r = {
		.pid = pid, .cpus = numa_bitmask_setbit(cpus, 0), .mem_mode = -1, .inherit = true
	};
	struct np_err err;
	char *asked;

	np_module_use_dir(fixture_begin());
	fixture_write("version", "numaplace=0.1.0 abi=2\n");
	fixture_write("placements", "");
	fixture_write("place", "");
	fixture_write("restore", "");
	subject_set(pid, "1");
	CU_ASSERT_EQUAL(np_module_place(&r, &err), 0);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "0");
	asked = np_module_read("restore");
	CU_ASSERT_STRING_EQUAL(asked ? asked : "", "");
	free(asked);
	np_module_use_dir(NULL);
	fixture_end();
	subject_restore(pid, NULL);
	CU_ASSERT_STRING_EQUAL(subject_cpus(pid), "1");
	numa_bitmask_free(cpus);
	fixture_end_child(pid);
}

TEST(an_unloaded_module_is_named)
{
	const struct np_migrate_request r = { .pid = getpid() };
	struct np_migrate_result out;
	struct np_err err;

	np_module_use_dir(fixture_begin());
	CU_ASSERT_EQUAL(np_module_migrate(&r, &out, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ": the module is not loaded any more"));
	np_module_use_dir(NULL);
	fixture_end();
}
