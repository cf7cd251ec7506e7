// SPDX-License-Identifier: GPL-2.0-only
/* Data of /proc about processes. */
#include "../../lib/host/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/error.h"
#include "../../lib/host/cgroup.h"
#include "../fixture.h"

TEST(names_with_blanks_and_brackets)
{
	struct np_proc_stat st;

	CU_ASSERT_EQUAL_FATAL(np_proc_stat_parse("42 (a) b (c)) S 7 2 3 4 -1 4194560 1 2 3 4 700 50 0 "
						 "0 20 0 5 0 123456 1000 20 18446744073709551615 1 1 "
						 "0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n",
						 &st),
			      0);
	CU_ASSERT_STRING_EQUAL(st.comm, "a) b (c)");
	CU_ASSERT(st.pid == 42 && st.ppid == 7 && st.state == 'S');
	CU_ASSERT(st.ticks == 750 && st.threads == 5 && st.start == 123456 && st.cpu == 3);
	CU_ASSERT(!st.kernel_thread && !st.fixed_affinity);
}

/* A process may have any name: none may give a terminal orders, or begin a line of a log. */
TEST(names_that_a_terminal_obeys)
{
	struct np_proc_stat st;

	CU_ASSERT_EQUAL_FATAL(np_proc_stat_parse("42 (\033c\na\177\302\233\2330m\303\244) S 7 2 3 4 -1 "
						 "4194560 1 2 3 4 700 50 0 0 20 0 5 0 123456 1000 20 "
						 "1 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n",
						 &st),
			      0);
	CU_ASSERT_STRING_EQUAL(st.comm, "?c a????0m\303\244");
}

TEST(malformed_stat)
{
	static const char *const bad[] = { "", "42", "42 (a", "42 a) S 1", ")(", "42 (a) S 1 2 3" };
	struct np_proc_stat st;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_NOT_EQUAL(np_proc_stat_parse(bad[i], &st), 0);
}

TEST(knows_itself)
{
	struct np_proc_stat st;
	struct np_err err;
	pid_t *tids;
	size_t n;

	CU_ASSERT_EQUAL(np_proc_check(getpid(), false, &st, &err), 0);
	CU_ASSERT(st.pid == getpid() && st.ppid == getppid() && !st.kernel_thread);
	CU_ASSERT_EQUAL(np_proc_group(getpid()), getpid());
	CU_ASSERT_EQUAL_FATAL(np_proc_threads(getpid(), &tids, &n), 0);
	CU_ASSERT(n == 1 && tids[0] == getpid());
	free(tids);
}

TEST(refuses_what_is_no_user_process)
{
	struct np_proc_stat st;
	struct np_err err;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	while (!np_proc_stat(child, &st) && st.state != 'Z')
		usleep(1000);
	CU_ASSERT_EQUAL(np_proc_check(child, false, &st, &err), -ESRCH);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "exited"));
	waitpid(child, NULL, 0);
	CU_ASSERT_EQUAL(np_proc_check(child, false, &st, &err), -ESRCH);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no process"));
	CU_ASSERT_EQUAL(np_proc_check(0, false, &st, &err), -ESRCH);
	CU_ASSERT_EQUAL(np_proc_check(-1, false, &st, &err), -ESRCH);
	CU_ASSERT_EQUAL(np_proc_check(0x7fffffff, false, &st, &err), -ESRCH);
}

TEST(one_that_is_not_there_is_all_zeroes)
{
	struct np_proc_stat st;

	memset(&st, 0xff, sizeof(st));
	CU_ASSERT_EQUAL(np_proc_stat(0x7ffffff0, &st), -ESRCH);
	CU_ASSERT(st.start == 0 && st.ppid == 0 && !st.comm[0] && !st.kernel_thread);
}

TEST(a_dot_is_no_type_of_a_unit)
{
	static const char *const names[][2] = { { "redis", "redis.service" },
						{ "redis.service", "redis.service" },
						{ "php8.2-fpm", "php8.2-fpm.service" },
						{ "php8.2-fpm.service", "php8.2-fpm.service" },
						{ "user.slice", "user.slice" } };
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		np_unit_name(names[i][0], name, sizeof(name));
		CU_ASSERT_STRING_EQUAL(name, names[i][1]);
	}
}
