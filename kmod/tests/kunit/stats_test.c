// SPDX-License-Identifier: GPL-2.0-only
#include "../../stats.c"
#include "suites.h"

/* A seq_file that a function prints into. */
static struct seq_file *paper(struct kunit *test)
{
	struct seq_file *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->size = PAGE_SIZE;
	m->buf = kunit_kzalloc(test, m->size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->buf);
	return m;
}

static u64 value_of(struct kunit *test, const struct seq_file *m, const char *key)
{
	const char *at = strstr(m->buf, key);
	u64 value = U64_MAX;
	int found;

	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "%s is missing", key);
	found = sscanf(at + strlen(key), "=%llu", &value);
	KUNIT_ASSERT_EQ(test, found, 1);
	return value;
}

/* A different power of two for each, so that no mix-up and no omission gives the same sum. */
static struct numaplace_counts distinct(unsigned int shift)
{
	struct numaplace_counts counts;
	unsigned int i;

	for (i = 0; i < NUMAPLACE_PAGE_STATUSES; i++)
		counts.status[i] = 1ULL << (i + shift);
	return counts;
}

static void counts_add_one_by_one(struct kunit *test)
{
	struct numaplace_counts sum = distinct(0), more = distinct(20);
	unsigned int i;

	numaplace_stats_sum(&sum, &more);
	for (i = 0; i < NUMAPLACE_PAGE_STATUSES; i++)
		KUNIT_EXPECT_EQ(test, sum.status[i], (1ULL << i) + (1ULL << (i + 20)));
	KUNIT_EXPECT_EQ(test, more.status[0], 1ULL << 20);
}

static void asked_is_the_sum(struct kunit *test)
{
	struct numaplace_counts counts = distinct(0);
	struct seq_file *m = paper(test);

	numaplace_stats_show_counts(m, &counts);
	KUNIT_EXPECT_EQ(test, value_of(test, m, " asked"), (1ULL << NUMAPLACE_PAGE_STATUSES) - 1);
	KUNIT_EXPECT_EQ(test, value_of(test, m, " bytes"), PAGE_SIZE << NUMAPLACE_PAGE_moved);
}

static void every_count_has_its_name(struct kunit *test)
{
	struct numaplace_counts counts = distinct(0);
	struct seq_file *m = paper(test);

	numaplace_stats_show_counts(m, &counts);
#define X(name) KUNIT_EXPECT_EQ(test, value_of(test, m, " " #name), 1ULL << NUMAPLACE_PAGE_##name);
	NUMAPLACE_COUNTS(X)
#undef X
}

static void largest_counts_are_printed_whole(struct kunit *test)
{
	struct numaplace_counts counts = { .status[NUMAPLACE_PAGE_moved] = U64_MAX };
	struct seq_file *m = paper(test);

	numaplace_stats_show_counts(m, &counts);
	KUNIT_EXPECT_EQ(test, value_of(test, m, " asked"), U64_MAX);
	KUNIT_EXPECT_NOT_NULL(test, strstr(m->buf, " moved=18446744073709551615 "));
}

/* Totals of this copy of stats.c, not of the module that is loaded. */
static void totals_are_what_was_added(struct kunit *test)
{
	struct numaplace_counts counts = distinct(0);
	struct seq_file *m = paper(test);
	unsigned int i;

	for (i = 0; i < NUMAPLACE_STAT_COUNT; i++)
		numaplace_stats_add(i, i + 100);
	numaplace_stats_add_counts(&counts);
	numaplace_stats_add_counts(&counts);
	numaplace_stats_show(m);
#define X(name) KUNIT_EXPECT_EQ(test, value_of(test, m, #name), 100ULL + NUMAPLACE_STAT_##name);
	NUMAPLACE_STATS(X)
#undef X
	KUNIT_EXPECT_EQ(test, value_of(test, m, " asked"),
			2 * ((1ULL << NUMAPLACE_PAGE_STATUSES) - 1));
	KUNIT_EXPECT_EQ(test, m->buf[m->count - 1], '\n');
}

static struct kunit_case cases[] = {
	KUNIT_CASE(counts_add_one_by_one),     KUNIT_CASE(asked_is_the_sum),
	KUNIT_CASE(every_count_has_its_name),  KUNIT_CASE(largest_counts_are_printed_whole),
	KUNIT_CASE(totals_are_what_was_added), {},
};

struct kunit_suite numaplace_stats_suite = {
	.name = "numaplace_stats",
	.test_cases = cases,
};
