// SPDX-License-Identifier: GPL-2.0-only
/* Programs that answer a question: what of the caller they see, what of them the caller keeps, what
 * their tasks may use. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/error.h"
#include "../../lib/base/run_program.h"
#include "../../lib/policy/policy_name.h"
#include "../fixture.h"

static char path[256];
static struct np_err err;

/* A shell script below the fixture. */
static void write_script(const char *text)
{
	char script[1024];

	snprintf(path, sizeof(path), "%s/p", fixture_begin());
	snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", text);
	fixture_write("p", script);
	chmod(path, 0755);
}

/* What the program printed, the caller's to free; NULL with err. */
static char *answer(const char *question, double seconds, const volatile sig_atomic_t *stop)
{
	const struct np_run_limits limits = { .seconds = seconds, .bytes = 1 << 20, .stop = stop };
	size_t len;
	char *out;

	np_run_program(path, question, strlen(question), &limits, &out, &len, &err);
	return out;
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool has_children(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
}

static void expect(const char *script, const char *question, const char *printed)
{
	int before = open_descriptors();
	char *text;

	write_script(script);
	text = answer(question, 600, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(text, printed);
	free(text);
	CU_ASSERT_EQUAL(open_descriptors(), before);
	CU_ASSERT_FALSE(has_children());
	fixture_end();
}

TEST(it_reads_the_question_once_or_again)
{
	expect("cat; cat /dev/stdin", "what\n", "what\nwhat\n");
}

/* The shell itself opens the script, as 10 or above. */
TEST(it_has_no_descriptor_of_the_caller)
{
	int mine = open("/dev/null", O_RDONLY); /* not closed at exec */

	CU_ASSERT_FATAL(mine > 2 && mine < 10);
	expect("for i in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$i ] && echo $i; done; echo end", "",
	       "end\n");
	close(mine);
}

/* SIGPIPE (bit 12) ignored, SIGTERM (bit 14) blocked here. */
TEST(its_signals_are_the_default_ones)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	sigset_t blocked, was;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &was);
	expect("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f 2", "",
	       "0000000000000000\n0000000000000000\n");
	sigprocmask(SIG_SETMASK, &was, NULL);
	signal(SIGPIPE, before);
}

/* A question larger than a pipe that the program does not read: no SIGPIPE, no waiting. */
TEST(a_question_that_is_not_read_harms_nobody)
{
	char *question = malloc(8 << 20);

	memset(question, 'q', 8 << 20);
	question[(8 << 20) - 1] = '\0';
	expect("echo done", question, "done\n");
	free(question);
}

TEST(it_starts_where_the_caller_has_closed_its_standard_input)
{
	int kept = dup(STDIN_FILENO);

	close(STDIN_FILENO);
	expect("cat; echo said >&2", "what\n", "what\n");
	dup2(kept, STDIN_FILENO);
	close(kept);
}

/* What it has left behind in its group does not outlive it, nor keeps its output open. */
TEST(what_it_leaves_behind_is_killed)
{
	char *text;

	write_script("sleep 600 & echo $!");
	text = answer("", 600, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	for (int i = 0; i < 3000 && !kill(atoi(text), 0); i++) {
		char stat[64], state[128] = "";
		int fd;

		snprintf(stat, sizeof(stat), "/proc/%d/stat", atoi(text));
		fd = open(stat, O_RDONLY);
		if (fd >= 0 && read(fd, state, sizeof(state) - 1) > 0 && strstr(state, ") Z"))
			i = 3000; /* killed; init is late in reaping it */
		else
			CU_ASSERT_NOT_EQUAL(i, 2999);
		if (fd >= 0)
			close(fd);
		usleep(10000);
	}
	free(text);
	CU_ASSERT_FALSE(has_children());
	fixture_end();
}

TEST(no_zombie_is_left_of_one_that_takes_too_long)
{
	int before = open_descriptors();

	write_script("sleep 600");
	CU_ASSERT_PTR_NULL(answer("", 0.05, NULL));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "gave no answer within 0.05 s"));
	CU_ASSERT_FALSE(has_children());
	CU_ASSERT_EQUAL(open_descriptors(), before);
	fixture_end();
}

