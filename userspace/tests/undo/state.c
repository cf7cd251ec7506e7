// SPDX-License-Identifier: GPL-2.0-only
/* The file that holds the originals. */
#include "../../lib/undo/saved_affinity.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/base/error.h"
#include "../../lib/engine/affinity.h"
#include "../../lib/host/proc.h"
#include "../../lib/undo/placed_tasks.h"
#include "../fixture.h"

static char path[128];

static void state_begin(void)
{
	snprintf(path, sizeof(path), "%s/state.json", fixture_begin());
}

/* Opens the state and adds a record of a process, as it is or with another start time. */
static void add_record(struct np_saved_affinity *s, pid_t pid, int start_off)
{
	struct np_saved r = { .tid = pid, .pid = pid };
	struct np_proc_stat st;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(np_saved_affinity_open(s, path, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_proc_stat(pid, &st), 0);
	r.start = st.start + (unsigned long long)start_off;
	r.original = numa_bitmask_alloc(NP_MAX_CPUS);
	r.set = numa_bitmask_alloc(NP_MAX_CPUS);
	np_list_parse_kernel("0-3,8191", r.original);
	np_list_parse_kernel("1", r.set);
	CU_ASSERT_EQUAL(np_saved_affinity_add(s, &r), 0);
	numa_bitmask_free(r.original);
	numa_bitmask_free(r.set);
}

TEST(survives_the_tool)
{
	char list[NP_LIST_LEN];
	struct np_err err;
	struct np_saved_affinity s;
	struct stat st;

	state_begin();
	add_record(&s, getpid(), 0);
	CU_ASSERT_EQUAL(np_saved_affinity_save(&s, &err), 0);
	np_saved_affinity_close(&s);
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
	CU_ASSERT_EQUAL_FATAL(np_saved_affinity_open(&s, path, &err), 0);
	CU_ASSERT_EQUAL_FATAL(s.n, 1);
	CU_ASSERT_STRING_EQUAL(np_list_format(s.saved[0].original, list, sizeof(list)), "0-3,8191");
	CU_ASSERT_STRING_EQUAL(np_list_format(s.saved[0].set, list, sizeof(list)), "1");
	np_saved_affinity_drop(&s, getpid());
	CU_ASSERT_PTR_NULL(np_saved_affinity_find(&s, getpid()));
	np_saved_affinity_close(&s);
	fixture_end();
}

TEST(keeps_any_mask_whole)
{
	struct bitmask *odd = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_err err;
	struct np_saved_affinity s;

	for (unsigned int cpu = 1; cpu < NP_MAX_CPUS; cpu += 2)
		numa_bitmask_setbit(odd, cpu);
	state_begin();
	add_record(&s, getpid(), 0);
	copy_bitmask_to_bitmask(odd, s.saved[0].original);
	CU_ASSERT_EQUAL(np_saved_affinity_save(&s, &err), 0);
	np_saved_affinity_close(&s);
	CU_ASSERT_EQUAL_FATAL(np_saved_affinity_open(&s, path, &err), 0);
	CU_ASSERT_EQUAL_FATAL(s.n, 1);
	CU_ASSERT(numa_bitmask_equal(s.saved[0].original, odd));
	np_saved_affinity_close(&s);
	numa_bitmask_free(odd);
	fixture_end();
}

TEST(forgets_a_reused_pid)
{
	struct np_err err;
	struct np_saved_affinity s;

	state_begin();
	add_record(&s, getpid(), -1);
	CU_ASSERT_EQUAL(np_saved_affinity_save(&s, &err), 0);
	np_saved_affinity_close(&s);
	CU_ASSERT_EQUAL_FATAL(np_saved_affinity_open(&s, path, &err), 0);
	CU_ASSERT_EQUAL(s.n, 0);
	np_saved_affinity_close(&s);
	fixture_end();
}

TEST(forgets_an_earlier_boot)
{
	char text[512];
	struct np_err err;
	struct np_proc_stat st;
	struct np_saved_affinity s;

	state_begin();
	np_proc_stat(getpid(), &st);
	snprintf(text, sizeof(text),
		 "{\"boot\":\"another\",\"threads\":[{\"tid\":%d,\"pid\":%d,"
		 "\"start\":%llu,\"inherit\":false,\"original\":\"0\",\"set\":\"1\"}]}",
		 getpid(), getpid(), st.start);
	fixture_write("state.json", text);
	CU_ASSERT_EQUAL_FATAL(np_saved_affinity_open(&s, path, &err), 0);
	CU_ASSERT_EQUAL(s.n, 0);
	np_saved_affinity_close(&s);
	fixture_end();
}

TEST(refuses_a_damaged_file)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"boot\":1,\"threads\":[]}",
		"{\"boot\":\"x\",\"threads\":{}}",
	};
	static const char *const bad_records[] = {
		"1",
		"{}",
		"{\"tid\":1,\"pid\":1,\"start\":1,\"inherit\":false,\"original\":\"0\"}",
		"{\"tid\":1,\"pid\":1,\"start\":1,\"inherit\":false,\"original\":\"\",\"set\":\"0\"}",
		"{\"tid\":1,\"pid\":1,\"start\":1,\"inherit\":false,\"original\":\"9999\",\"set\":\"0\"}",
		"{\"tid\":1,\"pid\":1,\"start\":1,\"inherit\":false,\"original\":\"0-\",\"set\":\"0\"}",
	};
	char text[512], *boot = np_read_file("/proc/sys/kernel/random/boot_id");
	struct np_err err;
	struct np_saved_affinity s;

	state_begin();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fixture_write("state.json", bad[i]);
		CU_ASSERT_EQUAL(np_saved_affinity_open(&s, path, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
	}
	for (size_t i = 0; i < sizeof(bad_records) / sizeof(bad_records[0]); i++) {
		snprintf(text, sizeof(text), "{\"boot\":\"%.36s\",\"threads\":[%s]}", boot,
			 bad_records[i]);
		fixture_write("state.json", text);
		CU_ASSERT_EQUAL(np_saved_affinity_open(&s, path, &err), -EINVAL);
	}
	free(boot);
	fixture_end();
}

