// SPDX-License-Identifier: GPL-2.0-only
#include "options.h"
#include "../emit.h"
#include "stream.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 4096

const struct np_kernel *const np_kernels[] = {
	&np_copy, &np_scale,  &np_sum, &np_triad,    &np_chase, &np_cachetest,
	&np_sort, &np_update, &np_mix, &np_handover, NULL,
};

static const char usage[] =
	"usage: np-mem KERNEL [--size BYTES] [--mem NODES] [--cpus LIST] [--threads N] [--pin]\n"
	"              [--pages default|small|thp|huge] [--seconds S] [--seed N]\n"
	"              [--kernel NAME] [--stride LINES] [--group PAGES] [--chains N]\n"
	"              [--pattern NAME] [--alpha A] [--accesses N] [--mix R:W] [--delay STEPS]\n"
	"              [--state NAME] [--chunk BYTES] [--partner CPU]\n"
	"       np-mem --version | --help      np-triad is np-mem triad\n"
	"  --size     of each array, with K, M or G (default 64M)\n"
	"  --mem      node of the arrays; of several, each gets an equal run of every array\n"
	"  --cpus     where the threads may run;  --pin  thread k on the k-th of them only\n"
	"  --pages    the arrays' kind: as the system has it, 4 KiB, transparent or reserved huge\n"
	"  --seconds  measure once and leave; without it, commands come on stdin:\n"
	"             run SECONDS [START [WARM]]  work for WARM seconds, then measure; all that\n"
	"                                   from START of CLOCK_MONOTONIC on\n"
	"             work OPERATIONS       of all threads, to the end\n"
	"             pages                 where the arrays' pages are\n"
	"             quit\n"
	"  --kernel   copy, scale, sum, triad: how they are made (default auto, see below)\n"
	"  --stride   the same: one element in so many lines, in plain C\n"
	"  --group    chase: walk so many pages before the next ones (default 0: all as one)\n"
	"  --chains   chase: so many walks of a thread at once, 1, 2, 4, 8 or 16 (default 1)\n"
	"  --pattern  cachetest: sequential (default), uniform or zipf;  --alpha  of zipf (default 1.55)\n"
	"  --accesses update: of a pass (default: as many as there are ints)\n"
	"  --mix      mix: lines that memory gives to lines that it takes back, 1:0 (default), 3:1, 2:1 or 1:1\n"
	"  --delay    mix: so many empty steps of a loop after each line (default 0)\n"
	"  --state    handover: the owner writes the lines, dirty (default), or reads them, clean\n"
	"  --chunk    handover: bytes that it has at a time;  --partner  the CPU that it runs on\n";

static const struct np_kernel *kernel_named(const char *name)
{
	for (const struct np_kernel *const *k = np_kernels; *k; k++)
		if (!strcmp((*k)->name, name))
			return *k;
	return NULL;
}

static void print_usage(void)
{
	fputs(usage, stdout);
	puts("kernels:");
	for (const struct np_kernel *const *k = np_kernels; *k; k++)
		printf("  %-11s%s\n", (*k)->name, (*k)->summary);
	fputs("--kernel on this CPU:", stdout);
	for (const struct np_stream_variant *v = np_stream_variants; v->name; v++)
		if (v->supported())
			printf(" %s", v->name);
	printf("; auto is %s\n", np_stream_find("auto")->name);
}

static int parse_lists(struct np_options *o, int opt, const char *text)
{
	if (opt == 'c') {
		o->cpus = numa_parse_cpustring_all(text);
		return o->cpus ? 0 :
				 np_fail("--cpus %s: no such CPU here; "
					 "'numaplace topology' lists them",
					 text);
	}
	o->nodes = numa_parse_nodestring_all(text);
	if (o->nodes && numa_bitmask_weight(o->nodes))
		return 0;
	return np_fail("--mem %s: no such node with memory here; "
		       "'numaplace topology' lists them",
		       text);
}

static int parse_count(const char *name, const char *text, unsigned long long min,
		       unsigned long long max, unsigned long long *value)
{
	if (!np_parse_count(text, max, value) && *value >= min)
		return 0;
	return np_fail("--%s %s: needs a number from %llu to %llu", name, text, min, max);
}

