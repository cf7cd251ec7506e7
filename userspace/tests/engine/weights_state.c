// SPDX-License-Identifier: GPL-2.0-only
/* Weights that are written, counted, and given back, in a folder that stands for sysfs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/error.h"
#include "../../lib/engine/saved_weights.h"
#include "../../lib/host/interleave_weights.h"
#include "../../lib/host/proc.h"
#include "../fixture.h"

#define FOLDER "sys/kernel/mm/mempolicy/weighted_interleave/"

static const char *root;
static struct np_weights_user user[2];
static struct np_err err;

static void start_user(struct np_weights_user *u)
{
	struct np_proc_stat st;

	*u = (struct np_weights_user) { .pid = fork() };
	if (!u->pid)
		while (true)
			pause();
	CU_ASSERT_FATAL(u->pid > 0 && !np_proc_stat(u->pid, &st));
	u->start = st.start;
}

static void end_user(struct np_weights_user *u)
{
	kill(u->pid, SIGKILL);
	waitpid(u->pid, NULL, 0);
}

static void begin(void)
{
	root = fixture_begin();
	fixture_write(FOLDER "node0", "1\n");
	fixture_write(FOLDER "node2", "4\n");
	start_user(&user[0]);
	start_user(&user[1]);
}

static void end(void)
{
	end_user(&user[0]);
	end_user(&user[1]);
	fixture_end();
}

static bool kernel_has(int first, int second)
{
	json_t *now = np_weights_kernel_read(root),
	       *is = json_pack("{s:i, s:i}", "0", first, "2", second);
	bool same = json_equal(now, is);

	json_decref(is);
	json_decref(now);
	return same;
}

static int take(struct np_weights_user *u, int first, int second)
{
	json_t *weights = json_pack("{s:i, s:i}", "0", first, "2", second);
	int e = np_weights_take(root, weights, u, 1, &err);

	json_decref(weights);
	return e;
}

static bool is_it(const struct np_weights_user *u, const void *arg)
{
	const struct np_weights_user *wanted = arg;

	return u->pid == wanted->pid && u->start == wanted->start;
}

static struct np_weights_back drop(const struct np_weights_user *u)
{
	struct np_weights_back back;

	CU_ASSERT_EQUAL(np_weights_drop(root, is_it, u, &back, &err), 0);
	return back;
}

static bool is_by(const struct np_weights_user *u, const void *by)
{
	return !strcmp(u->by, by);
}

static struct np_weights_back drop_by(const char *by)
{
	struct np_weights_back back;

	CU_ASSERT_EQUAL(np_weights_drop(root, is_by, by, &back, &err), 0);
	return back;
}

static void the_last_user_gives_them_back(void)
{
	begin();
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	CU_ASSERT(kernel_has(100, 37));
	CU_ASSERT_EQUAL(take(&user[1], 200, 74), 0);
	CU_ASSERT(kernel_has(100, 37)); /* in proportion: left as they are */
	CU_ASSERT(user[0].added && user[1].added);
	CU_ASSERT_EQUAL(drop(&user[0]).users, 1);
	CU_ASSERT(kernel_has(100, 37));
	CU_ASSERT_STRING_EQUAL(drop(&user[1]).text,
			       "the kernel's weights for interleaving are 0:1 2:4 again");
	CU_ASSERT(kernel_has(1, 4));
	CU_ASSERT_STRING_EQUAL(drop(&user[1]).text, "");
	end();
}

static void different_ones_are_refused(void)
{
	char line[NP_ERR_LEN];

	begin();
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	CU_ASSERT_EQUAL(take(&user[1], 37, 100), -EBUSY);
	snprintf(line, sizeof(line),
		 "weights 0:37 2:100 cannot be written: process %d goes by 0:100 2:37, and the "
		 "kernel has one set; `numaplace restore %d` gives that up",
		 user[0].pid, user[0].pid);
	CU_ASSERT_STRING_EQUAL(err.text, line);
	CU_ASSERT(kernel_has(100, 37));
	CU_ASSERT_EQUAL(drop(&user[1]).users, 0);
	CU_ASSERT(kernel_has(100, 37));
	drop(&user[0]);
	CU_ASSERT(kernel_has(1, 4));
	end();
}

/* At the end of a later one, which gives back those by it, they stay. */
static void those_of_a_daemon_that_left_stay(void)
{
	begin();
	snprintf(user[0].by, sizeof(user[0].by), "test");
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	CU_ASSERT_EQUAL(np_weights_leave(root, "test", &err), 0);
	CU_ASSERT_EQUAL(drop_by("test").users, 0);
	CU_ASSERT(kernel_has(100, 37));
	CU_ASSERT_EQUAL(drop(&user[0]).users, 1);
	CU_ASSERT(kernel_has(1, 4));
	CU_ASSERT_EQUAL(np_weights_leave(root, "test", &err), 0);
	end();
}

static void who_has_exited_holds_nothing(void)
{
	begin();
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	end_user(&user[0]);
	CU_ASSERT_EQUAL(take(&user[1], 37, 100), 0);
	CU_ASSERT(kernel_has(37, 100));
	drop(&user[1]);
	CU_ASSERT(kernel_has(1, 4)); /* not what the first had set */
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	CU_ASSERT_FALSE(user[0].added);
	CU_ASSERT(kernel_has(1, 4));
	end();
}

