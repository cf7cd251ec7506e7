// SPDX-License-Identifier: GPL-2.0-only
/* Penalties: the fit, and the part of a machine file that keeps them. */
#include "../../lib/files/penalty.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../policies/plan/plan.h"
#include "../../lib/host/proc.h"
#include "../../lib/plan/penalty_probe.h"
#include "../fixture.h"

static char path[128]; /* of the machine file of a test */
static struct np_err err;

static void begin(void)
{
	snprintf(path, sizeof(path), "%s/m.toml", fixture_begin());
	err.text[0] = '\0';
}

/* Whether the machine file has this text. */
static bool file_has(const char *part)
{
	char *text = np_read_file(path);
	bool has = text && strstr(text, part);

	free(text);
	return has;
}

static struct np_penalty_task task(const char *name, double mpki, double penalty)
{
	struct np_penalty_task t = { .mpki = mpki,
				     .penalty = penalty,
				     .method = NP_PROVENANCE_RUNS };

	snprintf(t.key.name, sizeof(t.key.name), "%s", name);
	snprintf(t.source, sizeof(t.source), "calibrated: a test");
	return t;
}

/* Of three counts of misses, the last of them given, a line can be fitted. */
static void add_three(struct np_penalties *p, double last_mpki)
{
	static const char *const names[] = { "a", "b", "c" };
	const double mpki[] = { 10, 50, last_mpki }, penalty[] = { 1.5, 1.9, 1.1 };

	for (size_t i = 0; i < 3; i++) {
		struct np_penalty_task t = task(names[i], mpki[i], penalty[i]);

		np_penalties_add(p, &t);
	}
}

/* By the machine file of the test. */
static int apply(struct np_tasks *tasks)
{
	int e;

	setenv("NUMAPLACE_MACHINE_FILE", path, 1);
	e = np_penalties_apply(tasks, &err);
	unsetenv("NUMAPLACE_MACHINE_FILE");
	return e;
}

