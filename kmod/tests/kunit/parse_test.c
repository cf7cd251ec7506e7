// SPDX-License-Identifier: GPL-2.0-only
#include "../../parse.c"
#include "suites.h"

struct request {
	pid_t pid;
	u32 number;
	bool flag, choice;
};

static const struct numaplace_key keys[] = {
	{ "pid", numaplace_parse_pid, offsetof(struct request, pid), true },
	{ "number", numaplace_parse_u32, offsetof(struct request, number) },
	{ "flag", numaplace_parse_flag, offsetof(struct request, flag) },
	{ "choice", numaplace_parse_bool, offsetof(struct request, choice) },
	{},
};

/* Of a copy, as parsing cuts the text up. */
static int parse_line(const char *text, struct request *request)
{
	char line[64];

	strscpy(line, text, sizeof(line));
	memset(request, 0, sizeof(*request));
	return numaplace_parse_line(line, keys, request);
}

static int parse_value(int (*parse)(char *value, void *field), const char *text, void *field)
{
	char value[64];

	if (!text)
		return parse(NULL, field);
	strscpy(value, text, sizeof(value));
	return parse(value, field);
}

static void lines_that_are_taken(struct kunit *test)
{
	static const char *const lines[] = {
		"pid=7 number=12 flag choice=1",
		"choice=1 flag number=12 pid=7\n",
		"  pid=7\tnumber=12 \t flag choice=1  ",
		"pid=7 number=12 flag choice=1 \n",
	};
	struct request r;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		KUNIT_EXPECT_EQ_MSG(test, parse_line(lines[i], &r), 0, "\"%s\"", lines[i]);
		KUNIT_EXPECT_EQ(test, r.pid, 7);
		KUNIT_EXPECT_EQ(test, r.number, 12U);
		KUNIT_EXPECT_TRUE(test, r.flag && r.choice);
	}
	KUNIT_EXPECT_EQ(test, parse_line("pid=7", &r), 0);
	KUNIT_EXPECT_EQ(test, r.number, 0U);
}

static void lines_that_are_refused(struct kunit *test)
{
	static const char *const lines[] = {
		"",
		"\n",
		" ",
		"number=12",
		"pid=7 pid=7",
		"pid=7 flag flag",
		"pid=7 what=1",
		"pid=7 =1",
		"pid",
		"pid=",
		"pid==7",
		"pid=7=",
		"pid =7",
		"PID=7",
		"pid=7,number=12",
		"pid=7\n\n",
		"pid=7\nnumber=12",
		"pid=7 flag=",
		"pid=7 flag=1",
		"pid=7 choice",
		"pid=7\v",
		"pid=7\r\n",
	};
	struct request r;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_line(lines[i], &r), -EINVAL, "\"%s\"", lines[i]);
}

static void pids(struct kunit *test)
{
	static const char *const bad[] = {
		NULL, "",    "0",   "-1",  "+1",	 " 1",
		"1 ", "1\n", "0x1", "1.0", "2147483648", "99999999999999999999",
	};
	pid_t pid = 0;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_pid, "2147483647", &pid), 0);
	KUNIT_EXPECT_EQ(test, pid, INT_MAX);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_value(numaplace_parse_pid, bad[i], &pid), -EINVAL,
				    "\"%s\"", bad[i]);
}

static void numbers(struct kunit *test)
{
	static const char *const bad[] = { NULL, "", "-1", "+1", "1\n", "1k", "x", "0x", "0x1" };
	u32 small = 0;
	u64 large = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_value(numaplace_parse_u32, bad[i], &small), -EINVAL,
				    "\"%s\"", bad[i]);
	/* All but the last, which is a u64. */
	for (i = 0; i < ARRAY_SIZE(bad) - 1; i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_value(numaplace_parse_u64, bad[i], &large), -EINVAL,
				    "\"%s\"", bad[i]);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_u32, "4294967295", &small), 0);
	KUNIT_EXPECT_EQ(test, small, U32_MAX);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_u32, "4294967296", &small), -EINVAL);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_u64, "0xffffffffffffffff", &large), 0);
	KUNIT_EXPECT_EQ(test, large, U64_MAX);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_u64, "18446744073709551616", &large),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_u64, "0x10000000000000000", &large),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_u64, "0x7f00A000", &large), 0);
	KUNIT_EXPECT_EQ(test, large, 0x7f00a000ULL);
}

