// SPDX-License-Identifier: GPL-2.0-only
/* Machine files and task sets: their contents, and their faults. */
#include "../../lib/files/machine_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/base/size.h"
#include "../../lib/files/machine_find.h"
#include "../../lib/files/task_set.h"
#include "../../lib/plan/request.h"
#include "../fixture.h"

#define MACHINES "experiments/lab/machines/"

TEST(sizes)
{
	uint64_t bytes;

	CU_ASSERT(!np_size_parse("512 MiB", &bytes) && bytes == 512ull << 20);
	CU_ASSERT(!np_size_parse("1GiB", &bytes) && bytes == 1ull << 30);
	CU_ASSERT(!np_size_parse("4 KiB", &bytes) && bytes == 4096);
	CU_ASSERT(!np_size_parse("0", &bytes) && bytes == 0);
	CU_ASSERT(np_size_parse("", &bytes) == -EINVAL);
	CU_ASSERT(np_size_parse("-1 MiB", &bytes) == -EINVAL);
	CU_ASSERT(np_size_parse("1", &bytes) == -EINVAL);
	CU_ASSERT(np_size_parse("1 MB", &bytes) == -EINVAL);
	CU_ASSERT(np_size_parse("1 MiBs", &bytes) == -EINVAL);
	CU_ASSERT(np_size_parse("18446744073709551615 TiB", &bytes) == -EINVAL);
	CU_ASSERT(np_size_parse("99999999999999999999 KiB", &bytes) == -EINVAL);
}