TEST(a_fit_finds_the_latencies_it_was_made_of)
{
	const struct np_penalty_fit truth = { .remote = 0.16, .local = 0.1 };
	struct np_penalty_task t[4];
	struct np_penalty_fit fit;

	for (int i = 0; i < 4; i++)
		t[i] = task("t", i * i * 10.0, np_penalty_predict(&truth, i * i * 10.0));
	CU_ASSERT_EQUAL(np_penalty_fit(t, 4, &fit), 0);
	CU_ASSERT_DOUBLE_EQUAL(fit.remote, 0.16, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(fit.local, 0.1, 1e-6);
	CU_ASSERT(fit.error < 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(np_penalty_predict(&fit, 0), 1, 1e-9);
	CU_ASSERT(np_penalty_predict(&fit, 1e9) < 1.61);
}

TEST(a_fit_never_promises_that_remote_is_faster)
{
	struct np_penalty_task t[] = { task("a", 10, 0.9), task("b", 20, 0.8), task("c", 30, 0.9) };
	struct np_penalty_fit fit;

	CU_ASSERT_EQUAL(np_penalty_fit(t, 3, &fit), 0);
	CU_ASSERT(np_penalty_predict(&fit, 25) >= 1);
	CU_ASSERT_EQUAL(np_penalty_fit(t, 2, &fit), -EINVAL);
	t[0].mpki = t[1].mpki = t[2].mpki = 0;
	CU_ASSERT_EQUAL(np_penalty_fit(t, 3, &fit), -EINVAL);
	CU_ASSERT(fit.remote == 0 && fit.local == 0);
}

TEST(the_file_keeps_what_else_it_holds)
{
	struct np_penalty_task a = task("a", 10, 1.5), b = task("b\"x", 50, 1.9),
			       c = task("c", 2, 1.1);
	struct np_penalties p;

	begin();
	fixture_write("m.toml",
		      "name = \"m\"\n\n[penalty]\n[[penalty.task]]\nname = \"a\"\n"
		      "mpki = { value = 1, source = \"assumed: s\" }\npenalty = { value = 2, source = \"assumed: s\" }\n"
		      "\n[model.dram]\nlatency_ns = 5\n");
	CU_ASSERT_EQUAL_FATAL(np_penalties_read(&p, path, &err), 0);
	CU_ASSERT(p.n == 1 && p.task[0].penalty == 2);
	CU_ASSERT_EQUAL(p.task[0].distance, NP_FARTHEST); /* an earlier version's file */
	CU_ASSERT_EQUAL(np_penalties_add(&p, &a), 0);
	CU_ASSERT(p.n == 1 && p.task[0].penalty == 1.5);
	np_penalties_add(&p, &b);
	np_penalties_add(&p, &c);
	CU_ASSERT_EQUAL(np_penalties_write(&p, path, &err), 0);
	np_penalties_free(&p);
	CU_ASSERT_EQUAL_FATAL(np_penalties_read(&p, path, &err), 0);
	CU_ASSERT(p.n == 3 && p.fit.remote > 0);
	CU_ASSERT_STRING_EQUAL(p.task[1].key.name, "b\"x");
	np_penalties_free(&p);
	CU_ASSERT(file_has("name = \"m\"\n\n[model.dram]\nlatency_ns = 5\n\n[penalty]\n"));
	fixture_end();
}

static const char by_hand[] =
	"name = \"m\"\n  [ penalty ]\n\t[[ penalty.task ]]\n\tname = \"a\"\n"
	"\tpenalty = { value = 2, source = \"assumed: \\\"x\\\\ \u00fc\" }\n [penalties]\n x = 1\n";

/* What a user writes by hand: an indented table, quotation marks and other letters in a source. */
TEST(a_file_that_was_written_by_hand)
{
	struct np_penalty_task b = task("b", 50, 1.9);
	struct np_penalties p;

	begin();
	fixture_write("m.toml", by_hand);
	CU_ASSERT_EQUAL_FATAL(np_penalties_read(&p, path, &err), 0);
	np_penalties_add(&p, &b);
	CU_ASSERT_EQUAL(np_penalties_write(&p, path, &err), 0);
	np_penalties_free(&p);
	CU_ASSERT_EQUAL_FATAL(np_penalties_read(&p, path, &err), 0);
	CU_ASSERT(p.n == 2 && p.task[0].penalty == 2);
	CU_ASSERT_STRING_EQUAL(p.task[0].source, "assumed: \"x\\ __");
	CU_ASSERT(file_has("name = \"m\"\n [penalties]\n x = 1\n\n[penalty]\n"));
	np_penalties_free(&p);
	fixture_end();
}

TEST(a_file_that_would_be_wrong_is_left)
{
	static const char quoted[] = "[\"penalty\"]\n";
	struct np_penalties p = { 0 };
	struct np_penalty_task a = task("a", 10, 1.5);
	char *text;

	begin();
	fixture_write("m.toml", quoted);
	np_penalties_add(&p, &a);
	CU_ASSERT(np_penalties_write(&p, path, &err) < 0 && strstr(err.text, "is left as it is"));
	text = np_read_file(path);
	CU_ASSERT_STRING_EQUAL(text, quoted);
	free(text);
	np_penalties_free(&p);
	fixture_end();
}

/* What was written and what is read again. */
static struct np_penalties again(struct np_penalties *p)
{
	struct np_penalties read = { 0 };

	CU_ASSERT_EQUAL(np_penalties_write(p, path, &err), 0);
	CU_ASSERT_EQUAL(np_penalties_read(&read, path, &err), 0);
	CU_ASSERT_STRING_EQUAL(err.text, "");
	np_penalties_free(p);
	return read;
}

TEST(a_flip_stays_a_flip)
{
	struct np_task of_flip = { .comm = "b" };
	struct np_tasks tasks = { .n = 1, .task = &of_flip };
	struct np_penalties p = { 0 };

	begin();
	add_three(&p, 2);
	p.task[1].method = NP_PROVENANCE_FLIP;
	p.task[1].distance = 31;
	p = again(&p);
	CU_ASSERT_FATAL(p.n == 3 && p.fit.remote > 0);
	CU_ASSERT(p.task[0].method == NP_PROVENANCE_RUNS && p.task[1].method == NP_PROVENANCE_FLIP);
	np_penalties_free(&p);
	CU_ASSERT_EQUAL(apply(&tasks), 0);
	CU_ASSERT(of_flip.penalty_source == NP_PROVENANCE_FLIP && of_flip.penalty == 1.9);
	CU_ASSERT_EQUAL(of_flip.penalty_distance, 31);
	fixture_end();
}

TEST(misses_that_nobody_counted_are_not_none)
{
	struct np_penalty_task c = task("c", 2, 1.1);
	struct np_penalties p = { 0 };

	begin();
	add_three(&p, -1);
	CU_ASSERT(p.fit.remote == 0); /* of two tasks */
	p = again(&p);
	CU_ASSERT_FATAL(p.n == 3);
	CU_ASSERT(p.task[2].mpki < 0 && p.task[2].penalty == 1.1);
	np_penalties_add(&p, &c);
	CU_ASSERT(p.fit.remote > 0 && p.fit.tasks == 3);
	np_penalties_free(&p);
	CU_ASSERT(file_has("name = \"c\"\nmethod = \"two-runs\"\npenalty"));
	fixture_end();
}

TEST(any_name_of_a_task_can_be_read_again)
{
	static const char *const names[] = { "", "\\\"", "a\nb", "f\xc3", "%s%n" };
	struct np_penalties p = { 0 };

	begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct np_penalty_task t = task(names[i], 3, 1.2);

		np_penalties_add(&p, &t);
	}
	p = again(&p);
	CU_ASSERT_FATAL(p.n == 5);
	CU_ASSERT_STRING_EQUAL(p.task[0].key.name, "_");
	CU_ASSERT_STRING_EQUAL(p.task[1].key.name, "\\\"");
	CU_ASSERT_STRING_EQUAL(p.task[2].key.name, "a_b");
	CU_ASSERT_STRING_EQUAL(p.task[3].key.name, "f_");
	CU_ASSERT_STRING_EQUAL(p.task[4].key.name, "%s%n");
	np_penalties_free(&p);
	fixture_end();
}

TEST(a_file_that_cannot_be_written_stays)
{
	struct np_penalty_task a = task("a", 10, 1.5);
	struct np_penalties p = { 0 };
	char other[160], in_the_way[64], *text;

	begin();
	CU_ASSERT(np_penalties_may_write("/no/such/m.toml", &err) == -ENOENT &&
		  strstr(err.text, "no/such"));
	snprintf(in_the_way, sizeof(in_the_way), "m.toml.new.%d/x", getpid());
	snprintf(other, sizeof(other), "%s.new.%d/x", path, getpid());
	fixture_write("m.toml", "name = \"m\"\n");
	CU_ASSERT(!np_penalties_may_write(path, &err) && access(other, F_OK));
	fixture_write(in_the_way, "in the way");
	np_penalties_add(&p, &a);
	err.text[0] = '\0';
	CU_ASSERT(np_penalties_may_write(path, &err) < 0 && strstr(err.text, "m.toml"));
	CU_ASSERT(np_penalties_write(&p, path, &err) < 0);
	text = np_read_file(path);
	CU_ASSERT_STRING_EQUAL(text, "name = \"m\"\n");
	free(text);
	np_penalties_free(&p);
	fixture_end();
}

TEST(a_wrong_file_is_named)
{
	static const char *const bad[] = {
		"[penalty]\nremote_per_mpki = 3\n",
		"[penalty]\nremote_per_mpki = { value = -1, source = \"assumed: s\" }\n",
		"[[penalty.task]]\nmpki = { value = 1, source = \"assumed: s\" }\n",
		"[[penalty.task]]\nname = \"a\"\nmpki = { value = 1, source = \"assumed: s\" }\n"
		"penalty = { value = 0, source = \"assumed: s\" }\n",
		"[[penalty.task]]\nname = \"a\"\npenalty = { value = 2, source = \"assumed: s\" }\nmpki = 3\n",
		"[[penalty.task]]\nname = \"a\"\npenalty = { value = 2, source = \"assumed: s\" }\n"
		"method = \"guess\"\n",
		"[[penalty.task]]\nname = \"a\"\npenalty = { value = 2, source = \"assumed: s\" }\nmethod = 3\n",
		"[penalty\n",
		"[=\n",
		"[[penalty\xd2\x86"
		"task]]\n",
	};
	struct np_penalties p;

	begin();
	CU_ASSERT(!np_penalties_read(&p, path, &err) && p.n == 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		fixture_write("m.toml", bad[i]);
		CU_ASSERT_EQUAL(np_penalties_read(&p, path, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "m.toml"));
	}
	fixture_end();
}

TEST(measured_goes_before_the_fit_and_said_before_both)
{
	struct np_task t[] = {
		{ .comm = "a" },
		{ .comm = "z", .mpki = 20, .mpki_source = NP_PROVENANCE_COUNTERS },
		{ .comm = "a", .penalty = 7, .penalty_source = NP_PROVENANCE_DECLARED },
		{ .comm = "y" },
	};
	struct np_tasks tasks = { .n = 4, .task = t };
	struct np_penalties p = { 0 };

	begin();
	add_three(&p, 2);
	for (size_t i = 0; i < p.n; i++)
		p.task[i].distance = 32;
	CU_ASSERT_EQUAL_FATAL(np_penalties_write(&p, path, &err), 0);
	CU_ASSERT_EQUAL(apply(&tasks), 0);
	CU_ASSERT(t[0].penalty_source == NP_PROVENANCE_RUNS && t[0].penalty == 1.5);
	CU_ASSERT(t[1].penalty_source == NP_PROVENANCE_FIT);
	CU_ASSERT_DOUBLE_EQUAL(t[1].penalty, np_penalty_predict(&p.fit, 20), 1e-4);
	CU_ASSERT_EQUAL(t[1].penalty_distance, 32);
	CU_ASSERT(t[2].penalty == 7 && t[2].penalty_source == NP_PROVENANCE_DECLARED);
	CU_ASSERT_EQUAL(t[3].penalty_source, NP_PROVENANCE_NONE);
	np_penalties_free(&p);
	fixture_end();
}

TEST(matches_are_of_program_and_unit)
{
	const struct np_penalty_key old = { .name = "java" }, any = { "java", "/usr/bin/java", "" };
	const struct np_penalty_key db = { "java", "/usr/bin/java", "db.service" };
	const struct np_penalty_key web = { "java", "/usr/bin/java", "web.service" };
	const struct np_penalty_key mine = { "java", "/opt/java", "" }, hidden = { .name = "java" };
	const struct np_penalty_key renamed = { "worker", "/usr/bin/java", "db.service" };

	CU_ASSERT_EQUAL(np_penalty_key_match(&db, &db), NP_MATCH_UNIT);
	CU_ASSERT_EQUAL(np_penalty_key_match(&db, &renamed), NP_MATCH_UNIT);
	CU_ASSERT_EQUAL(np_penalty_key_match(&db, &web), NP_MATCH_NONE);
	CU_ASSERT_EQUAL(np_penalty_key_match(&any, &web), NP_MATCH_PROGRAM);
	CU_ASSERT_EQUAL(np_penalty_key_match(&any, &mine), NP_MATCH_NONE);
	CU_ASSERT_EQUAL(np_penalty_key_match(&old, &mine), NP_MATCH_NAME);
	CU_ASSERT_EQUAL(np_penalty_key_match(&db, &hidden), NP_MATCH_NAME);
}

TEST(units_that_say_nothing_are_none)
{
	static const char *const units[][2] = {
		{ "/system.slice/postgresql@15-main.service", "postgresql@15-main.service" },
		{ "/user.slice/user-0.slice/session-3.scope", "" },
		{ "/", "" },
		{ "", "" },
		{ "/batch/night", "/batch/night" },
		{ "/user.slice/user@0.service/app.slice/x.service", "x.service" },
	};
	char unit[128];

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		np_penalty_key_unit(units[i][0], unit, sizeof(unit));
		CU_ASSERT_STRING_EQUAL(unit, units[i][1]);
	}
}