static int parse_value(struct np_options *o, struct np_worker *w, int opt, const char *text)
{
	unsigned long long number;

	switch (opt) {
	case 's':
		return np_parse_bytes(text, &w->bytes) || w->bytes % sysconf(_SC_PAGESIZE) ?
			       np_fail("--size %s: needs whole pages, as in 4M", text) :
			       0;
	case 't':
		if (parse_count("threads", text, 1, MAX_THREADS, &number))
			return -1;
		w->threads = number;
		return 0;
	case 'S':
		return np_parse_double(text, 0.001, 86400, &o->seconds) ?
			       np_fail("--seconds %s: needs 0.001 to 86400", text) :
			       0;
	case 'k':
		w->choice.variant = text;
		return 0;
	case 'P':
		return np_pages_kind(text, &w->pages) ?
			       np_fail("--pages %s: needs default, small, thp or huge", text) :
			       0;
	case 'p':
		o->pin = true;
		return 0;
	case 'w':
		return parse_count("stride", text, 1, 1 << 20, &w->choice.stride);
	case 'g':
		return parse_count("group", text, 0, 1ULL << 40, &w->choice.group);
	case 'C':
		return parse_count("chains", text, 1, 1 << 10, &w->choice.chains);
	case 'x':
		w->choice.mix = text;
		return 0;
	case 'd':
		return parse_count("delay", text, 0, 1000000, &w->choice.delay);
	case 'e':
		w->choice.state = text;
		return 0;
	case 'u':
		return np_parse_bytes(text, &w->choice.chunk) ?
			       np_fail("--chunk %s: needs bytes, as in 256K", text) :
			       0;
	case 'q':
		if (parse_count("partner", text, 0, 1 << 20, &number))
			return -1;
		w->partner = number;
		return 0;
	case 'o':
		w->choice.pattern = text;
		return 0;
	case 'a':
		return np_parse_double(text, 0.01, 100, &w->choice.alpha) ?
			       np_fail("--alpha %s: needs 0.01 to 100", text) :
			       0;
	case 'n':
		return parse_count("accesses", text, 1, 1ULL << 60, &w->choice.accesses);
	case 'r':
		return parse_count("seed", text, 0, UINT64_MAX, &w->choice.seed);
	default:
		return parse_lists(o, opt, text);
	}
}

/* The kernel's name is the first word, or that of the program: np-triad. */
static int find_kernel(struct np_worker *w, int *argc, char ***argv)
{
	const char *called = program_invocation_short_name, *name = (*argc > 1) ? (*argv)[1] : "";

	if (!strncmp(called, "np-", 3))
		w->kernel = kernel_named(called + 3);
	if (w->kernel || name[0] == '-')
		return 0;
	w->kernel = kernel_named(name);
	if (!w->kernel)
		return np_fail(*name ? "'%s' is no kernel; see --help" :
				       "which kernel%s? see --help",
			       name);
	(*argc)--;
	(*argv)++;
	return 0;
}

static int check(const struct np_options *o, struct np_worker *w)
{
	size_t least = w->threads * sysconf(_SC_PAGESIZE);

	if (!w->kernel)
		return np_fail("which kernel? see --help");
	if (w->bytes < least)
		return np_fail("--size %zu: %u threads need %zu at least, a page each", w->bytes,
			       w->threads, least);
	if (o->pin && !o->cpus)
		return np_fail("--pin: needs --cpus, a CPU a thread");
	if (o->pin && numa_bitmask_weight(o->cpus) < w->threads)
		return np_fail("--pin: %u threads need as many CPUs, --cpus has %u", w->threads,
			       numa_bitmask_weight(o->cpus));
	return 0;
}

int np_options_parse(struct np_options *o, struct np_worker *w, int argc, char **argv)
{
	static const struct option table[] = {
		{ "size", required_argument, NULL, 's' },
		{ "mem", required_argument, NULL, 'm' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "threads", required_argument, NULL, 't' },
		{ "kernel", required_argument, NULL, 'k' },
		{ "seconds", required_argument, NULL, 'S' },
		{ "pages", required_argument, NULL, 'P' },
		{ "pin", no_argument, NULL, 'p' },
		{ "stride", required_argument, NULL, 'w' },
		{ "group", required_argument, NULL, 'g' },
		{ "chains", required_argument, NULL, 'C' },
		{ "mix", required_argument, NULL, 'x' },
		{ "delay", required_argument, NULL, 'd' },
		{ "state", required_argument, NULL, 'e' },
		{ "chunk", required_argument, NULL, 'u' },
		{ "partner", required_argument, NULL, 'q' },
		{ "pattern", required_argument, NULL, 'o' },
		{ "alpha", required_argument, NULL, 'a' },
		{ "accesses", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'r' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	if (find_kernel(w, &argc, &argv))
		return -1;
	while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (opt == 'h')
			print_usage();
		if (opt == 'v')
			printf("%s " NP_VERSION "; " NP_BUILT_WITH "\n",
			       program_invocation_short_name);
		if (opt == 'v' || opt == 'h')
			exit(0);
		if (opt == '?' || parse_value(o, w, opt, optarg))
			return -1;
	}
	if (optind != argc)
		return np_fail("'%s' is not an option; see --help", argv[optind]);
	return check(o, w);
}

int np_options_pin(const struct np_options *o, struct np_worker *w)
{
	int *cpus = calloc(w->threads, sizeof(*cpus));
	unsigned int n = 0;

	if (!cpus)
		return np_fail("cannot pin the threads: out of memory");
	for (unsigned int cpu = 0; cpu < o->cpus->size && n < w->threads; cpu++)
		if (numa_bitmask_isbitset(o->cpus, cpu))
			cpus[n++] = cpu;
	w->pinned = cpus;
	return 0;
}