static void add_to(struct np_saved_affinity *s, pid_t pid)
{
	struct np_saved r = { .tid = pid,
			      .pid = pid,
			      .original = numa_bitmask_alloc(NP_MAX_CPUS),
			      .set = numa_bitmask_alloc(NP_MAX_CPUS) };
	struct np_proc_stat st;

	CU_ASSERT_EQUAL_FATAL(np_proc_stat(pid, &st), 0);
	r.start = st.start;
	np_list_parse_kernel("2", r.original);
	np_list_parse_kernel("3", r.set);
	np_saved_affinity_drop(s, pid);
	CU_ASSERT_EQUAL(np_saved_affinity_add(s, &r), 0);
	numa_bitmask_free(r.original);
	numa_bitmask_free(r.set);
}

static void append_text(const char *text)
{
	FILE *f = fopen(path, "a");

	fputs(text, f);
	fclose(f);
}

/* A line that was cut by a crash is about a thread that was not touched yet. */
TEST(appends_and_forgives_a_cut_line)
{
	char list[NP_LIST_LEN];
	struct np_err err;
	pid_t child = fixture_start_idle();
	struct stat first, then;
	struct np_saved_affinity s;

	state_begin();
	add_record(&s, getpid(), 0);
	CU_ASSERT_EQUAL(np_saved_affinity_record(&s, &err), 0);
	stat(path, &first);
	add_to(&s, getpid());
	add_to(&s, child);
	CU_ASSERT_EQUAL(np_saved_affinity_record(&s, &err), 0);
	np_saved_affinity_close(&s);
	stat(path, &then);
	CU_ASSERT(first.st_ino == then.st_ino && first.st_size < then.st_size);
	append_text("{\"tid\":");
	for (int pass = 0; pass < 2; pass++) {
		CU_ASSERT_EQUAL_FATAL(np_saved_affinity_open(&s, path, &err), 0);
		CU_ASSERT_EQUAL_FATAL(s.n, 2);
		np_list_format(np_saved_affinity_find(&s, getpid())->original, list, sizeof(list));
		CU_ASSERT_STRING_EQUAL(list, "2");
		add_to(&s, child);
		CU_ASSERT_EQUAL(np_saved_affinity_record(&s, &err), 0);
		np_saved_affinity_close(&s);
	}
	append_text("x\n");
	CU_ASSERT_EQUAL(np_saved_affinity_open(&s, path, &err), -EINVAL);
	fixture_end_child(child);
	fixture_end();
}