/* A measured program of a name does not stand for other programs of that name. */
TEST(another_program_of_the_name_is_another)
{
	struct np_task one = { .pid = getpid(), .comm = "python3" };
	struct np_tasks tasks = { .n = 1, .task = &one };
	struct np_penalty_task other = task("python3", 10, 1.5), mine = other;
	struct np_penalties p = { 0 };

	begin();
	np_penalty_key_program("/usr/bin/another", &other.key);
	np_penalties_add(&p, &other);
	CU_ASSERT_EQUAL(np_penalties_write(&p, path, &err), 0);
	CU_ASSERT_EQUAL(apply(&tasks), 0);
	CU_ASSERT_EQUAL(one.penalty_source, NP_PROVENANCE_NONE);
	np_penalty_key_of(getpid(), "python3", &mine.key);
	mine.penalty = 1.7;
	np_penalties_add(&p, &mine);
	CU_ASSERT(p.n == 2 && mine.key.exe[0] == '/');
	CU_ASSERT_EQUAL(np_penalties_write(&p, path, &err), 0);
	CU_ASSERT_EQUAL(apply(&tasks), 0);
	CU_ASSERT(one.penalty_source == NP_PROVENANCE_RUNS && one.penalty == 1.7);
	np_penalties_free(&p);
	fixture_end();
}