TEST(machine_of_the_lab)
{
	struct np_machine m;
	struct np_model model;
	struct np_err err;

	CU_ASSERT_FATAL(!np_machine_file_read(MACHINES "xeon-e5620-2s.toml", &m, &model, &err));
	CU_ASSERT_STRING_EQUAL(m.name, "xeon-e5620-2s");
	CU_ASSERT(m.n_nodes == 2 && m.n_cpus == 8);
	CU_ASSERT(m.cpu_node[3] == 0 && m.cpu_node[4] == 1);
	CU_ASSERT(m.node[1].cpus == 4 && m.node[1].mem_free == 1ull << 30);
	CU_ASSERT(m.distance[1] == 21 && m.distance[3] == 10);
	CU_ASSERT(m.model == &model && m.model_origin == NP_MODEL_FILE);
	CU_ASSERT_DOUBLE_EQUAL(model.node[0].dram_latency_ns, 78, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(np_model_unloaded_ns(&model, 0, 1), 78 + 28, 1e-9);
	np_machine_free(&m);
}

/* The text form that the lab gives to its plugin, read again. */
static bool read_again(const struct np_model *model, struct np_model *again)
{
	char err[NP_ERR_LEN], *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool ok;

	np_model_print(model, f);
	fclose(f);
	ok = !np_model_parse(again, text, err, sizeof(err));
	free(text);
	return ok;
}

static bool same_numbers(const void *a, const void *b, size_t size)
{
	const double *x = a, *y = b;

	for (size_t i = 0; i < size / sizeof(double); i++)
		if (!(x[i] <= y[i] * (1 + 1e-9) && y[i] <= x[i] * (1 + 1e-9)))
			return false;
	return true;
}

TEST(a_model_survives_its_text_form)
{
	static const char *const files[] = {
		MACHINES "demo-2s.toml",       MACHINES "cxl-3n.toml",
		MACHINES "memoryless-3n.toml", MACHINES "opteron-6172-4s.toml",
		MACHINES "ls3a-2s.toml",       MACHINES "xeon-x7560-4s.toml",
		MACHINES "xeon-e5620-2s.toml",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct np_machine m;
		struct np_model ours, again;
		struct np_err err;

		CU_ASSERT_FATAL(!np_machine_file_read(files[i], &m, &ours, &err));
		CU_ASSERT_FATAL(read_again(&ours, &again));
		CU_ASSERT_STRING_EQUAL(ours.name, again.name);
		CU_ASSERT(ours.n_nodes == again.n_nodes && ours.n_links == again.n_links);
		CU_ASSERT(ours.line_bytes == again.line_bytes);
		for (size_t k = 0; k < ours.n_nodes; k++)
			CU_ASSERT(
				same_numbers(&ours.node[k], &again.node[k], sizeof(ours.node[k])));
		for (size_t k = 0; k < ours.n_links; k++) {
			CU_ASSERT(!memcmp(ours.link[k].node, again.link[k].node,
					  sizeof(ours.link[k].node)));
			CU_ASSERT(same_numbers(&ours.link[k].bytes_per_s,
					       &again.link[k].bytes_per_s, 4 * sizeof(double)));
		}
		np_machine_free(&m);
	}
}

#define HEAD		  "name = \"m\"\nsummary = \"s\"\nsource = \"s\"\n"
#define TWO		  HEAD "cpus = 2\nmemory = \"128 MiB\"\ndistances = [[10, 20], [20, 10]]\n"
#define NODE(cpu, memory) "[[node]]\ncpus = \"" cpu "\"\nmemory = \"" memory "\"\n"
#define GOOD		  TWO NODE("0", "64 MiB") NODE("1", "64 MiB")
#define LINE \
	"[model.line]\nbytes = { value = 64, source = \"assumed: x\" }\n[model.port]\n[model.dram]\n"

/* experiments/lab/tests has more of them, through the command line. */
TEST(machine_files_that_are_wrong)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "name = \"m\"\nname = 3\n", "m.toml:2: " },
		{ "name = [\n", "m.toml:" },
		{ "name = \"m\"\n", "m.toml:1: the field 'summary' is missing" },
		{ "[[node]]\ncpus = \"0\"\n", "m.toml:1: the field 'name' is missing" },
		{ "node = []\n" TWO, "m.toml:1: node: there are 0 nodes" },
		{ TWO NODE("x", "1 GiB"), "m.toml:8: node[0].cpus: 'x' is not a list of CPUs" },
		{ TWO NODE("0", "1 GB"), "m.toml:9: node[0].memory: '1 GB' is not a size" },
		{ TWO NODE("0", "1 KiB"),
		  "m.toml:9: node[0].memory: '1 KiB' is not a whole number of MiB" },
		{ TWO NODE("0", "64 MiB") NODE("0", "64 MiB"),
		  "m.toml:11: node[1].cpus: CPU 0 is also on node 0" },
		{ TWO NODE("0-1", "128 MiB"), "m.toml:6: distances: 1 nodes need a square matrix" },
		{ GOOD "[model.line]\nbytes = 64\n",
		  "m.toml:13: model: the field 'core' is missing" },
		{ GOOD LINE "[model.core]\n",
		  "m.toml:17: model.core: the field 'outstanding' is missing" },
		{ GOOD LINE "[model.core]\noutstanding = { value = -1, source = \"assumed: x\" }\n"
			    "mhz = 1\ninstructions_per_cycle = 1\n",
		  "m.toml:18: model.core.outstanding: -1 is not a number" },
		{ GOOD LINE "[model.core]\noutstanding = { value = 1, source = \"x\" }\n"
			    "mhz = 1\ninstructions_per_cycle = 1\n",
		  "m.toml:18: model.core.outstanding: the source must" },
		{ GOOD LINE "[model.core]\noutstanding = { value = 1, source = \"assumed: x\" }\n"
			    "mhz = true\ninstructions_per_cycle = 1\n",
		  "m.toml:19: model.core.mhz: write it as" },
		{ GOOD "[[penalty.task]]\nname = \"a\"\n",
		  "m.toml:13: penalty.task[0]: the field 'penalty'" },
	};
	char path[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct np_machine m;
		struct np_model model;
		struct np_err err;

		snprintf(path, sizeof(path), "%s/m.toml", fixture_begin());
		fixture_write("m.toml", cases[i].text);
		CU_ASSERT(np_machine_file_read(path, &m, &model, &err) == -EINVAL);
		CU_ASSERT(strstr(err.text, cases[i].says) && !strchr(err.text, '\n'));
		fixture_end();
	}
}

/* demo-2s is the machine of its own shape. */
TEST(a_shape_is_a_machine)
{
	struct np_machine m, demo;
	struct np_model model, of_demo;
	struct np_err err;

	CU_ASSERT_FATAL(!np_machine_file_read("demo-2s", &demo, &of_demo, &err));
	CU_ASSERT_FATAL(!np_machine_file_read("2x2", &m, &model, &err));
	CU_ASSERT_STRING_EQUAL(m.name, "2x2");
	CU_ASSERT(m.n_nodes == 2 && m.n_cpus == 4 && m.cpu_node[1] == 0 && m.cpu_node[2] == 1);
	CU_ASSERT(!memcmp(m.node, demo.node, 2 * sizeof(*m.node)));
	CU_ASSERT(!memcmp(m.distance, demo.distance, 4 * sizeof(*m.distance)));
	CU_ASSERT(same_numbers(&model.node, &of_demo.node, sizeof(model.node)));
	CU_ASSERT_DOUBLE_EQUAL(np_model_unloaded_ns(&model, 0, 1),
			       np_model_unloaded_ns(&of_demo, 0, 1), 1e-9);
	np_machine_free(&m);
	np_machine_free(&demo);
}

