// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work stealing over NUMA nodes. The vanilla runtime has its data on the
 * first node, where a program that knows nothing of nodes would touch it;
 * the locality runtime has a part of every array on each node.
 */
extern "C" {
#include "../emit.h"
#include "../pages.h"
}
#include "benchmark.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <getopt.h>
#include <sched.h>
#include <unistd.h>

static const char usage[] =
	"usage: np-steal cilksort|heat|transpose|matmul --runtime vanilla|locality\n"
	"                [--data first|spread|NODE] [--nodes LIST] [--scale N] [--seed N]\n"
	"                [--workers N [--passes N]] | --version\n"
	"  --data     on the first node, on all, or on the one of that number, which may have no CPUs\n"
	"             (default: first for vanilla, spread for locality)\n"
	"  --nodes    with memory and CPUs (default: all)\n"
	"  --scale    about N x 65536 elements; matmul: N x 4096 (default 16)\n"
	"  --workers  do --passes and leave; without it, commands come on stdin:\n"
	"             prepare WORKERS, run, verify, quit\n";

constexpr unsigned long long MAX_WORKERS = 4096;

struct Options {
	std::string runtime, data;
	struct bitmask *nodes = nullptr;
	unsigned long long scale = 16, seed = 1, workers = 0, passes = 1;
};

struct State {
	std::unique_ptr<Benchmark> benchmark;
	std::vector<Node> nodes;
	std::vector<Array> arrays;
	std::unique_ptr<Runtime> runtime; /* null before the first preparation */
	int workers = 0;
	bool locality = false;
	bool spread = false; /* data on all nodes */
	int alone = -1;	     /* data on this node, which may be none of the others */
};

size_t side_of(size_t elements, size_t block)
{
	return std::max<size_t>(1, std::lround(std::sqrt(elements)) / block) * block;
}

std::unique_ptr<Benchmark> make_benchmark(const std::string &name, size_t scale, uint64_t seed)
{
	static const struct {
		const char *name;
		std::unique_ptr<Benchmark> (*make)(size_t scale, uint64_t seed);
	} known[] = {
		{ "cilksort", make_cilksort },
		{ "heat", make_heat },
		{ "transpose", make_transpose },
		{ "matmul", make_matmul },
	};

	for (const auto &k : known)
		if (name == k.name)
			return k.make(scale, seed);
	return nullptr;
}

/* -1: not the number of a node with memory. */
static int node_of(const char *text)
{
	unsigned long long node;

	return np_parse_count(text, numa_max_node(), &node) ||
			       !numa_bitmask_isbitset(numa_all_nodes_ptr, node) ?
		       -1 :
		       (int)node;
}

static int parse_value(Options &o, int opt, const char *text)
{
	unsigned long long *number = opt == 's' ? &o.scale :
				     opt == 'r' ? &o.seed :
				     opt == 'w' ? &o.workers :
						  &o.passes;

	if (opt == 'n') {
		o.nodes = numa_parse_nodestring_all(text);
		return o.nodes && numa_bitmask_weight(o.nodes) ?
			       0 :
			       np_fail("--nodes %s: no such node with memory here; 'numaplace topology' lists them",
				       text);
	}
	if (opt == 'R') {
		o.runtime = text;
		return o.runtime == "vanilla" || o.runtime == "locality" ?
			       0 :
			       np_fail("--runtime %s: needs vanilla or locality", text);
	}
	if (opt == 'd') {
		o.data = text;
		return o.data == "first" || o.data == "spread" || node_of(text) >= 0 ?
			       0 :
			       np_fail("--data %s: needs first, spread or a node with memory",
				       text);
	}
	if (np_parse_count(text, opt == 'w' ? MAX_WORKERS : 1ULL << 40, number) ||
	    (!*number && opt != 'r'))
		return np_fail("'%s' is not a number of 1 and more%s", text,
			       opt == 'w' ? ", 4096 at most" : "");
	return 0;
}

static int parse_options(Options &o, int argc, char **argv)
{
	static const struct option table[] = {
		{ "runtime", required_argument, nullptr, 'R' },
		{ "data", required_argument, nullptr, 'd' },
		{ "nodes", required_argument, nullptr, 'n' },
		{ "scale", required_argument, nullptr, 's' },
		{ "seed", required_argument, nullptr, 'r' },
		{ "workers", required_argument, nullptr, 'w' },
		{ "passes", required_argument, nullptr, 'p' },
		{ "version", no_argument, nullptr, 'v' },
		{ "help", no_argument, nullptr, 'h' },
		{},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", table, nullptr)) != -1) {
		if (opt == 'v' || opt == 'h') {
			fputs(opt == 'v' ? "np-steal " NP_VERSION "; " NP_BUILT_WITH "\n" : usage,
			      stdout);
			exit(0);
		}
		if (opt == '?' || parse_value(o, opt, optarg))
			return -1;
	}
	if (optind + 1 != argc || o.runtime.empty())
		return np_fail("one benchmark and --runtime are needed; see --help");
	return 0;
}

/* Nodes of the list with CPUs that this process may use. */
static std::vector<Node> find_nodes(const struct bitmask *wanted)
{
	struct bitmask *cpus = numa_allocate_cpumask();
	std::vector<Node> found;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int id = 0; id <= numa_max_node(); id++) {
		Node node = { id, {} };

		if (!numa_bitmask_isbitset(wanted ? wanted : numa_all_nodes_ptr, id) ||
		    numa_node_to_cpus(id, cpus))
			continue;
		for (unsigned int cpu = 0; cpu < cpus->size && cpu < CPU_SETSIZE; cpu++)
			if (numa_bitmask_isbitset(cpus, cpu) && CPU_ISSET(cpu, &allowed))
				node.cpus.push_back(cpu);
		if (!node.cpus.empty())
			found.push_back(node);
	}
	numa_free_cpumask(cpus);
	return found;
}