TEST(a_file_that_is_named_and_not_there)
{
	struct np_task one = { .comm = "a" };
	struct np_tasks tasks = { .n = 1, .task = &one };

	begin();
	CU_ASSERT_EQUAL(apply(&tasks), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "m.toml, which NUMAPLACE_MACHINE_FILE names"));
	fixture_end();
}

TEST(away_is_the_farthest_node_with_cpus)
{
	struct np_node node[] = { { .cpus = 2 }, { .cpus = 2 }, { .cpus = 2 }, { .cpus = 0 } };
	int distance[] = { 10, 16, 22, 30, 16, 10, 16, 30, 22, 16, 10, 30, 30, 30, 30, 10 };
	struct np_machine m = { .n_nodes = 4, .node = node, .distance = distance };

	CU_ASSERT_EQUAL(np_penalty_probe_away(&m, 0), 2);
	CU_ASSERT_EQUAL(np_penalty_probe_away(&m, 1), 0);
	m.n_nodes = 1;
	CU_ASSERT_EQUAL(np_penalty_probe_away(&m, 0), NP_NODE_NONE);
}

/* Firmware may say another distance for the way back. */
TEST(the_distance_is_from_cpus_to_memory)
{
	struct np_node node[] = { { .cpus = 2 }, { .cpus = 2 }, { .cpus = 2 } };
	int distance[] = { 10, 16, 22, 17, 10, 31, 23, 32, 10 };
	struct np_machine m = { .n_nodes = 3, .node = node, .distance = distance };
	struct np_cpi_pair pair = { .home = 1, .away = 2 };

	CU_ASSERT_EQUAL(np_cpi_pair_distance(&m, &pair, NP_PROVENANCE_RUNS), 31);
	CU_ASSERT_EQUAL(np_cpi_pair_distance(&m, &pair, NP_PROVENANCE_FLIP), 32);
}