static void switches(struct kunit *test)
{
	static const char *const bad[] = { NULL, "", "2", "00", "01", "y", "true", "-0", "0\n" };
	bool value = false;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_bool, "1", &value), 0);
	KUNIT_EXPECT_TRUE(test, value);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_bool, "0", &value), 0);
	KUNIT_EXPECT_FALSE(test, value);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_value(numaplace_parse_bool, bad[i], &value),
				    -EINVAL, "\"%s\"", bad[i]);
}

static void words_of_a_list(struct kunit *test)
{
	static const char *const words[] = { "auto", "always", NULL };
	unsigned int value = 9;

	KUNIT_EXPECT_EQ(test, numaplace_parse_word("always", words, &value), 0);
	KUNIT_EXPECT_EQ(test, value, 1U);
	KUNIT_EXPECT_EQ(test, numaplace_parse_word("alway", words, &value), -EINVAL);
	KUNIT_EXPECT_EQ(test, numaplace_parse_word("always ", words, &value), -EINVAL);
	KUNIT_EXPECT_EQ(test, numaplace_parse_word("", words, &value), -EINVAL);
	KUNIT_EXPECT_EQ(test, numaplace_parse_word(NULL, words, &value), -EINVAL);
	KUNIT_EXPECT_EQ(test, value, 1U);
}

static void nodes(struct kunit *test)
{
	static const char *const bad[] = {
		NULL, "", ",", "-", "0-", "-0", "1-0", "0-1:1/2", "all", "0 ", "ANY", "0x0",
	};
	nodemask_t mask;
	unsigned int i;

	nodes_clear(mask);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_nodes, "0", &mask), 0);
	KUNIT_EXPECT_TRUE(test, nodes_weight(mask) == 1 && node_isset(0, mask));
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_nodes, "any", &mask), 0);
	KUNIT_EXPECT_TRUE(test, nodes_equal(mask, node_possible_map));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_value(numaplace_parse_nodes, bad[i], &mask),
				    -EINVAL, "\"%s\"", bad[i]);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_nodes, "1023", &mask), -ENODEV);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_nodes, "4096", &mask), -ENODEV);
}

static void one_node(struct kunit *test)
{
	static const char *const bad[] = { NULL, "", "-1", "0-1", "any", "0\n" };
	int nid = -1;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_node, "0", &nid), 0);
	KUNIT_EXPECT_EQ(test, nid, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_value(numaplace_parse_node, bad[i], &nid), -EINVAL,
				    "\"%s\"", bad[i]);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_node, "1023", &nid), -ENODEV);
	KUNIT_EXPECT_EQ(test, parse_value(numaplace_parse_node, "4294967295", &nid), -ENODEV);
	KUNIT_EXPECT_EQ(test, nid, 0);
}

static int parse_cpus(const char *text, cpumask_var_t *cpus)
{
	cpumask_clear(*cpus);
	return parse_value(numaplace_parse_cpus, text, cpus);
}

static void cpus(struct kunit *test)
{
	static const char *const bad[] = {
		NULL, "",      ",",	 "0-",	 "1-0",	 "0-3:1/2", "all",
		"N",  "node:", "node:x", "node", "9999", "0 1",
	};
	cpumask_var_t mask;
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, zalloc_cpumask_var(&mask, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, parse_cpus("0", &mask), 0);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(mask, cpumask_of(0)));
	KUNIT_EXPECT_EQ(test, parse_cpus("node:0", &mask), 0);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(mask, cpumask_of_node(0)));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse_cpus(bad[i], &mask), -EINVAL, "\"%s\"", bad[i]);
	KUNIT_EXPECT_EQ(test, parse_cpus("node:1023", &mask), -ENODEV);
	free_cpumask_var(mask);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(lines_that_are_taken),
	KUNIT_CASE(lines_that_are_refused),
	KUNIT_CASE(pids),
	KUNIT_CASE(numbers),
	KUNIT_CASE(switches),
	KUNIT_CASE(words_of_a_list),
	KUNIT_CASE(nodes),
	KUNIT_CASE(one_node),
	KUNIT_CASE(cpus),
	{},
};

struct kunit_suite numaplace_parse_suite = {
	.name = "numaplace_parse",
	.test_cases = cases,
};