static void on_alarm(int signal)
{
}

/* The wait can be interrupted, and names the process that holds the lock. */
TEST(a_held_lock_says_who_holds_it)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 50000 }, { 0, 50000 } }, none = { 0 };
	struct np_saved_affinity s;
	char who[32];
	struct np_err err = { "" };
	pid_t holder;

	state_begin();
	holder = fixture_hold_state(path);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	CU_ASSERT_EQUAL(np_saved_affinity_open(&s, path, &err), -EINTR);
	setitimer(ITIMER_REAL, &none, NULL);
	snprintf(who, sizeof(who), "process %d (", holder);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, who));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
	fixture_end_child(holder);
	CU_ASSERT_EQUAL(np_saved_affinity_open(&s, path, &err), 0);
	np_saved_affinity_close(&s);
	fixture_end();
}

static const char *const in_namespaces =
	"{\"boot\":\"%.36s\",\"%s\":[{\"pid\":%d,\"tid\":%d,\"start\":1,\"pid_namespace\":1},"
	"{\"pid\":1,\"tid\":1,\"start\":1,\"pid_namespace\":2},"
	"{\"pid\":3,\"tid\":3,\"start\":2,\"inherit\":false,\"original\":\"0\",\"set\":\"1\"}]}\n";

/* Number of records of other namespaces in the file. */
static size_t foreign_in(const char *file, const char *array)
{
	struct np_state_file f;
	struct np_err err = { "" };
	json_t *records;
	size_t n;

	CU_ASSERT_EQUAL_FATAL(np_state_file_open(&f, file, NULL, &err), 0);
	CU_ASSERT_EQUAL(np_state_file_load(&f, array, "it is", &records, &err), 0);
	n = json_array_size(f.foreign);
	np_state_file_say_foreign(&f, &err);
	CU_ASSERT_STRING_EQUAL(
		err.text,
		n ? "2 placements belong to pid namespace 1 and others: restore them there" : "");
	json_decref(records);
	np_state_file_close(&f);
	return n;
}

/* A record without a namespace is of this one: its thread has exited. */
TEST(records_of_other_namespaces_stay)
{
	char text[1024], *boot = np_read_file("/proc/sys/kernel/random/boot_id");
	struct np_saved_affinity s;
	struct np_err err;

	state_begin();
	snprintf(text, sizeof(text), in_namespaces, boot, "threads", getpid(), getpid());
	fixture_write("state.json", text);
	add_record(&s, getpid(), 0);
	CU_ASSERT_EQUAL(s.n, 1);
	CU_ASSERT_EQUAL(np_saved_affinity_record(&s, &err), 0);
	np_saved_affinity_close(&s);
	CU_ASSERT_EQUAL(foreign_in(path, "threads"), 2);
	CU_ASSERT_EQUAL_FATAL(np_saved_affinity_open(&s, path, &err), 0);
	CU_ASSERT_EQUAL(s.n, 1);
	np_saved_affinity_drop(&s, getpid());
	CU_ASSERT_EQUAL(np_saved_affinity_save(&s, &err), 0);
	np_saved_affinity_close(&s);
	CU_ASSERT_EQUAL(foreign_in(path, "threads"), 2);
	free(boot);
	fixture_end();
}

TEST(tasks_of_daemons_of_other_namespaces_stay)
{
	char text[1024], file[PATH_MAX], *boot = np_read_file("/proc/sys/kernel/random/boot_id");
	struct np_daemon_placed p = { 0 };
	struct np_err err;
	FILE *out;

	setenv("XDG_RUNTIME_DIR", fixture_begin(), 1);
	CU_ASSERT_EQUAL_FATAL(np_state_folder(file, sizeof(file) - 16, &err), 0);
	strcat(file, "/daemon.json");
	snprintf(text, sizeof(text), in_namespaces, boot, "tasks", getpid(), getpid());
	out = fopen(file, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	fputs(text, out);
	fclose(out);
	CU_ASSERT_EQUAL(np_daemon_placed_write(&p, &err), 0);
	CU_ASSERT_EQUAL(foreign_in(file, "tasks"), 2);
	unlink(file);
	free(boot);
	fixture_end();
}