static void the_kernels_own_choice_comes_back(void)
{
	begin();
	fixture_write(FOLDER "auto", "true\n");
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	fixture_write(FOLDER "auto", "false\n"); /* as the kernel does when one is written */
	drop(&user[0]);
	CU_ASSERT(kernel_has(1, 4));
	CU_ASSERT_EQUAL(np_weights_kernel_auto(root), 1);
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	fixture_write(FOLDER "auto", "false\n");
	CU_ASSERT_EQUAL(take(&user[1], 100, 37), 0); /* not noted anew */
	drop(&user[0]);
	CU_ASSERT_EQUAL(np_weights_kernel_auto(root), 0);
	drop(&user[1]);
	CU_ASSERT_EQUAL(np_weights_kernel_auto(root), 1);
	end();
}

static void what_others_wrote_since_is_left(void)
{
	begin();
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	fixture_write(FOLDER "node0", "7\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(drop(&user[0]).text, "left alone"));
	CU_ASSERT(kernel_has(7, 37));
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), 0);
	drop(&user[0]);
	CU_ASSERT(kernel_has(7, 37)); /* that is now what there was before */
	fixture_write(FOLDER "auto", "false\n");
	CU_ASSERT_EQUAL(take(&user[0], 100, 36), 0);
	fixture_write(FOLDER "auto", "true\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(drop(&user[0]).text, "left alone"));
	CU_ASSERT(kernel_has(100, 36));
	end();
}

/*
 * Takes weights and is killed: where a file would grow beyond limit, or else once it is done.
 * The signal that did it.
 */
static int take_and_be_killed(rlim_t limit)
{
	const struct rlimit most = { limit, limit }, none = { 0, 0 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		setrlimit(RLIMIT_FSIZE, &most);
		take(&user[0], 100, 37);
		raise(SIGKILL);
	}
	waitpid(pid, &status, 0);
	return WTERMSIG(status);
}

static void killed_after_writing_it_is_given_back(void)
{
	begin();
	take_and_be_killed(RLIM_INFINITY);
	CU_ASSERT(kernel_has(100, 37));
	drop(&user[0]);
	CU_ASSERT(kernel_has(1, 4));
	take_and_be_killed(RLIM_INFINITY);
	fixture_write(FOLDER "node2", "4\n"); /* as if it had come to node 0 only */
	drop(&user[0]);
	CU_ASSERT(kernel_has(1, 4));
	end();
}

/*
 * There is room for a weight and for a lock's pid, but not for the record. A write that has room
 * for a part fails, one that has none is the end.
 */
static void what_is_not_noted_is_not_written(void)
{
	int killed = 0;

	begin();
	for (rlim_t limit = 11; limit < 64; limit++) {
		killed += take_and_be_killed(limit) == SIGXFSZ;
		CU_ASSERT(kernel_has(1, 4));
	}
	CU_ASSERT(killed > 0);
	end();
}

static void half_written_is_taken_back(void)
{
	json_t *weights = json_pack("{s:i, s:i, s:i}", "0", 100, "2", 37, "3", 5);
	struct np_weights_user u;
	char path[256];

	begin();
	u = user[0];
	snprintf(path, sizeof(path), "%s/%snode3", root, FOLDER);
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
	CU_ASSERT_EQUAL(np_weights_take(root, weights, &u, 1, &err), -EISDIR);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "node3 cannot be written: Is a directory"));
	CU_ASSERT_FALSE(u.added);
	CU_ASSERT(kernel_has(1, 4));
	CU_ASSERT_STRING_EQUAL(drop(&user[0]).text, "");
	json_decref(weights);
	end();
}

static void without_weights_it_says_so(void)
{
	root = fixture_begin();
	CU_ASSERT_EQUAL(np_weights_kernel_check(root, &err), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no interleave weights"));
	start_user(&user[0]);
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), -EOPNOTSUPP);
	end_user(&user[0]);
	fixture_end();
}

static void a_damaged_file_is_said(void)
{
	begin();
	fixture_write("weights.json", "{");
	CU_ASSERT_EQUAL(take(&user[0], 100, 37), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text,
		       "is damaged, so what the kernel's weights were before is not known"));
	CU_ASSERT(kernel_has(1, 4));
	end();
}

static CU_TestInfo weights_state_tests[] = {
	{ "the last user gives them back", the_last_user_gives_them_back },
	{ "different ones are refused", different_ones_are_refused },
	{ "those of a daemon that left stay", those_of_a_daemon_that_left_stay },
	{ "who has exited holds nothing", who_has_exited_holds_nothing },
	{ "the kernel's own choice comes back", the_kernels_own_choice_comes_back },
	{ "what others wrote since is left", what_others_wrote_since_is_left },
	{ "killed after writing it is given back", killed_after_writing_it_is_given_back },
	{ "what is not noted is not written", what_is_not_noted_is_not_written },
	{ "half written is taken back", half_written_is_taken_back },
	{ "without weights it says so", without_weights_it_says_so },
	{ "a damaged file is said", a_damaged_file_is_said },
	CU_TEST_INFO_NULL,
};

TEST_SUITE("weights_state", weights_state_tests);