TEST(a_shape_has_the_nodes_that_it_names)
{
	struct np_machine m;
	struct np_model model, again;
	struct np_err err;

	CU_ASSERT_FATAL(!np_machine_file_read("3x2:512M+1:2G", &m, &model, &err));
	CU_ASSERT(m.n_nodes == 4 && m.n_cpus == 6 && m.cpu_node[5] == 2);
	CU_ASSERT(m.node[2].cpus == 2 && m.node[2].mem_total == 512ull << 20);
	CU_ASSERT(m.node[3].cpus == 0 && m.node[3].mem_total == 2ull << 30);
	CU_ASSERT(m.distance[3] == 21 && m.distance[7] == 21 && m.distance[15] == 10);
	CU_ASSERT(model.n_links == 6 && read_again(&model, &again));
	np_machine_free(&m);
	CU_ASSERT_FATAL(!np_machine_file_read("1x1+1", &m, &model, &err));
	CU_ASSERT(m.n_nodes == 2 && m.n_cpus == 1 && m.node[1].mem_total == 1ull << 30);
	np_machine_free(&m);
	CU_ASSERT_FATAL(!np_machine_file_read("1x255:1024G", &m, &model, &err));
	CU_ASSERT(m.n_nodes == 1 && m.n_cpus == 255 && m.node[0].mem_total == 1ull << 40);
	CU_ASSERT(model.n_links == 0);
	np_machine_free(&m);
	CU_ASSERT_FATAL(!np_machine_file_read("15x17+1", &m, &model, &err));
	CU_ASSERT(m.n_nodes == 16 && m.n_cpus == 255 && model.n_links == 120);
	np_machine_free(&m);
}

