// SPDX-License-Identifier: GPL-2.0-only
/* Processes that have a connection with each other, and those that only seem to. */
#include "../../lib/host/task_groups.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fixture.h"

#define HOLDERS	    6
#define DESCRIPTORS 1024

static struct np_task task[HOLDERS];
static size_t n;

/* A process that has two descriptors and nothing else; -1: none. */
static void holder(int one, int other)
{
	pid_t pid = fork();

	if (!pid) {
		for (int fd = 0; fd < DESCRIPTORS; fd++)
			if (fd != one && fd != other)
				close(fd);
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	CU_ASSERT_FATAL(pid > 0 && n < HOLDERS);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, WUNTRACED), pid);
	task[n++] = (struct np_task) { .pid = pid, .group = 7 };
}

static void groups(void)
{
	CU_ASSERT_EQUAL(np_task_groups(task, n), 0);
}

static void end_all(int *fds, size_t n_fds)
{
	for (size_t i = 0; i < n; i++) {
		kill(task[i].pid, SIGKILL);
		waitpid(task[i].pid, NULL, 0);
	}
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	n = 0;
}

static void a_pipe_joins_writers_and_readers(void)
{
	int fds[4];

	CU_ASSERT_FATAL(!pipe(fds) && !pipe(fds + 2));
	holder(fds[0], -1);
	holder(fds[1], -1);
	/* Two that write to a process outside of the set, and one that has nothing. */
	holder(fds[3], -1);
	holder(fds[3], -1);
	holder(-1, -1);
	groups();
	CU_ASSERT(task[0].group == 1 && task[1].group == 1);
	CU_ASSERT(!task[2].group && !task[3].group && !task[4].group);
	end_all(fds, 4);
}

static void groups_are_joined_by_a_member_of_both(void)
{
	int fds[6];

	CU_ASSERT_FATAL(!pipe(fds) && !socketpair(AF_UNIX, SOCK_STREAM, 0, fds + 2) &&
			!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds + 4));
	holder(fds[0], -1);
	holder(fds[1], fds[2]);
	holder(fds[3], -1);
	holder(fds[4], -1);
	holder(fds[5], -1);
	groups();
	CU_ASSERT(task[0].group && task[0].group == task[1].group &&
		  task[1].group == task[2].group);
	CU_ASSERT(task[3].group && task[3].group == task[4].group);
	CU_ASSERT_NOT_EQUAL(task[0].group, task[3].group);
	end_all(fds, 6);
}

/* fds: the server's listening socket, the client's, and the one that the server accepts. */
static void connect_over_loopback(int *fds, int family)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	socklen_t len = sizeof(six);
	int off = 0;

	fds[0] = socket(family, SOCK_STREAM, 0);
	if (family == AF_INET6)
		setsockopt(fds[0], IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_FATAL(!bind(fds[0], family == AF_INET6 ? (void *)&six : (void *)&four,
			      family == AF_INET6 ? sizeof(six) : sizeof(four)) &&
			!listen(fds[0], 1) && !getsockname(fds[0], (void *)&six, &len));
	four.sin_port = six.sin6_port; /* at the same place in both */
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	CU_ASSERT_FATAL(!connect(fds[1], (void *)&four, sizeof(four)));
	fds[2] = accept(fds[0], NULL, NULL);
	CU_ASSERT_FATAL(fds[2] >= 0);
}

static void tcp(int family)
{
	int fds[6];

	connect_over_loopback(fds, family);
	connect_over_loopback(fds + 3, family);
	/* Listening joins nobody: workers share the socket of their first process. */
	holder(fds[0], fds[2]);
	holder(fds[0], -1);
	holder(fds[1], -1);
	holder(fds[4], -1);
	groups();
	CU_ASSERT(task[0].group == 1 && task[2].group == 1);
	CU_ASSERT(!task[1].group && !task[3].group);
	end_all(fds, 6);
}

static void tcp_joins_both_ends(void)
{
	tcp(AF_INET);
}

static void a_client_by_ipv4_of_a_server_by_ipv6(void)
{
	tcp(AF_INET6);
}

static void one_that_is_not_there(void)
{
	task[n++] = (struct np_task) { .pid = 0x7fffffff, .group = 7 };
	groups();
	CU_ASSERT_EQUAL(task[0].group, 0);
	n = 0;
	groups();
}

static CU_TestInfo groups_tests[] = {
	TEST(a_pipe_joins_writers_and_readers),
	TEST(groups_are_joined_by_a_member_of_both),
	TEST(tcp_joins_both_ends),
	TEST(a_client_by_ipv4_of_a_server_by_ipv6),
	TEST(one_that_is_not_there),
	CU_TEST_INFO_NULL,
};

TEST_SUITE("task groups", groups_tests);