/* It joins the group of its caller, which must live on. */
TEST(one_that_leaves_its_group_is_killed)
{
	char went_on[300];

	write_script("exec /usr/bin/python3 -IS -c '\n"
		     "import os, sys, time\n"
		     "os.setpgid(0, os.getpgid(os.getppid()))\n"
		     "print(\"x\" * (1 << 20), flush=True)\n"
		     "time.sleep(30)\n"
		     "open(sys.argv[1], \"w\")\n' $0.went_on");
	snprintf(went_on, sizeof(went_on), "%s.went_on", path);
	CU_ASSERT_PTR_NULL(answer("", 600, NULL));
	CU_ASSERT_STRING_EQUAL(err.text, "answered more than 1024 KiB");
	CU_ASSERT_NOT_EQUAL(access(went_on, F_OK), 0);
	CU_ASSERT_FALSE(has_children());
	fixture_end();
}

static volatile sig_atomic_t stop;

static void on_alarm(int signal)
{
	stop = 1;
}

TEST(a_signal_ends_the_waiting)
{
	void (*before)(int) = signal(SIGALRM, on_alarm);

	write_script("sleep 600");
	alarm(1);
	CU_ASSERT_PTR_NULL(answer("", 60, &stop));
	CU_ASSERT_STRING_EQUAL(err.text, "was ended by a signal to numaplace");
	CU_ASSERT_FALSE(has_children());
	stop = 0;
	signal(SIGALRM, before);
	fixture_end();
}

/* One task that may run on node 0 and hold pages on node 1 only. */
static int ask(const char *decision, struct np_plan *plan)
{
	static int distance[4] = { 10, 20, 20, 10 }, cpu_node[2] = { 0, 1 };
	static struct np_node node[2] = {
		{ .id = 0, .cpus = 1, .has_memory = true, .mem_free = 1 << 30 },
		{ .id = 4, .cpus = 1, .has_memory = true, .mem_free = 1 << 30 }
	};
	static const uint64_t pages[2] = { 10, 0 };
	static const uint8_t may[2] = { NP_MAY_RUN, NP_MAY_HOLD };
	const struct np_machine m = { .name = "m",
				      .n_nodes = 2,
				      .node = node,
				      .distance = distance,
				      .n_cpus = 2,
				      .cpu_node = cpu_node,
				      .page_size = 4096 };
	const struct np_task task = {
		.pid = 7, .threads = 1, .cores = 1, .node = 0, .pages = pages, .may = may
	};
	char script[512], name[300];
	const struct np_policy *p;
	struct np_options o;
	int e;

	snprintf(script, sizeof(script),
		 "if grep -q '\"tasks\":\\[\\]'; then echo '{\"decisions\": []}'; else "
		 "echo '{\"decisions\": [{\"pid\": 7, %s}]}'; fi",
		 decision);
	write_script(script);
	snprintf(name, sizeof(name), "exec:%s", path);
	np_policy_timeout(600);
	p = np_policy_asked(name, &o, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_EQUAL_FATAL(np_plan_init(plan, &m, 1), 0);
	e = np_policy_plan(p, &m, &task, 1, &o, plan);
	fixture_end();
	return e;
}

TEST(a_node_that_a_task_may_not_use_is_refused)
{
	static const struct {
		const char *decision, *why;
	} wrong[] = {
		{ "\"to\": 4", "decisions[0].to names node 4, on which process 7 may not run" },
		{ "\"to_nodes\": [0, 4]",
		  "decisions[0].to_nodes names node 4, on which process 7 may not run" },
		{ "\"pages_to\": 0",
		  "decisions[0].pages_to names node 0, in whose memory process 7 may hold no" },
		{ "\"spread\": {\"0\": 1, \"4\": 1}",
		  "decisions[0].spread names node 0, in whose memory process 7" },
	};
	struct np_plan plan;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		CU_ASSERT_EQUAL(ask(wrong[i].decision, &plan), -EREMOTEIO);
		CU_ASSERT_PTR_NOT_NULL(strstr(plan.fault, wrong[i].why));
		np_plan_free(&plan);
	}
}

TEST(what_it_may_use_is_planned_for)
{
	struct np_plan plan;

	CU_ASSERT_EQUAL(ask("\"to\": 0, \"pages_to\": 4, \"bonus\": 2", &plan), 0);
	CU_ASSERT_EQUAL(plan.decision[0].to, 0);
	CU_ASSERT_EQUAL(plan.decision[0].pages_to_move, 10);
	CU_ASSERT_EQUAL(plan.decision[0].gain_source, NP_PROVENANCE_ASSUMED);
	np_plan_free(&plan);
}