/* Counts the arrays' pages; refuses to go on when one is not where it was asked to be. */
static int check_pages(const State &s, const struct bitmask *asked_nodes, struct np_pages &real)
{
	struct np_pages asked = {};

	real = {};
	for (const Array &a : s.arrays) {
		int err = np_pages_count(a.start, a.bytes, &real);

		if (err)
			return np_fail("cannot ask where the pages are (move_pages): %s",
				       strerror(-err));
		np_pages_asked(a.bytes, asked_nodes, &asked);
	}
	return np_pages_compare(&asked, &real);
}

static struct bitmask *data_nodes(const State &s)
{
	struct bitmask *mask = numa_allocate_nodemask();

	if (s.alone >= 0)
		numa_bitmask_setbit(mask, s.alone);
	for (size_t k = 0; s.alone < 0 && k < (s.spread ? s.nodes.size() : 1); k++)
		numa_bitmask_setbit(mask, s.nodes[k].id);
	return mask;
}

static int start(State &s)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct bitmask *mask = data_nodes(s);
	struct np_pages count;
	int err = 0;

	for (size_t bytes : s.benchmark->arrays()) {
		Array a;

		a.bytes = (bytes + page - 1) / page * page;
		err = np_pages_map(&a.start, a.bytes, NP_PAGES_DEFAULT);
		err = err ? err : np_pages_prefer(a.start, a.bytes, a.bytes, mask);
		if (err)
			return np_fail("cannot place %zu bytes: %s", a.bytes, strerror(-err));
		memset(a.start, 0, a.bytes);
		s.arrays.push_back(a);
	}
	s.benchmark->fill(s.arrays);
	s.benchmark->make_reference(s.arrays);
	if (check_pages(s, mask, count))
		return -1;
	numa_bitmask_free(mask);
	np_emit(json_pack("{ss si si so}", "event", "ready", "pid", (int)getpid(), "nodes", (int)s.nodes.size(),
			  "pages", np_pages_json(&count)));
	return 0;
}

/* The input; with another number of workers than before, after a pass that wakes them all. */
static void prepare(State &s, int workers)
{
	if (workers != s.workers) {
		s.runtime.reset(); /* its limit holds for the next one too */
		s.runtime = std::make_unique<Runtime>(s.nodes, s.locality, workers);
		s.workers = workers;
		s.benchmark->fill(s.arrays);
		s.benchmark->run(*s.runtime, s.arrays);
	}
	s.benchmark->fill(s.arrays);
	np_emit(json_pack("{ss si si}", "event", "prepared", "workers", workers,
			  "arenas", s.runtime->is_local() ? (int)s.nodes.size() : 1));
}

/* Nothing but the benchmark happens between its two looks at the clock, nor between two commands. */
static void run(State &s)
{
	double begin = np_now();

	s.benchmark->run(*s.runtime, s.arrays);
	np_emit(json_pack("{ss sf}", "event", "result", "seconds", np_now() - begin));
}

static int verify(const State &s)
{
	struct bitmask *mask = data_nodes(s);
	size_t errors = s.benchmark->errors();
	struct np_pages count;
	int err = check_pages(s, mask, count);

	numa_bitmask_free(mask);
	if (err)
		return -1;
	np_emit(json_pack("{ss sb sI so}", "event", "verified", "verified", !errors, "wrong_elements",
			  (json_int_t)errors, "pages", np_pages_json(&count)));
	return errors ? np_fail("%zu elements differ from the serial run's", errors) : 0;
}

static int do_passes(State &s, int workers, unsigned long long passes)
{
	int err = 0;

	for (unsigned long long pass = 0; pass < passes && !err; pass++) {
		prepare(s, workers);
		run(s);
		err = verify(s);
	}
	return err;
}

static int obey(State &s, int n, char **words)
{
	unsigned long long workers;

	if (n == 2 && !strcmp(words[0], "prepare") &&
	    !np_parse_count(words[1], MAX_WORKERS, &workers) && workers)
		prepare(s, workers);
	else if (n == 1 && s.runtime && !strcmp(words[0], "run"))
		run(s);
	else if (n == 1 && s.runtime && !strcmp(words[0], "verify"))
		return verify(s);
	else
		return np_fail(
			"a command is 'prepare WORKERS', then 'run' and 'verify', or 'quit'");
	return 0;
}

static int serve(State &s)
{
	char *words[4];
	int n, err = 0;

	while (!err && (n = np_read_words(words, 4)) >= 0) {
		if (n && !strcmp(words[0], "quit"))
			break;
		err = obey(s, n, words);
	}
	return err;
}

int main(int argc, char **argv)
{
	Options o;
	State s;

	if (!np_pages_available())
		return 3;
	if (parse_options(o, argc, argv))
		return 2;
	s.benchmark = make_benchmark(argv[optind], o.scale, o.seed);
	s.nodes = find_nodes(o.nodes);
	s.locality = o.runtime == "locality";
	s.spread = o.data.empty() ? s.locality : o.data == "spread";
	s.alone = node_of(o.data.c_str());
	if (!s.benchmark || s.nodes.empty()) {
		np_fail(s.benchmark ? "--nodes: none of them has CPUs for this process" :
				      "'%s' is no benchmark; see --help",
			argv[optind]);
		return 2;
	}
	if (start(s))
		return 1;
	return (o.workers ? do_passes(s, o.workers, o.passes) : serve(s)) ? 1 : 0;
}