TEST(shapes_that_are_wrong)
{
	static const struct {
		const char *shape, *says;
	} cases[] = {
		{ "2", "'2' is no shape" },
		{ "x2", "is no shape" },
		{ "2x", "is no shape" },
		{ "0x2", "is no shape" },
		{ "2x0", "is no shape" },
		{ "2x02", "is no shape" },
		{ "2x2x2", "is no shape" },
		{ "2x2:", "is no shape" },
		{ "2x2:1", "is no shape" },
		{ "2x2:0M", "is no shape" },
		{ "2x2:1GG", "is no shape" },
		{ "2x2+", "is no shape" },
		{ "2x2+0", "is no shape" },
		{ "2x2+1:", "is no shape" },
		{ "2x2+1+1", "is no shape" },
		{ "4294967298x2", "is no shape" },
		{ "99x9", "'99x9' has 99 nodes and 891 CPUs: a shape has up to 32 and 255" },
		{ "32x1+1", "33 nodes" },
		{ "16x16", "256 CPUs" },
		{ "999999999x999999999", "999999999 nodes" },
		{ "2x2:1K", "whole MiB, up to 1024G" },
		{ "2x2:1025G", "whole MiB, up to 1024G" },
		{ "2x2+1:999999999G", "whole MiB, up to 1024G" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct np_machine m;
		struct np_model model;
		struct np_err err = { "" };

		CU_ASSERT(np_machine_file_read(cases[i].shape, &m, &model, &err) == -EINVAL);
		CU_ASSERT(strstr(err.text, cases[i].says) && !strchr(err.text, '\n'));
		CU_ASSERT(strlen(err.text) < NP_ERR_LEN - 1);
	}
}

static int read_tasks(const char *text, struct np_tasks *t, struct np_err *err)
{
	struct np_machine m;
	struct np_model model;
	char path[256];
	int e;

	snprintf(path, sizeof(path), "%s/t.toml", fixture_begin());
	fixture_write("t.toml", text);
	CU_ASSERT_FATAL(!np_machine_file_read(MACHINES "demo-2s.toml", &m, &model, err));
	e = np_task_set_read(path, &m, t, err);
	np_machine_free(&m);
	fixture_end();
	return e;
}

TEST(task_set_is_read)
{
	struct np_tasks t;
	struct np_err err;

	CU_ASSERT_FATAL(
		!read_tasks("[[task]]\nname = \"a\"\ncount = 2\nnode = 1\ncores = 2\n"
			    "memory = { \"0\" = \"4 MiB\", \"1\" = \"8 KiB\" }\npenalty = 1.5\n"
			    "[[task]]\nname = \"b\"\nmpki = 3\n",
			    &t, &err));
	CU_ASSERT_FATAL(t.n == 3);
	CU_ASSERT(t.task[1].node == 1 && t.task[1].cores == 2 && t.task[1].threads == 2);
	CU_ASSERT(t.task[1].pages[0] == 1024 && t.task[1].pages[1] == 2);
	CU_ASSERT(t.task[1].penalty == 1.5 && t.task[1].penalty_source == NP_PROVENANCE_DECLARED);
	CU_ASSERT(t.task[1].mpki_source == NP_PROVENANCE_NONE);
	CU_ASSERT(t.task[2].node == NP_NODE_NONE && t.task[2].mpki == 3 && !t.task[2].pages[0]);
	CU_ASSERT(t.task[0].pid != t.task[1].pid && t.task[1].pid != t.task[2].pid);
	np_tasks_free(&t);
}

TEST(task_sets_that_are_wrong)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "no [[task]]" },
		{ "[[task]]\n", "task[0]: the field 'name' is missing" },
		{ "[[task]]\nname = \"a\"\nnodes = 1\n", "task[0].nodes: unknown field" },
		{ "[[task]]\nname = \"a\"\nnode = 7\n", "node: is no node" },
		{ "[[task]]\nname = \"a\"\ncount = 0\n", "count: is not a whole number" },
		{ "[[task]]\nname = \"a\"\nmemory = \"1 MiB\"\n", "memory: needs nodes" },
		{ "[[task]]\nname = \"a\"\nmemory = { \"9\" = \"1 MiB\" }\n",
		  "memory: is on node 9" },
		{ "[[task]]\nname = \"a\"\nmemory = { \"\" = \"1 MiB\" }\n",
		  "memory: is on node \"\"" },
		{ "[[task]]\nname = \"a\"\nmemory = { \"+0\" = \"1 MiB\" }\n",
		  "memory: is on node +0" },
		{ "[[task]]\nname = \"a\"\nmemory = { \"00\" = \"1 MiB\" }\n",
		  "memory: is on node 00" },
		{ "[[task]]\nname = \"a\"\nmemory = { \"4294967296\" = \"1 MiB\" }\n",
		  "memory: is on node 4294967296" },
		{ "[[task]]\nname = \"a\"\nnode = -4294967296\n", "node: is no node" },
		{ "[[task]]\nname = \"a\"\nmemory = { \"0\" = \"lots\" }\n", "not a size" },
		{ "[[task]]\nname = \"a\"\n[[task]]\nname = \"b\"\npenalty = 0.5\n",
		  "t.toml:5: task[1].penalty: is not a number from 1" },
		{ "[[task]]\nname = \"a\"\nwrites = 2\n", "writes: is not a number from 0 to 1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct np_tasks t;
		struct np_err err;

		CU_ASSERT(read_tasks(cases[i].text, &t, &err) == -EINVAL);
		CU_ASSERT(strstr(err.text, cases[i].says) && !strchr(err.text, '\n'));
	}
}

TEST(drawn_sets_fit_and_repeat)
{
	struct np_machine m;
	struct np_model model;
	struct np_err err;
	unsigned int sizes_seen = 0;

	CU_ASSERT_FATAL(!np_machine_file_read(MACHINES "cxl-3n.toml", &m, &model, &err));
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct np_tasks a, b;
		uint64_t pages = 0;
		unsigned int cores = 0;

		CU_ASSERT_FATAL(!np_task_set_random(seed, 4, &m, &a));
		CU_ASSERT_FATAL(!np_task_set_random(seed, 4, &m, &b));
		CU_ASSERT_FATAL(a.n == b.n && a.n >= 1 && a.n <= 4);
		CU_ASSERT(!memcmp(a.pages, b.pages, a.n * m.n_nodes * sizeof(*a.pages)));
		for (size_t i = 0; i < a.n; i++) {
			int node = a.task[i].node;

			CU_ASSERT(node == NP_NODE_NONE || m.node[node].cpus >= a.task[i].cores);
			CU_ASSERT(a.task[i].node == b.task[i].node &&
				  a.task[i].mpki == b.task[i].mpki);
			cores += a.task[i].cores;
			for (size_t k = 0; k < m.n_nodes; k++)
				pages += a.task[i].pages[k];
		}
		CU_ASSERT(cores <= m.n_cpus && pages * m.page_size <= m.node[0].mem_total / 2);
		sizes_seen |= 1u << a.n;
		np_tasks_free(&a);
		np_tasks_free(&b);
	}
	CU_ASSERT(sizes_seen == 0x1e);
	np_machine_free(&m);
}

/* The model's origin on a machine like demo-2s, with this named and that calibrated. */
static enum np_model_origin origin(const char *named, const char *calibrated)
{
	enum np_model_origin origin;
	struct np_model *model, file;
	struct np_machine m;
	struct np_err err;

	CU_ASSERT_FATAL(!np_machine_file_read("demo-2s", &m, &file, &err));
	m.model = NULL;
	m.model_origin = NP_MODEL_NONE;
	setenv("NUMAPLACE_MACHINE_FILE", calibrated, 1);
	CU_ASSERT_EQUAL(np_request_model(&m, &model, named, &err), 0);
	CU_ASSERT(m.model == model);
	origin = m.model_origin;
	unsetenv("NUMAPLACE_MACHINE_FILE");
	free(model);
	np_machine_free(&m);
	return origin;
}

/* The simulator's own file is not used as a model; a calibrated one is. */
TEST(models_are_told_or_calibrated)
{
	char path[] = "/tmp/np-only-penalties-XXXXXX.toml";
	FILE *f = fdopen(mkstemps(path, 5), "w");

	fputs("[penalty]\n", f);
	fclose(f);
	CU_ASSERT_EQUAL(origin(NULL, path), NP_MODEL_DERIVED);
	CU_ASSERT_EQUAL(origin(NULL, MACHINES "xeon-e5620-2s.toml"), NP_MODEL_FILE);
	CU_ASSERT_EQUAL(origin("demo-2s", path), NP_MODEL_FILE);
	remove(path);
}

/* What calibrate-machine wrote is what plans go by. */
TEST(the_file_of_this_machine_has_its_model)
{
	struct np_model *model = NULL;
	struct np_machine m;
	struct np_err err = { "" };

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, "", &err), 0);
	m.n_nodes = 2;
	setenv("NUMAPLACE_MACHINE_FILE", MACHINES "demo-2s.toml", 1);
	CU_ASSERT_EQUAL(np_request_model(&m, &model, NULL, &err), 0);
	CU_ASSERT(m.model == model && m.model_origin == NP_MODEL_FILE && model->n_nodes == 2);
	free(model);
	m.n_nodes = 3;
	CU_ASSERT_EQUAL(np_request_model(&m, &model, NULL, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "demo-2s.toml is of 2 nodes, this machine has 3"));
	free(model);
	setenv("NUMAPLACE_MACHINE_FILE", "/no/such.toml", 1);
	CU_ASSERT_EQUAL(np_request_model(&m, &model, NULL, &err), -ENOENT);
	free(model);
	unsetenv("NUMAPLACE_MACHINE_FILE");
	np_machine_free(&m);
}

/* Its /etc is the host's: what is calibrated there is another machine. */
TEST(the_lab_does_not_take_the_file_of_its_host)
{
	const char *root = fixture_begin();
	char path[PATH_MAX];
	struct np_err err;

	fixture_write("proc/cmdline", "quiet\n");
	CU_ASSERT_EQUAL(np_machine_file_here(root, path, sizeof(path), &err), 0);
	fixture_write("etc/numaplace/machine.toml", "[penalty]\n");
	CU_ASSERT_EQUAL(np_machine_file_here(root, path, sizeof(path), &err), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(path, "/etc/numaplace/machine.toml"));
	fixture_write("proc/cmdline", "quiet numaplace_lab=demo-2s,timed\n");
	CU_ASSERT_EQUAL(np_machine_file_here(root, path, sizeof(path), &err), 0);
	fixture_write("proc/cmdline", "quiet numaplace_lab=demo-2s,functional\n");
	CU_ASSERT_EQUAL(np_machine_file_here(root, path, sizeof(path), &err), 0);
	setenv("NUMAPLACE_MACHINE_FILE", MACHINES "demo-2s.toml", 1);
	CU_ASSERT_EQUAL(np_machine_file_here(root, path, sizeof(path), &err), 1);
	CU_ASSERT_STRING_EQUAL(path, MACHINES "demo-2s.toml");
	unsetenv("NUMAPLACE_MACHINE_FILE");
	fixture_end();
}
